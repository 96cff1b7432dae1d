// The gate in front of llhttp: refuses every request head that two HTTP implementations could read
// differently, so that what passes has one meaning only. Stricter than RFC 9112 where the RFC leaves a
// choice: no white space tricks, no bare CR or LF, no folding, one Host, one framing, origin-form targets.
#pragma once

#include <string_view>

#include "base/result.h"
#include "http/request_parser.h"

namespace lineward::http {

// No method has more bytes; bounds the request line together with the target limit.
inline constexpr size_t kMaxMethodBytes = 32;

// The first line of a request without its CRLF.
Status<RequestFault> check_request_line(std::string_view line, const RequestLimits& limits);

// A whole head: request line, field lines and the empty line at its end, nothing behind it.
Status<RequestFault> check_request_head(std::string_view block, const RequestLimits& limits);

}  // namespace lineward::http
