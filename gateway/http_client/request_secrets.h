// What of a request is nobody's business but its server's: credentials, configured headers, the client's own,
// and the query of its target. A server may repeat them, in a refusal above all.
//
// A function without state.
#pragma once

#include <string>
#include <string_view>

#include "http_client/http_pool.h"

namespace lineward::upstream {

// `text` without what this request carried and nobody else may see. `target`, `authorization`: with which it
// went out, where it does not name them itself.
std::string without_secrets(std::string_view text, const HttpRequest& request, std::string_view target,
                            std::string_view authorization);

}  // namespace lineward::upstream
