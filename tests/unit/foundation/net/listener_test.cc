#include "foundation/net/listener.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/stat.h>
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

TEST_CASE(
    "a Unix socket has mode 0600, or the mode, user and group of the configuration, and a reload may change "
    "these") {
  Loop loop;
  std::string folder = "/tmp/lineward-listener-XXXXXX";
  REQUIRE(mkdtemp(folder.data()) != nullptr);
  const std::string path = folder + "/mcp.sock";
  const auto look = [&] {
    struct stat status {};
    REQUIRE(lstat(path.c_str(), &status) == 0);
    return status;
  };
  const auto nobody = [](auto, std::string) {};
  {
    auto listener = Listener::open(loop, "unix:" + path, nobody);
    REQUIRE(listener);
    CHECK((look().st_mode & 07777) == 0600);
  }
  const mode_t before = umask(077);
  {
    auto listener = Listener::open(loop, "unix:" + path, nobody, {0666, geteuid(), getegid()});
    umask(before);
    REQUIRE(listener);
    CHECK((look().st_mode & 07777) == 0666);
    CHECK((*listener)->change_file({0640}));
    CHECK((look().st_mode & 07777) == 0640);
    if (geteuid() == 0) {
      CHECK((*listener)->change_file({0640, 12345, 23456}));
      CHECK(look().st_uid == 12345);
      CHECK(look().st_gid == 23456);
    } else {
      CHECK_FALSE((*listener)->change_file({0640, 0, std::nullopt}));
    }
    // The name leads to another file now, which is left alone.
    const std::string other = folder + "/other";
    ::close(creat(other.c_str(), 0600));
    unlink(path.c_str());
    REQUIRE(symlink(other.c_str(), path.c_str()) == 0);
    CHECK_FALSE((*listener)->change_file({0666}));
    struct stat status {};
    REQUIRE(stat(other.c_str(), &status) == 0);
    CHECK((status.st_mode & 07777) == 0600);
    unlink(other.c_str());
  }
  rmdir(folder.c_str());
}
