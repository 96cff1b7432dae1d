// Two ends of a TCP connection on this machine, as descriptors: the test that takes them closes them.
#pragma once

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>

namespace lineward::net {

struct TcpPair {
  int near = -1;  // accepted
  int far = -1;   // connected
};

// `room`: what the kernel keeps for either end, as far as it lets itself be told; 0: as usual.
inline TcpPair connect_pair(int room = 0) {
  TcpPair pair;
  const int listening = ::socket(AF_INET, SOCK_STREAM, 0);
  if (room > 0) setsockopt(listening, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof name;
  auto* address = reinterpret_cast<sockaddr*>(&name);
  REQUIRE(bind(listening, address, size) == 0);
  REQUIRE(listen(listening, 1) == 0);
  getsockname(listening, address, &size);
  pair.far = ::socket(AF_INET, SOCK_STREAM, 0);
  if (room > 0) setsockopt(pair.far, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
  REQUIRE(connect(pair.far, address, size) == 0);
  pair.near = accept(listening, nullptr, nullptr);
  ::close(listening);
  return pair;
}

}  // namespace lineward::net
