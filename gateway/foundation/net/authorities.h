// Finds the certificate authorities that the machine trusts. OpenSSL knows the place of the distribution it
// was built for; a portable binary must search those of other distributions.
#pragma once

#include <string>

struct ssl_ctx_st;

namespace lineward::net {

// The file to read besides OpenSSL's own place; `root` is the root folder of the machine ("" for this one).
// Empty if OpenSSL's place has authorities, or no known place has.
std::string bundle_elsewhere(const std::string& root);

// Trusts the authorities that the machine trusts: SSL_CERT_FILE and SSL_CERT_DIR if either is set; else
// OpenSSL's own place, else the first bundle found. A machine without authorities is not an error:
// verification of any certificate fails then.
void trust_the_machines(ssl_ctx_st* context);

}  // namespace lineward::net
