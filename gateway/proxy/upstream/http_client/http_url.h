// The address of an HTTP server: http://host[:port]/path, https://…, or unix:/path/of/socket[:/path] (default
// path /mcp). RFC 3986; no user, no fragment.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "foundation/base/result.h"

namespace lineward::upstream {

struct HttpUrl {
  bool tls = false;
  std::string host;  // without brackets
  uint16_t port = 80;
  std::string unix_path;    // not empty: a Unix socket
  std::string target;       // path and query, starts with '/'
  std::string host_header;  // "example.com", "[::1]:8080", "localhost"
};

Result<HttpUrl> parse_http_url(std::string_view text);
// Both valid, with the same scheme, host and port, or the same socket.
bool same_origin(std::string_view one, std::string_view other);

// Resolves a reference of this server (RFC 3986 5.2) to a request target. Only within its own origin: the
// same scheme, host and port.
Result<std::string> resolve_target(const HttpUrl& base, std::string_view reference);

}  // namespace lineward::upstream
