// The value of an Authorization or Proxy-Authorization header by the Basic scheme (RFC 7617).
#pragma once

#include <string>
#include <string_view>

namespace lineward::upstream {

// `credentials`: "user:password".
std::string basic_credentials(std::string_view credentials);

}  // namespace lineward::upstream
