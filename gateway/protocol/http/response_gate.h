// Checks a server's response head before llhttp parses it.
#pragma once

#include <string_view>

#include "foundation/base/result.h"
#include "protocol/http/response_parser.h"

namespace lineward::http {

// A whole head: status line, field lines, the empty line. Refuses ambiguous ones: folding, bare CR or LF,
// white space around names, two lengths, a length with a transfer coding, any coding but `chunked`.
Status<Error> check_response_head(std::string_view block, const ResponseLimits& limits);

}  // namespace lineward::http
