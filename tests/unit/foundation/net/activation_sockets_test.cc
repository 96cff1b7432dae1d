#include "foundation/net/activation_sockets.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>

#include "foundation/net/service_variables.h"

using lineward::net::ActivationSockets;
using lineward::net::ServiceVariables;

namespace {

// The place of the sockets that a service manager passes at 3.
constexpr int kFirst = 200;

ServiceVariables passed(const std::string& count, const std::string& names = "") {
  ServiceVariables out;
  out.listen_fds = count;
  out.listen_pid = std::to_string(getpid());
  out.listen_fdnames = names;
  return out;
}

// A listening socket at a number of its own; its port.
int listen_at(int at, uint32_t address = INADDR_LOOPBACK) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(address);
  REQUIRE(bind(fd, reinterpret_cast<sockaddr*>(&name), sizeof name) == 0);
  REQUIRE(listen(fd, 5) == 0);
  socklen_t length = sizeof name;
  getsockname(fd, reinterpret_cast<sockaddr*>(&name), &length);
  REQUIRE(dup2(fd, at) == at);
  close(fd);
  return ntohs(name.sin_port);
}

}  // namespace

TEST_CASE("a socket is found by its address and kept from child processes") {
  const int port = listen_at(kFirst);
  ActivationSockets sockets;
  REQUIRE(sockets.adopt(passed("1", "lineward.socket"), kFirst));
  CHECK((fcntl(kFirst, F_GETFD) & FD_CLOEXEC) != 0);
  CHECK(sockets.untaken() == std::vector<std::string>{fmt::format("127.0.0.1:{} (lineward.socket)", port)});
  CHECK_FALSE(sockets.take("127.0.0.1:1"));
  CHECK_FALSE(sockets.take(fmt::format(":{}", port)));
  auto given = sockets.take(fmt::format("localhost:{}", port));
  REQUIRE(given);
  CHECK(given->fd != kFirst);
  CHECK(given->address == fmt::format("127.0.0.1:{}", port));
  CHECK(given->loopback);
  close(given->fd);
  CHECK(sockets.untaken().empty());
  auto again = sockets.take(fmt::format("127.0.0.1:{}", port));  // a reload came back to it
  REQUIRE(again);
  close(again->fd);
}

TEST_CASE("a bare port means the socket on all IPv6 addresses too, and loopback never means all") {
  const int fd = socket(AF_INET6, SOCK_STREAM, 0);
  sockaddr_in6 name{};
  name.sin6_family = AF_INET6;
  if (bind(fd, reinterpret_cast<sockaddr*>(&name), sizeof name) != 0) return;  // a machine without IPv6
  REQUIRE(listen(fd, 5) == 0);
  socklen_t length = sizeof name;
  getsockname(fd, reinterpret_cast<sockaddr*>(&name), &length);
  const int port = ntohs(name.sin6_port);
  REQUIRE(dup2(fd, kFirst) == kFirst);
  close(fd);
  ActivationSockets sockets;
  REQUIRE(sockets.adopt(passed("1"), kFirst));
  CHECK_FALSE(sockets.take(fmt::format("127.0.0.1:{}", port)));
  CHECK_FALSE(sockets.take(fmt::format("[::1]:{}", port)));
  auto given = sockets.take(fmt::format(":{}", port));
  REQUIRE(given);
  CHECK_FALSE(given->loopback);
  close(given->fd);
}

TEST_CASE("a Unix socket is found by its path") {
  const std::string path = fmt::format("/tmp/lineward-activation-{}.sock", getpid());
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::strncpy(name.sun_path, path.c_str(), sizeof name.sun_path - 1);
  REQUIRE(bind(fd, reinterpret_cast<sockaddr*>(&name), sizeof name) == 0);
  REQUIRE(listen(fd, 5) == 0);
  REQUIRE(dup2(fd, kFirst) == kFirst);
  close(fd);
  ActivationSockets sockets;
  REQUIRE(sockets.adopt(passed("1"), kFirst));
  auto given = sockets.take("unix:" + path);
  REQUIRE(given);
  close(given->fd);
  unlink(path.c_str());
}

TEST_CASE("what is another process's is left alone") {
  listen_at(kFirst);
  ServiceVariables others = passed("1");
  others.listen_pid = "1";
  ActivationSockets sockets;
  REQUIRE(sockets.adopt(others, kFirst));
  CHECK(sockets.untaken().empty());
  CHECK((fcntl(kFirst, F_GETFD) & FD_CLOEXEC) == 0);
  close(kFirst);
}

TEST_CASE("what does not listen is refused, and so is a count that is none") {
  ActivationSockets sockets;
  auto why = [&](const std::string& count) {
    auto adopted = sockets.adopt(passed(count, "web.socket"), kFirst);
    return adopted ? std::string() : adopted.error().text;
  };
  CHECK(why("x") == "LISTEN_FDS is no number");
  CHECK(why("-1") == "LISTEN_FDS is no number");
  CHECK(why("65") == "LISTEN_FDS is 65; at most 64 sockets are taken");
  CHECK(why("1") == "LISTEN_FDS names descriptor 200 (web.socket), which is not open");
  dup2(STDERR_FILENO, kFirst);
  CHECK(why("1") == "descriptor 200 (web.socket) from LISTEN_FDS is no socket");
  const int datagrams = socket(AF_INET, SOCK_DGRAM, 0);
  dup2(datagrams, kFirst);
  close(datagrams);
  CHECK_THAT(why("1"),
             Catch::Contains("does not listen for connections; the socket unit needs ListenStream="));
  close(kFirst);
  CHECK(sockets.untaken().empty());
}
