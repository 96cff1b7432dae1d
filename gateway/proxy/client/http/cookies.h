// The client's `Cookie` field (RFC 6265, 4.2 and 5.4): the state name, which only Lineward reads, and other
// cookies. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "protocol/http/header_list.h"

namespace lineward::client {

// All values of the state cookie; a browser sends one Cookie field, other clients may send several.
std::vector<std::string_view> state_cookies(const http::HeaderList& headers);
// A Cookie field without the state cookie, for the server; empty: no cookie is left. Without a state cookie
// it stays byte by byte.
std::string without_state_cookie(std::string_view field);

}  // namespace lineward::client
