// Where a machine keeps the certificate authorities that it trusts. OpenSSL knows one place, that of the
// distribution it was built for; a binary that runs anywhere has to look where the others have theirs.
#pragma once

#include <string>

struct ssl_ctx_st;

namespace lineward::net {

// The file to read besides OpenSSL's own place, for a machine whose files begin at `root` ("" for this one).
// Empty: OpenSSL's place has something, or nobody has.
std::string bundle_elsewhere(const std::string& root);

// Trusts what the machine trusts: what SSL_CERT_FILE and SSL_CERT_DIR name, where one of them is set; else
// OpenSSL's own place, else the first bundle that there is. A machine without authorities is no error: no
// certificate is right then.
void trust_the_machines(ssl_ctx_st* context);

}  // namespace lineward::net
