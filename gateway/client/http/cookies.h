// What clients send in `Cookie` (RFC 6265, 4.2 and 5.4): the name of their state, which is for Lineward
// alone, and the cookies of others. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "http/header_list.h"

namespace lineward::client {

// Every value of the cookie that names a client's state; a browser sends one Cookie field, others may send
// several.
std::vector<std::string_view> state_cookies(const http::HeaderList& headers);
// A Cookie field as it may go on to a server; empty: nothing of it may. Where it names no state it stays byte
// by byte.
std::string without_state_cookie(std::string_view field);

}  // namespace lineward::client
