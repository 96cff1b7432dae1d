#include "foundation/net/peer_silence.h"

#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cerrno>
#include <chrono>
#include <string>

#include "unit/foundation/net/tcp_pair.h"

using namespace lineward::net;
using namespace std::chrono_literals;

namespace {

struct Pair : TcpPair {
  Pair() : TcpPair(connect_pair()) {}
  ~Pair() {
    ::close(near);
    ::close(far);
  }
  // From here on the kernel throws away what comes for it, and acknowledges nothing.
  void far_is_gone() const {
    sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
    const sock_fprog program{1, &nothing};
    REQUIRE(setsockopt(far, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0);
  }
  int option(int level, int name) const {
    int value = 0;
    socklen_t size = sizeof value;
    REQUIRE(getsockopt(near, level, name, &value, &size) == 0);
    return value;
  }
  void wait(std::chrono::milliseconds time) const {
    pollfd nothing{near, 0, 0};
    poll(&nothing, 1, static_cast<int>(time.count()));
  }
};

}  // namespace

TEST_CASE("a peer that is probed has nine times as long as it may be quiet") {
  Pair pair;
  ask_when_quiet(pair.near, 15s);
  CHECK(pair.option(SOL_SOCKET, SO_KEEPALIVE) == 1);
  CHECK(pair.option(IPPROTO_TCP, TCP_KEEPIDLE) == 15);
  CHECK(pair.option(IPPROTO_TCP, TCP_KEEPINTVL) == 15);
  CHECK(pair.option(IPPROTO_TCP, TCP_KEEPCNT) == 8);
  ask_when_quiet(pair.near, 1200ms);
  CHECK(pair.option(IPPROTO_TCP, TCP_KEEPIDLE) == 2);
  ask_when_quiet(pair.near, 1ms);
  CHECK(pair.option(IPPROTO_TCP, TCP_KEEPIDLE) == 1);
  ask_when_quiet(pair.near, 24h);
  CHECK(pair.option(IPPROTO_TCP, TCP_KEEPIDLE) == 32767);
}

TEST_CASE("the kernel ends the connection of a machine that is gone and to which nothing is sent") {
  Pair pair;
  ask_when_quiet(pair.near, 1s);
  pair.far_is_gone();
  pollfd end{pair.near, POLLIN, 0};
  REQUIRE(poll(&end, 1, 20'000) == 1);
  char byte = 0;
  CHECK(recv(pair.near, &byte, 1, 0) == -1);
  CHECK(errno == ETIMEDOUT);
}

TEST_CASE("a machine that acknowledges nothing of what is sent is silent after nine quiet times") {
  const auto begun = std::chrono::steady_clock::now();
  Pair pair;
  CHECK_FALSE(is_silent(pair.near, 1ms));
  pair.wait(50ms);
  CHECK_FALSE(is_silent(pair.near, 1ms));  // nothing is on its way
  pair.far_is_gone();
  REQUIRE(send(pair.near, "x", 1, MSG_NOSIGNAL) == 1);
  CHECK_FALSE(is_silent(pair.near, 1h));
  while (!is_silent(pair.near, 100ms)) {
    REQUIRE(std::chrono::steady_clock::now() - begun < 20s);
    pair.wait(10ms);
  }
  // The last word is younger than the connection; the kernel counts in ticks.
  CHECK(std::chrono::steady_clock::now() - begun >= 880ms);
  CHECK_FALSE(is_silent(pair.near, 1h));
}

TEST_CASE("a peer that reads nothing is not silent, full as its buffers are") {
  Pair pair;
  const std::string much(256 * 1024, 'x');
  const auto begun = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begun < 3s) {
    send(pair.near, much.data(), much.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    REQUIRE_FALSE(is_silent(pair.near, 50ms));
    pair.wait(10ms);
  }
}

TEST_CASE("sockets of other kinds are never silent") {
  std::array<int, 2> ends{};
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
  ask_when_quiet(ends[0], 1s);
  REQUIRE(send(ends[0], "x", 1, MSG_NOSIGNAL) == 1);
  CHECK_FALSE(is_silent(ends[0], 0ms));
  for (const int end : ends)
    ::close(end);
}
