// Addresses that a listener can have, as text and as the kernel has them. Only literal addresses and
// "localhost": a listener needs no resolver.
#pragma once

#include <sys/socket.h>

#include <string>

namespace lineward::net {

// "127.0.0.1:8000", "[::1]:8000".
std::string describe(const sockaddr_storage& address);
// Only this machine reaches it.
bool is_loopback_address(const sockaddr_storage& address);
// Splits "host:port", ":port" (all IPv4 addresses), "[::1]:port"; false: it is none of these.
bool parse_address(const std::string& text, sockaddr_storage& out);

}  // namespace lineward::net
