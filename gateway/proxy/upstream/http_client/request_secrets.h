// The secrets of a request: credentials, configured headers, the client's own headers, and the query of its
// target. A server may repeat them, above all in a refusal.
//
// A function without state.
#pragma once

#include <string>
#include <string_view>

#include "proxy/upstream/http_client/http_pool.h"

namespace lineward::upstream {

// `text` without the secrets of this request. `target`, `authorization`: as sent, if the request itself does
// not contain them.
std::string redacted(std::string_view text, const HttpRequest& request, std::string_view target,
                     std::string_view authorization);

}  // namespace lineward::upstream
