// Listener addresses as text and as socket addresses. Only literal addresses and "localhost": a listener
// needs no resolver.
#pragma once

#include <sys/socket.h>

#include <string>
#include <string_view>

namespace lineward::net {

// "127.0.0.1:8000", "[::1]:8000". An IPv4 client of an IPv6 listener has its IPv4 address.
std::string describe(const sockaddr_storage& address);
// Reachable from this machine only.
bool is_loopback_address(const sockaddr_storage& address);
// Whether it is ":port" or "*:port": every address, of IPv6 too where the machine has IPv6.
bool is_every_address(std::string_view text);
// Parses "host:port", ":port" (its IPv4 part) or "[::1]:port"; false for anything else.
bool parse_address(const std::string& text, sockaddr_storage& out);

// Connects without blocking. -1 and errno if there is no listener; EAGAIN if the listener's queue is full.
// The socket is non-blocking; the caller closes it.
int connect_unix(const std::string& path);

}  // namespace lineward::net
