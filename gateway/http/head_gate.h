// The gate in front of llhttp: refuses every request head that two HTTP implementations could read
// differently, so that what passes has one meaning only. Stricter than RFC 9112 where the RFC leaves a
// choice: no white space tricks, no bare CR or LF, no folding, one Host, one framing, targets in origin form
// or as URLs of http.
#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"
#include "http/request_parser.h"

namespace lineward::http {

// No method has more bytes; bounds the request line together with the target limit.
inline constexpr size_t kMaxMethodBytes = 32;

struct Target {
  std::string_view authority;  // host and port of the absolute form, else empty
  std::string_view local;      // path and query
};
// Nothing where a target has neither form (RFC 9112 3.2.1 and 3.2.2), or a host that Host must not have.
std::optional<Target> split_target(std::string_view target);

// The first line of a request without its CRLF.
Status<RequestFault> check_request_line(std::string_view line, const RequestLimits& limits);

// A whole head: request line, field lines and the empty line at its end, nothing behind it.
Status<RequestFault> check_request_head(std::string_view block, const RequestLimits& limits);

}  // namespace lineward::http
