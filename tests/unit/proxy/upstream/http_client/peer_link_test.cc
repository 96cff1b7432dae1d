#include "proxy/upstream/http_client/peer_link.h"

#include <catch2/catch.hpp>
#include <string>

#include "unit/foundation/net/scripted_server.h"
#include "unit/foundation/net/turns.h"

using namespace lineward;
using namespace lineward::upstream;
using std::chrono::milliseconds;

namespace {

struct PeerEars final : PeerListener {
  std::string body, failed;
  bool over = false;
  void on_peer_head(const http::ResponseInfo&) override {}
  void on_peer_body(std::string_view bytes) override { body += bytes; }
  void on_peer_complete() override { over = true; }
  void on_peer_failed(const std::string& why) override {
    failed = why;
    over = true;
  }
  void on_peer_unreached(const std::string& why) override { on_peer_failed("unreached: " + why); }
};

const std::string kTwoLetters = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

}  // namespace

// A request that is written while the peer closes its connection for idleness may have been seen there, so it
// must not be repeated: this side closes first.
TEST_CASE("a connection to a replica is closed before that one would close it for idleness") {
  net::Loop loop;
  net::ScriptedServer peer(loop);
  peer.script = {kTwoLetters, kTwoLetters};
  const milliseconds kept{400};
  auto links = PeerLinks::make(loop, {{"b", "http://" + peer.listener->address()}}, kept);
  REQUIRE(links);
  const auto passed = [&] {
    PeerEars listener;
    auto call = (*links)->pass("b", {"POST", "/mcp", "a", "127.0.0.1", {}, "{}"}, listener);
    REQUIRE(net::wait_for(loop, [&] { return listener.over; }));
    return listener.failed + listener.body;
  };
  CHECK(passed() == "ok");
  CHECK(peer.ends == 0);
  // Long before a pool of connections would do it by itself, however slow this machine is.
  const auto since = loop.now();
  CHECK(net::wait_for(loop, [&] { return peer.ends == 1 || loop.now() - since > milliseconds(3000); }));
  CHECK(peer.ends == 1);
  CHECK(passed() == "ok");
  CHECK(peer.peers.size() == 2);
  links->reset();
  net::turn(loop);
}
