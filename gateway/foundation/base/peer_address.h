// Normalizes a peer address to the unit in which clients' shares, connections and rates are counted.
#pragma once

#include <string>
#include <string_view>

namespace lineward {

// `peer` is "127.0.0.1:51234", "[::1]:51234", the same without a port ("127.0.0.1", "[::1]": a client of a
// proxy), or a word such as "unix", which is returned unchanged. The port is dropped. An IPv6 /64 is one
// address, since one subscriber owns all of it. A mapped IPv4 address becomes that IPv4 address.
std::string address_of_peer(std::string_view peer);

}  // namespace lineward
