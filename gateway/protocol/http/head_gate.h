// The gate in front of llhttp: refuses every request head that two HTTP implementations could parse
// differently. Stricter than RFC 9112 where the RFC leaves a choice. No unusual white space, no bare CR or
// LF, no folding, one Host, one framing, targets in origin form or as http URLs.
#pragma once

#include <optional>
#include <string_view>

#include "foundation/base/result.h"
#include "protocol/http/request_parser.h"

namespace lineward::http {

// Longer methods are refused; bounds the request line together with the target limit.
inline constexpr size_t kMaxMethodBytes = 32;

struct Target {
  std::string_view authority;  // host and port of the absolute form, else empty
  std::string_view local;      // path and query
};
// Empty for a target in neither form (RFC 9112 3.2.1 and 3.2.2), or with an invalid host.
std::optional<Target> split_target(std::string_view target);

// The first line of a request without its CRLF.
Status<> check_request_line(std::string_view line, const RequestLimits& limits);

// A whole head: request line, field lines and the final empty line, nothing after it.
Status<> check_request_head(std::string_view block, const RequestLimits& limits);

}  // namespace lineward::http
