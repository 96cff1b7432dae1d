#include "foundation/net/listener.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <vector>

#include "foundation/net/socket_address.h"
#include "unit/foundation/net/turns.h"

using namespace lineward;
using namespace lineward::net;

namespace {

// A connection to `host`, or -1 on a machine without that family.
int connection_to(const char* host, int port) {
  sockaddr_storage to{};
  REQUIRE(parse_address(std::string("[") + host + "]:" + std::to_string(port), to));
  const int fd = ::socket(to.ss_family, SOCK_STREAM, 0);
  const socklen_t size = to.ss_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  if (fd >= 0 && connect(fd, reinterpret_cast<sockaddr*>(&to), size) == 0) return fd;
  ::close(fd);
  return -1;
}

}  // namespace

TEST_CASE("a listener without a host accepts IPv4 and IPv6, and an IPv4 client keeps its IPv4 address") {
  Loop loop;
  std::vector<std::string> peers;
  auto listener =
      Listener::open(loop, ":0", [&](auto, std::string peer) { peers.push_back(std::move(peer)); });
  REQUIRE(listener);
  CHECK_FALSE((*listener)->is_loopback());
  const std::string& address = (*listener)->address();
  const int port = std::atoi(address.c_str() + address.rfind(':') + 1);
  const int ipv4 = connection_to("127.0.0.1", port);
  REQUIRE(ipv4 >= 0);
  REQUIRE(wait_for(loop, [&] { return peers.size() == 1; }));
  CHECK(peers[0].rfind("127.0.0.1:", 0) == 0);
  ::close(ipv4);
  const int ipv6 = connection_to("::1", port);
  if (ipv6 < 0) return;  // this machine has no IPv6
  REQUIRE(wait_for(loop, [&] { return peers.size() == 2; }));
  CHECK(peers[1].rfind("[::1]:", 0) == 0);
  ::close(ipv6);
}
