#include "proxy/upstream/http_client/http_pool.h"

#include <uv.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "unit/foundation/net/scripted_server.h"

using namespace lineward;
using namespace lineward::upstream;
using std::chrono::milliseconds;

namespace {

using Server = net::ScriptedServer;

struct Owner final : HttpTransferCallbacks {
  net::Loop& loop;
  std::unique_ptr<HttpTransfer> transfer;
  std::string body, fault;
  bool distrusts = false;
  bool over = false;
  explicit Owner(net::Loop& l) : loop(l) {}
  void on_transfer_sent() override {}
  void on_transfer_drained() override {}
  void on_transfer_head(const http::ResponseInfo&) override {}
  void on_transfer_body(std::string_view bytes) override { body += bytes; }
  void on_transfer_complete() override {
    if (distrusts) transfer->distrust();
    over = true;
    loop.stop();
  }
  void on_transfer_failed(const core::Failure& f) override {
    fault = f.text;
    over = true;
    loop.stop();
  }
};

void run_for(net::Loop& loop, milliseconds time) {
  net::Timer timer(loop);
  timer.start(time, [&] { loop.defer([&] { loop.stop(); }); });
  loop.run();
}

void run_until(net::Loop& loop, const std::function<bool()>& met) {
  while (!met())
    run_for(loop, milliseconds(1));
}

const std::string kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

}  // namespace

TEST_CASE("the pool of connections") {
  net::Loop loop;
  {
    Server server(loop);
    auto url = parse_http_url("http://" + server.listener->address() + "/mcp");
    REQUIRE(url);
    HttpPool pool(loop, *url, nullptr, {});
    auto ask = [&](bool distrusts = false) {
      Owner owner(loop);
      owner.distrusts = distrusts;
      owner.transfer =
          std::make_unique<HttpTransfer>(pool, HttpRequest{"POST", {{"X", "a\r\nEvil: b"}}, "{}"}, owner);
      CHECK_FALSE(owner.over);
      loop.run();
      REQUIRE(owner.over);
      return owner.fault.empty() ? owner.body : "fault: " + owner.fault;
    };

    SECTION("a connection is used again, and a request is framed once") {
      server.script = {kOk, kOk, kOk};
      for (int i = 0; i < 3; ++i)
        CHECK(ask() == "ok");
      CHECK(server.peers.size() == 1);
      CHECK(pool.idle() == 1);
      CHECK(server.heard.find("\r\nEvil:") == std::string::npos);
      CHECK(server.heard.rfind("POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:", 0) == 0);
    }
    SECTION("not when it said too much, wants to close, or was distrusted") {
      server.script = {kOk + "x", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", kOk,
                       "HTTP/1.1 200 OK\r\nKeep-Alive: timeout=1\r\nContent-Length: 2\r\n\r\nok", kOk};
      CHECK(ask() == "ok");
      CHECK(ask() == "ok");
      CHECK(ask(true) == "ok");
      CHECK(ask() == "ok");
      CHECK(ask() == "ok");
      CHECK(server.peers.size() == 5);
    }
    SECTION("not when its end came with its last answer, in the turn that brought that") {
      server.script = {"last:" + kOk, kOk};
      Owner second(loop);
      struct First final : HttpTransferCallbacks {
        std::function<void()> done;
        void on_transfer_sent() override {}
        void on_transfer_drained() override {}
        void on_transfer_head(const http::ResponseInfo&) override {}
        void on_transfer_body(std::string_view) override {}
        void on_transfer_complete() override { done(); }
        void on_transfer_failed(const core::Failure& fault) override { FAIL(fault.text); }
      } first;
      first.done = [&] {
        loop.defer([&] {
          second.transfer = std::make_unique<HttpTransfer>(pool, HttpRequest{"POST", {}, "{}"}, second);
        });
      };
      HttpTransfer transfer(pool, HttpRequest{"POST", {}, "{}"}, first);
      loop.run();
      REQUIRE(second.over);
      CHECK(second.fault.empty());
      CHECK(second.body == "ok");
    }
    SECTION("not when it ended, or anything came, while it was idle") {
      server.script = {kOk, kOk, kOk};
      CHECK(ask() == "ok");
      server.peers[0]->stream->close();
      run_until(loop, [&] { return pool.idle() == 0; });
      CHECK(ask() == "ok");
      server.peers[1]->stream->write(kOk);
      run_until(loop, [&] { return pool.idle() == 0; });
      CHECK(ask() == "ok");
      CHECK(server.peers.size() == 3);
    }
    SECTION("what was sent is never sent again") {
      server.script = {kOk, "close"};
      CHECK(ask() == "ok");
      CHECK(ask().rfind("fault: ", 0) == 0);
      CHECK(server.peers.size() == 1);
    }
    SECTION("closing a transfer closes its connection at once") {
      Owner owner(loop);
      owner.transfer = std::make_unique<HttpTransfer>(pool, HttpRequest{"POST", {}, "{}"}, owner);
      run_until(loop, [&] { return owner.transfer->sent() && !server.heard.empty(); });
      owner.transfer->close();
      run_until(loop, [&] { return server.ends == 1; });
      CHECK_FALSE(owner.over);
      CHECK(pool.idle() == 0);
    }
    SECTION("the rest of an abandoned response may still come") {
      server.script = {"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nok"};
      Owner owner(loop);
      owner.transfer = std::make_unique<HttpTransfer>(pool, HttpRequest{"POST", {}, "{}"}, owner);
      run_until(loop, [&] { return owner.body == "ok"; });
      HttpTransfer::finish_quietly(std::move(owner.transfer));
      server.peers[0]->stream->write("ok");
      run_until(loop, [&] { return pool.idle() == 1; });
      CHECK_FALSE(owner.over);
    }
    SECTION("a request that was not sent has no response that could still come") {
      Owner owner(loop);
      owner.transfer = std::make_unique<HttpTransfer>(pool, HttpRequest{"POST", {}, "{}"}, owner);
      HttpTransfer::finish_quietly(std::move(owner.transfer));
      run_for(loop, milliseconds(50));
      CHECK_FALSE(owner.over);
      CHECK(server.heard.empty());
      CHECK(pool.idle() == 0);
    }
    server.listener->close();
    pool.close_idle();
    loop.close_deferred();
  }
  loop.close_all();
}

