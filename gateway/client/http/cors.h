// What browsers want to hear before they let a page of another origin talk to us: for
// `listen.allowedOrigins`, and nothing for anybody else (Fetch standard, "HTTP-CORS protocol"). Pure.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "http/header_list.h"
#include "http/writer.h"

namespace lineward::client {

// Adds to the head of an answer to `request` what its page may read. Nothing where an origin is named
// already.
void add_cors(std::vector<http::OutHeader>& answer, const http::HeaderList& request,
              const config::Listen& listen);

bool is_preflight(std::string_view method, const http::HeaderList& request, const config::Listen& listen);
// The headers of the answer to a preflight request. `passes` knows further headers that a client may send.
std::vector<http::OutHeader> preflight_headers(const http::HeaderList& request,
                                               const std::function<bool(std::string_view)>& passes);

// Of documents that are for everybody.
std::vector<http::OutHeader> public_headers();

}  // namespace lineward::client
