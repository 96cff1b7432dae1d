// Parses a head that the gate has passed, with llhttp. The head is passed in one piece, so that each name and
// value is a view into it.
#pragma once

#include <cstdint>
#include <string_view>

#include "foundation/base/result.h"
#include "protocol/http/request_parser.h"

namespace lineward::http {

// The framing of the body; without a body the length is 0.
struct BodyFraming {
  bool chunked = false;
  uint64_t length = 0;
};

// Fills `head` with views into `block`. Refuses methods unknown to llhttp (501), and heads on which llhttp
// and the gate disagree.
Result<BodyFraming> read_head(std::string_view block, RequestHead& head);

}  // namespace lineward::http