TEST_CASE("the name of a server is resolved anew while its connections are in use") {
  net::Loop loop;
  {
    Server first(loop), second(loop);
    first.script = {kOk, kOk, kOk, kOk};
    second.script = first.script;
    auto url = parse_http_url("http://moves.example:80/mcp");
    REQUIRE(url);
    auto at = [](const Server& server) {
      std::string text = server.listener->address();
      net::Address address;
      address.text = text;
      uint16_t port = static_cast<uint16_t>(std::stoi(text.substr(text.find(':') + 1)));
      uv_ip4_addr("127.0.0.1", port, reinterpret_cast<sockaddr_in*>(&address.bytes));
      return address;
    };
    std::atomic<bool> moved = false;
    std::atomic<int> lookups = 0;
    PoolOptions options;
    options.resolver.young = milliseconds(50);
    options.resolver.look_up = [&, from = at(first), to = at(second)](const std::string& host,
                                                                      uint16_t port) {
      CHECK((host == "moves.example" && port == 80));
      ++lookups;
      return Result<net::Addresses>(net::Addresses{moved ? to : from});
    };
    HttpPool pool(loop, *url, nullptr, options);
    auto ask = [&] {
      Owner owner(loop);
      owner.transfer = std::make_unique<HttpTransfer>(pool, HttpRequest{"POST", {}, "{}"}, owner);
      loop.run();
      return owner.fault.empty() ? owner.body : "fault: " + owner.fault;
    };
    const auto since = loop.now();
    CHECK(ask() == "ok");
    CHECK(ask() == "ok");
    // On a busy machine what is known may have become old meanwhile.
    if (loop.now() - since < options.resolver.young) CHECK(lookups == 1);
    moved = true;
    run_for(loop, options.resolver.young + milliseconds(10));
    CHECK(ask() == "ok");  // on the connection there is; meanwhile the name is asked
    run_until(loop, [&] { return lookups >= 2 && pool.idle() == 0; });
    CHECK(second.peers.empty());
    CHECK(ask() == "ok");
    CHECK(first.peers.size() == 1);
    CHECK(second.peers.size() == 1);
    first.listener->close();
    second.listener->close();
    pool.close_idle();
    loop.close_deferred();
  }
  loop.close_all();
}

TEST_CASE("how many idle connections are kept, and for how long") {
  net::Loop loop;
  {
    Server server(loop);
    server.script = {kOk, kOk, kOk};
    auto url = parse_http_url("http://" + server.listener->address() + "/mcp");
    REQUIRE(url);
    PoolOptions options;
    options.idle_connections = 1;
    options.idle_timeout = milliseconds(30);
    HttpPool pool(loop, *url, nullptr, options);
    Owner one(loop), other(loop);
    one.transfer = std::make_unique<HttpTransfer>(pool, HttpRequest{"POST", {}, "{}"}, one);
    other.transfer = std::make_unique<HttpTransfer>(pool, HttpRequest{"POST", {}, "{}"}, other);
    while (!one.over || !other.over)
      loop.run();
    CHECK(server.peers.size() == 2);
    CHECK(pool.idle() == 1);
    run_for(loop, milliseconds(40));
    Owner third(loop);
    third.transfer = std::make_unique<HttpTransfer>(pool, HttpRequest{"POST", {}, "{}"}, third);
    loop.run();
    CHECK(third.body == "ok");
    CHECK(server.peers.size() == 3);  // the idle one was too old
    server.listener->close();
    pool.close_idle();
    loop.close_deferred();
  }
  loop.close_all();
}

