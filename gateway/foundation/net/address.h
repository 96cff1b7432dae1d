// A socket address to connect to, and its text.
#pragma once

#include <sys/socket.h>

#include <string>
#include <vector>

namespace lineward::net {

struct Address {
  sockaddr_storage bytes{};
  std::string text;  // "127.0.0.1:8000", "[::1]:8000"
  bool operator==(const Address& other) const { return text == other.text; }
};
using Addresses = std::vector<Address>;

// `from` is AF_INET or AF_INET6.
Address make_address(const sockaddr* from, socklen_t size);

}  // namespace lineward::net
