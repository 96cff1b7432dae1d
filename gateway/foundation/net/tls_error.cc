#include "foundation/net/tls_error.h"

#include <openssl/err.h>

namespace lineward::net {

std::string last_tls_error() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* reason = code != 0 ? ERR_reason_error_string(code) : nullptr;
  return reason != nullptr ? reason : "no reason given";
}

}  // namespace lineward::net
