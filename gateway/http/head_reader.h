// llhttp reads a head that the gate has passed. The head is handed over in one piece, so that each name and
// value is one view into it.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "http/request_parser.h"

namespace lineward::http {

// How the body is framed; no body is a length of 0.
struct BodyFraming {
  bool chunked = false;
  uint64_t length = 0;
};

// Fills `head` with views into `block`. Refuses methods llhttp does not know (501), and whatever llhttp and
// the gate do not see alike.
Result<BodyFraming, RequestFault> read_head(std::string_view block, RequestHead& head);

}  // namespace lineward::http
