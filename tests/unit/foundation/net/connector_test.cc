#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>

#include "foundation/net/connector.h"
#include "foundation/net/listener.h"
#include "loopback_socket.h"

using namespace lineward;
using namespace lineward::net;

namespace {

// None of these is to take it.
constexpr milliseconds kPatience{60000};

// A port that nothing listens on.
uint16_t free_port() {
  test::LoopbackSocket one;
  REQUIRE(one.take());
  ::close(one.fd);
  return one.port();
}

uint16_t port_of(const std::string& address) {
  return static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
}

struct Result1 {
  bool connected = false;
  Error failure;
  int calls = 0;
};

Connector::Done into(Result1& result, Loop& loop) {
  return [&result, &loop](Connector::Connected connected) {
    ++result.calls;
    result.connected = static_cast<bool>(connected);
    if (!connected) result.failure = connected.error();
    loop.stop();
  };
}

}  // namespace

TEST_CASE("a connector takes the first address that answers") {
  Loop loop;
  auto listener = Listener::open(loop, "127.0.0.1:0", [](std::unique_ptr<ByteStream>, std::string) {});
  REQUIRE(listener);
  SECTION("a literal address") {
    Resolver resolver(loop, "127.0.0.1", port_of((*listener)->address()));
    Result1 result;
    Connector connector(loop, resolver, kPatience, into(result, loop));
    CHECK(result.calls == 0);
    loop.run();
    CHECK(result.connected);
  }
  SECTION("a name with an IPv6 address that refuses first") {
    Resolver resolver(loop, "localhost", port_of((*listener)->address()));
    Result1 result;
    Connector connector(loop, resolver, kPatience, into(result, loop));
    loop.run();
    CHECK(result.connected);
    CHECK_FALSE(resolver.known().empty());
    resolver.forget();
    CHECK(resolver.known().empty());
  }
  SECTION("no listener") {
    Resolver resolver(loop, "127.0.0.1", free_port());
    Result1 result;
    Connector connector(loop, resolver, kPatience, into(result, loop));
    loop.run();
    CHECK_FALSE(result.connected);
    CHECK(result.failure.code != ETIMEDOUT);
    CHECK(result.failure.text.find("refused") != std::string::npos);
  }
  SECTION("a Unix socket that is not there") {
    Result1 result;
    Connector connector(loop, "/no/such/socket", kPatience, into(result, loop));
    loop.run();
    CHECK_FALSE(result.connected);
    CHECK(result.failure.text.find("unix:/no/such/socket") != std::string::npos);
  }
  SECTION("one that was given up says nothing, and neither does its look-up") {
    Result1 result;
    {
      Resolver resolver(loop, "localhost", 1);
      Connector connector(loop, resolver, kPatience, into(result, loop));
    }
    Timer timer(loop);
    timer.start(milliseconds(100), [&] { loop.defer([&] { loop.stop(); }); });
    loop.run();
    CHECK(result.calls == 0);
  }
  (*listener)->close();
  loop.close_all();
}
