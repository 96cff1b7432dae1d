#include "proxy/upstream/http_client/peer_link.h"

#include <arpa/inet.h>

#include <catch2/catch.hpp>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "foundation/base/seal_keys.h"
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
  PeerOptions options;
  options.peers = {{"b", "http://" + peer.listener->address()}};
  options.kept = kept;
  auto links = PeerLinks::make(loop, options);
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

TEST_CASE("replicas are found by the addresses of a name, and follow it") {
  net::Loop loop;
  net::ScriptedServer peer(loop);
  peer.script = {kTwoLetters, kTwoLetters};
  const std::string address = peer.listener->address();
  struct Name {
    std::mutex mutex;
    std::vector<std::string> hosts;
    int asked = 0;
  };
  auto name = std::make_shared<Name>();
  name->hosts = {"127.0.0.9"};
  PeerOptions options;
  options.from = "http://replicas.test:" + address.substr(address.rfind(':') + 1);
  options.own_name = "127.0.0.9";
  options.kept = milliseconds(10000);
  options.look_up = [name](const std::string& host, uint16_t port) -> Result<net::Addresses> {
    std::lock_guard<std::mutex> lock(name->mutex);
    ++name->asked;
    if (host != "replicas.test" || name->hosts.empty()) return fail("no such name");
    net::Addresses out;
    for (const std::string& one : name->hosts) {
      sockaddr_in bytes{};
      bytes.sin_family = AF_INET;
      bytes.sin_port = htons(port);
      inet_pton(AF_INET, one.c_str(), &bytes.sin_addr);
      out.push_back(net::make_address(reinterpret_cast<sockaddr*>(&bytes), sizeof bytes));
    }
    return out;
  };
  auto links = PeerLinks::make(loop, options);
  REQUIRE(links);
  const auto passed = [&](const std::string& to) {
    PeerEars listener;
    REQUIRE((*links)->knows(to));
    auto call = (*links)->pass(to, {"POST", "/mcp", "a", "127.0.0.1", {}, "{}"}, listener);
    CHECK_FALSE(listener.over);
    REQUIRE(net::wait_for(loop, [&] { return listener.over; }));
    return listener.failed + listener.body;
  };
  const auto use = [&](std::vector<std::string> hosts) {
    std::lock_guard<std::mutex> lock(name->mutex);
    name->hosts = std::move(hosts);
  };
  // The first look-up is under way: a request waits for it. The own address is no peer.
  CHECK(passed("127.0.0.1") == "unreached: is not among the addresses of replicas.test");
  CHECK((*links)->names().empty());
  CHECK_FALSE((*links)->knows("127.0.0.9"));
  CHECK_FALSE((*links)->knows("b"));
  // A moment later a request waits until another look-up is permitted.
  use({"127.0.0.9", "127.0.0.1", "127.0.0.8", "127.0.0.1"});
  const auto since = loop.now();
  CHECK(passed("127.0.0.1") == "ok");
  CHECK(loop.now() - since >= milliseconds(900));
  CHECK((*links)->names() == std::vector<std::string>{"127.0.0.1", "127.0.0.8"});
  CHECK((*links)->tagged(replica_tag("127.0.0.8")) == "127.0.0.8");
  CHECK((*links)->is_at("127.0.0.8:4711"));
  CHECK_FALSE((*links)->is_at("127.0.0.7:4711"));
  // Without an answer they stay; one that has left is unknown once the name says so.
  use({});
  REQUIRE(net::wait_for(
      loop,
      [&] {
        std::lock_guard<std::mutex> lock(name->mutex);
        return name->asked >= 3;
      },
      milliseconds(15000)));
  CHECK(passed("127.0.0.1") == "ok");
  use({"127.0.0.8"});
  // A look-up is five seconds after the last one at most.
  REQUIRE(net::wait_for(
      loop, [&] { return (*links)->names().size() == 1; }, milliseconds(15000)));
  {
    std::lock_guard<std::mutex> lock(name->mutex);
    CHECK(name->asked <= 5);
  }
  // A request that still waits when the links are gone hears nothing.
  PeerEars late;
  REQUIRE(net::wait_for(loop, [&] { return (*links)->knows("127.0.0.7"); }));
  auto call = (*links)->pass("127.0.0.7", {"POST", "/mcp", "a", "127.0.0.1", {}, "{}"}, late);
  call.reset();
  links->reset();
  net::turn(loop);
  CHECK_FALSE(late.over);
}

TEST_CASE("a request waits for a slow look-up for a limited time, and only while its owner has it") {
  net::Loop loop;
  struct Gate {
    std::mutex mutex;
    std::condition_variable changed;
    bool open = false;
  };
  auto gate = std::make_shared<Gate>();
  PeerOptions options;
  options.from = "http://replicas.test:1";
  options.own_name = "127.0.0.9";
  options.kept = milliseconds(10000);
  options.look_up = [gate](const std::string&, uint16_t) -> Result<net::Addresses> {
    std::unique_lock<std::mutex> lock(gate->mutex);
    gate->changed.wait(lock, [&] { return gate->open; });
    return fail("no such name");
  };
  auto links = PeerLinks::make(loop, options);
  REQUIRE(links);
  PeerEars patient, gone;
  auto one = (*links)->pass("127.0.0.1", {"POST", "/mcp", "a", "127.0.0.1", {}, "{}"}, patient);
  auto other = (*links)->pass("127.0.0.1", {"POST", "/mcp", "a", "127.0.0.1", {}, "{}"}, gone);
  CHECK((*links)->waiting() == 2);
  other.reset();
  CHECK((*links)->waiting() == 1);
  CHECK_FALSE(one->is_sent());
  CHECK(net::wait_for(
      loop, [&] { return patient.over; }, milliseconds(8000)));
  CHECK(patient.failed ==
        "unreached: is not known: the addresses of replicas.test were not found within 5000 ms");
  CHECK((*links)->waiting() == 0);
  CHECK_FALSE(gone.over);
  one.reset();
  links->reset();
  {
    std::lock_guard<std::mutex> lock(gate->mutex);
    gate->open = true;
  }
  gate->changed.notify_all();
  net::turn(loop);
}

TEST_CASE("a replica with an address in its URL is known by that address") {
  net::Loop loop;
  PeerOptions options;
  options.peers = {
      {"a", "http://10.0.0.7:8000"}, {"b", "http://[fd00::1]:8000"}, {"c", "http://replica-c:1"}};
  auto links = PeerLinks::make(loop, options);
  REQUIRE(links);
  CHECK((*links)->is_at("10.0.0.7:4711"));
  CHECK((*links)->is_at("[fd00::1]:4711"));
  CHECK_FALSE((*links)->is_at("10.0.0.8:4711"));
  CHECK_FALSE((*links)->is_at("unix"));
  links->reset();
  net::turn(loop);
}

TEST_CASE("a replica of peersFrom is named by its address") {
  CHECK(replica_name_of("10.0.0.7:8000") == "10.0.0.7");
  CHECK(replica_name_of("10.0.0.7") == "10.0.0.7");
  CHECK(replica_name_of("[FD00::0:1]:8000") == "fd00::1");
  CHECK(replica_name_of("fd00::1") == "fd00::1");
  CHECK(replica_name_of("lineward-0").empty());
}
