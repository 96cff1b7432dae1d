// Whether a host of an address or URL is this machine without name resolution. Plain text sent there cannot
// be read on the network. Pure.
#pragma once

#include <string_view>

namespace lineward {

// "localhost", "::1" with or without brackets, and 127.0.0.0/8 as four numbers. A prefix does not suffice: a
// name may begin with 127 too (127.example.com).
bool is_own_host(std::string_view host);
// The host of "http://host:port/path", with its brackets; empty if the URL has no host, or a user before it.
std::string_view host_of_url(std::string_view url);

}  // namespace lineward
