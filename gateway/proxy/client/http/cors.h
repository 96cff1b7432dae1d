// CORS headers for `listen.allowedOrigins`, and for no other origin (Fetch standard, "HTTP-CORS protocol").
// Pure.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "protocol/http/header_list.h"
#include "protocol/http/writer.h"

namespace lineward::client {

// Adds the headers that let the page read the answer to `request`. Adds nothing if the answer already names
// an origin.
void add_cors(std::vector<http::OutHeader>& answer, const http::HeaderList& request,
              const config::Listen& listen);

bool is_preflight(std::string_view method, const http::HeaderList& request, const config::Listen& listen);
// The headers of the answer to a preflight request. `passes` accepts further request headers.
std::vector<http::OutHeader> preflight_headers(const http::HeaderList& request,
                                               const std::function<bool(std::string_view)>& passes);

// Headers of documents that need no authentication.
std::vector<http::OutHeader> public_headers();

}  // namespace lineward::client
