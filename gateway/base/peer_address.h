// What counts as one address of a client: its shares, its connections and its rate are all counted by it.
#pragma once

#include <string>
#include <string_view>

namespace lineward {

// `peer` is "127.0.0.1:51234", "[::1]:51234" or a word such as "unix", which stays itself. The port is
// nobody's; of IPv6 a /64 is one address, since whoever has one of them has them all; a mapped IPv4 address
// is that IPv4 address.
std::string address_of_peer(std::string_view peer);

}  // namespace lineward
