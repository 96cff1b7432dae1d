// Does a host, as it stands in an address or in a URL, mean this machine, whoever answers for names? What is
// sent there in plain text nobody reads on the way. Pure.
#pragma once

#include <string_view>

namespace lineward {

// "localhost", "::1" with brackets or without, and 127.0.0.0/8 as four numbers: a name may begin with those
// too (127.example.com).
bool is_own_host(std::string_view host);
// The host in "http://host:port/path", with the brackets that it has there; empty where there is none, or a
// user before it.
std::string_view host_of_url(std::string_view url);

}  // namespace lineward