TEST_CASE(
    "what a proxy says behind its answer to CONNECT is not the server's, and no answer is one that has two "
    "framings") {
  net::Loop loop;
  {
    Server proxy(loop);
    auto url = parse_http_url("https://server.example/mcp");
    REQUIRE(url);
    auto tls = net::TlsContext::for_client({});
    REQUIRE(tls);
    auto asked = parse_proxy("http://" + proxy.listener->address());
    REQUIRE(asked);
    PoolOptions options;
    options.proxy = *asked;
    options.connect_timeout = milliseconds(2000);
    HttpPool pool(loop, *url, *tls, options);
    auto fault = [&](const std::string& answer) {
      proxy.script = {answer};
      proxy.heard.clear();
      Owner owner(loop);
      owner.transfer = std::make_unique<HttpTransfer>(pool, HttpRequest{"POST", {}, "{}"}, owner);
      loop.run();
      REQUIRE(owner.over);
      // Not one byte more than the question, no hello of TLS either.
      CHECK(proxy.heard == "CONNECT server.example:443 HTTP/1.1\r\nHost: server.example:443\r\n\r\n");
      return owner.fault;
    };
    const std::string named = "its proxy " + proxy.listener->address();
    CHECK(fault("HTTP/1.1 200 OK\r\n\r\n" + kOk) == named + " spoke in the server's place");
    CHECK(fault("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\n\r\n\x16") ==
          named + " spoke in the server's place");
    CHECK(fault("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n") ==
          named + " answered CONNECT with no valid HTTP");
    CHECK(fault("HTTP/1.1 403 Forbidden\r\n\r\n") == named + " refused the connection (403)");
    proxy.listener->close();
    pool.close_idle();
    loop.close_deferred();
  }
  loop.close_all();
}

namespace {

// A token that is there, and good.
struct OurToken final : RequestCredentials {
  State state() override { return State::there; }
  const std::string& authorization() const override { return value; }
  void fetch(std::function<void(const std::string& fault)>) override {}
  bool refused(const std::string&, const http::ResponseInfo&) override { return false; }
  std::string value = "Bearer ours";
};

}  // namespace

TEST_CASE("a request that waits for a token is held back, and no server is at fault") {
  struct NoToken final : RequestCredentials {
    State state() override { return State::missing; }
    const std::string& authorization() const override { return value; }
    void fetch(std::function<void(const std::string& fault)> then) override { done = std::move(then); }
    bool refused(const std::string&, const http::ResponseInfo&) override { return false; }
    std::string value;
    std::function<void(const std::string& fault)> done;
  } token;
  net::Loop loop;
  {
    auto url = parse_http_url("http://127.0.0.1:1/mcp");
    REQUIRE(url);
    HttpPool pool(loop, *url, nullptr, {});
    pool.use(token);
    Owner owner(loop);
    owner.transfer = std::make_unique<HttpTransfer>(pool, HttpRequest{"POST", {}, "{}"}, owner);
    CHECK(owner.transfer->is_held_back());
    token.done("");
    CHECK_FALSE(owner.transfer->is_held_back());
    owner.transfer->close();
  }
  loop.close_all();
}

TEST_CASE("a token that Lineward got stands in the place of every other Authorization") {
  net::Loop loop;
  {
    Server server(loop);
    server.script = {kOk, kOk};
    auto url = parse_http_url("http://" + server.listener->address() + "/mcp");
    REQUIRE(url);
    const SharedHeaders shared(
        std::vector<http::OutHeader>{{"authorization", "Bearer shared"}, {"Accept", "text/plain"}});
    OurToken token;
    HttpPool pool(loop, *url, nullptr, {});
    pool.use(token);
    auto heard = [&](const SharedHeaders* with) {
      server.heard.clear();
      Owner owner(loop);
      HttpRequest request{"POST", {{"AUTHORIZATION", "Bearer theirs"}, {"X", "1"}}, "{}"};
      request.shared_headers = with;
      owner.transfer = std::make_unique<HttpTransfer>(pool, std::move(request), owner);
      loop.run();
      CHECK(owner.body == "ok");
      return server.heard;
    };
    for (const SharedHeaders* with : {static_cast<const SharedHeaders*>(nullptr), &shared}) {
      const std::string head = heard(with);
      INFO(head);
      CHECK(head.find("\r\nX: 1\r\n") != std::string::npos);
      CHECK(head.find("\r\nAuthorization: Bearer ours\r\n") != std::string::npos);
      CHECK(head.find("Bearer") == head.rfind("Bearer"));
      CHECK((head.find("Accept: text/plain") != std::string::npos) == (with != nullptr));
    }
    server.listener->close();
    pool.close_idle();
    loop.close_deferred();
  }
  loop.close_all();
}
