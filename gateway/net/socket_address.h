// Listener addresses as text and as socket addresses. Only literal addresses and "localhost": a listener
// needs no resolver.
#pragma once

#include <sys/socket.h>

#include <string>

namespace lineward::net {

// "127.0.0.1:8000", "[::1]:8000".
std::string describe(const sockaddr_storage& address);
// Reachable from this machine only.
bool is_loopback_address(const sockaddr_storage& address);
// Parses "host:port", ":port" (all IPv4 addresses) or "[::1]:port"; false for anything else.
bool parse_address(const std::string& text, sockaddr_storage& out);

}  // namespace lineward::net
