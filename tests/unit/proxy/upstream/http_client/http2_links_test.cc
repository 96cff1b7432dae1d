#include "proxy/upstream/http_client/http2_links.h"

#include <linux/filter.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "proxy/upstream/http_client/http_pool.h"
#include "unit/proxy/upstream/http_client/frame_server.h"

namespace lineward::upstream {
namespace {

using std::chrono::milliseconds;

struct Asker final : HttpTransferCallbacks {
  explicit Asker(HttpPool& its_pool, std::string field = "y") : pool(its_pool) {
    transfer =
        std::make_unique<HttpTransfer>(pool, HttpRequest{"POST", {{"X", std::move(field)}}, "{}"}, *this);
  }
  ~Asker() { leave(); }
  void leave() {
    if (!transfer) return;
    transfer->close();
    pool.loop().retire(std::move(transfer));
  }
  void on_transfer_sent() override { ++sent; }
  void on_transfer_drained() override { ++drained; }
  void on_transfer_head(const http::ResponseInfo& info) override {
    status = info.status;
    transfer->unlimited_body();
  }
  void on_transfer_body(std::string_view bytes) override { body += bytes; }
  void on_transfer_complete() override { over = true; }
  void on_transfer_failed(const core::Failure& failure) override {
    fault = failure;
    over = true;
  }

  HttpPool& pool;
  std::unique_ptr<HttpTransfer> transfer;
  std::string body;
  core::Failure fault;
  int sent = 0, drained = 0, status = 0;
  bool over = false;
};

struct World {
  World() : server(loop) {}
  ~World() {
    pool.reset();
    server.peers.clear();
  }
  void make(PoolOptions options = {}) {
    url = *parse_http_url("http://" + server.listener->address() + "/mcp");
    options.http2 = config::ServerHttp2::always;
    pool = std::make_unique<HttpPool>(loop, url, nullptr, std::move(options));
  }
  void run_until(const std::function<bool()>& is_met) {
    for (int left = 5000; left > 0 && !is_met(); --left) {
      net::Timer timer(loop);
      timer.start(milliseconds(1), [&] { loop.defer([&] { loop.stop(); }); });
      loop.run();
    }
    REQUIRE(is_met());
  }
  std::vector<std::unique_ptr<Asker>> ask(size_t count) {
    std::vector<std::unique_ptr<Asker>> out;
    for (size_t i = 0; i < count; ++i)
      out.push_back(std::make_unique<Asker>(*pool));
    return out;
  }
  void run_all(const std::vector<std::unique_ptr<Asker>>& all) {
    run_until([&] { return std::all_of(all.begin(), all.end(), [](const auto& one) { return one->over; }); });
  }
  // The server's number of streams is known then.
  void warm() {
    const auto one = ask(1);
    run_all(one);
    CHECK(one[0]->body == "ok");
  }

  net::Loop loop;
  FrameServer server;
  HttpUrl url;
  std::unique_ptr<HttpPool> pool;
};

// More requests than the socket of its first connection takes, so that the last ones are not sent yet. Then
// the server allows no stream.
std::vector<std::unique_ptr<Asker>> asked_without_room(World& w) {
  FrameServer::Peer& peer = *w.server.peers[0];
  peer.stream->pause_reading();
  std::vector<std::unique_ptr<Asker>> all;
  for (int i = 0; i < 90; ++i)
    all.push_back(std::make_unique<Asker>(*w.pool, std::string(60000, 'y')));
  w.run_until([&] { return all.front()->sent == 1; });
  const nghttp2_settings_entry none{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 0};
  nghttp2_submit_settings(peer.session.raw(), NGHTTP2_FLAG_NONE, &none, 1);
  peer.flush();
  return all;
}

}  // namespace

TEST_CASE("http2 links: requests share a connection, and each is told when it is sent") {
  World w;
  w.make();
  w.warm();
  const auto all = w.ask(50);
  w.run_all(all);
  for (const auto& one : all) {
    CHECK(one->status == 200);
    CHECK(one->body == "ok");
    CHECK(one->sent == 1);
    CHECK(one->drained == 1);
  }
  CHECK(w.server.peers.size() == 1);
  CHECK(w.server.resets.empty());
  CHECK(w.server.peers[0]->fields[3] ==
        ":method=POST :scheme=http :authority=" + w.url.host_header + " :path=/mcp x=y content-length=2 ");
  CHECK(w.pool->idle() == 1);
}

TEST_CASE("http2 links: no more streams than the server allows, and no more connections than the limit") {
  World w;
  w.server.most_streams = 2;
  PoolOptions options;
  options.most_connections = 2;
  w.make(options);
  w.warm();
  w.server.answers_all = false;
  int freed = 0;
  w.pool->on_freed([&] { ++freed; });
  const auto first = w.ask(4);
  w.run_until([&] { return w.server.asked.size() == 5; });
  CHECK(w.server.peers.size() == 2);
  CHECK(w.pool->full());
  auto [peer, id] = w.server.asked.back();
  peer->answer(id, "ok");
  w.run_until([&] { return !w.pool->full(); });
  CHECK(freed > 0);
  // The second one waits, and gets the next stream.
  const auto more = w.ask(2);
  w.run_until([&] { return w.server.asked.size() == 6; });
  CHECK(w.pool->full());
  std::tie(peer, id) = w.server.asked.back();
  peer->answer(id, "ok");
  w.run_until([&] { return w.server.asked.size() == 7; });
  CHECK(w.server.peers.size() == 2);
}

TEST_CASE("http2 links: a request that waits too long fails as at a connect") {
  World w;
  w.server.most_streams = 1;
  PoolOptions options;
  options.most_connections = 1;
  options.connect_timeout = milliseconds(50);
  w.make(options);
  w.warm();
  w.server.answers_all = false;
  const auto all = w.ask(2);
  w.run_until([&] { return all[1]->over; });
  CHECK(all[1]->fault.reason == mcp::EndReason::timeout_connect);
  CHECK(all[1]->fault.nothing_sent);
  CHECK(all[1]->fault.text ==
        "has no connection: no HTTP/2 stream was free in time (50 ms, lineward timeouts.connect)");
  CHECK_FALSE(all[0]->over);
}

TEST_CASE("http2 links: a request that the server allows no stream any more goes to another connection") {
  World w;
  PoolOptions options;
  options.connect_timeout = milliseconds(1000);
  bool may_connect = true;
  SECTION("there may be one") {}
  SECTION("there may be none: it fails as at a connect") {
    may_connect = false;
    options.most_connections = 1;
  }
  w.make(options);
  w.warm();
  w.server.answers_all = false;
  const auto all = asked_without_room(w);
  w.server.answers_all = true;
  w.run_until([&] { return all.back()->over; });
  CHECK_FALSE(all.front()->over);
  if (may_connect) {
    CHECK(all.back()->body == "ok");
    CHECK(w.server.peers.size() == 2);
  } else {
    CHECK(all.back()->fault.reason == mcp::EndReason::timeout_connect);
    CHECK(all.back()->fault.nothing_sent);
    CHECK(w.server.peers.size() == 1);
  }
  w.server.peers[0]->stream->start_reading();
  w.run_until([&] { return all.front()->over; });
  CHECK(all.front()->body == "ok");
}

TEST_CASE("http2 links: what waits for a connection fails with it, or opens its own") {
  World w;
  w.make();
  w.warm();
  w.run_until([&] { return w.pool->idle() == 1; });
  w.pool->close_idle();
  w.run_until([&] { return w.pool->idle() == 0; });
  SECTION("the server is gone") {
    w.server.listener.reset();
    const auto all = w.ask(5);
    w.run_all(all);
    for (const auto& one : all) {
      CHECK(one->fault.reason == mcp::EndReason::upstream_unreachable);
      CHECK(one->fault.nothing_sent);
    }
  }
  SECTION("its request is cancelled") {
    auto all = w.ask(5);
    all[0]->leave();
    all.erase(all.begin());
    w.run_all(all);
    for (const auto& one : all)
      CHECK(one->body == "ok");
    CHECK(w.server.peers.size() <= 3);
  }
}

TEST_CASE("http2 links: a request that is left is reset once, the others go on") {
  World w;
  w.make();
  w.warm();
  w.server.answers_all = false;
  const auto all = w.ask(3);
  w.run_until([&] { return w.server.asked.size() == 4; });
  all[1]->leave();
  w.run_until([&] { return !w.server.resets.empty(); });
  for (const int n : {1, 3})
    w.server.asked[static_cast<size_t>(n)].first->answer(w.server.asked[static_cast<size_t>(n)].second, "ok");
  w.run_until([&] { return all[0]->over && all[2]->over; });
  CHECK(all[0]->body == "ok");
  CHECK(all[2]->body == "ok");
  CHECK(w.server.resets == std::vector<uint32_t>{NGHTTP2_CANCEL});
}

TEST_CASE("http2 links: a stream that is not read holds its window, and stops no other one") {
  World w;
  w.make();
  w.warm();
  w.server.answers_all = false;
  Asker slow(*w.pool);
  w.run_until([&] { return w.server.asked.size() == 2; });
  slow.transfer->pause();
  auto [peer, id] = w.server.asked[1];
  constexpr size_t kLarge = 8 << 20;
  peer->answer(id, std::string(kLarge, 'x'));
  w.server.answers_all = true;
  for (int i = 0; i < 20; ++i) {
    const auto others = w.ask(5);
    w.run_all(others);
  }
  CHECK(slow.body.empty());
  CHECK(peer->answers[id]->size() == kLarge - 256 * 1024);
  CHECK(w.server.peers.size() == 1);
  slow.transfer->resume();
  w.run_until([&] { return slow.over; });
  CHECK(slow.body.size() == kLarge);
}

TEST_CASE("http2 links: an answer that is whole before its stream ends is no cancel") {
  World w;
  w.make();
  w.warm();
  w.server.answers_all = false;
  Asker one(*w.pool);
  w.run_until([&] { return w.server.asked.size() == 2; });
  auto [peer, id] = w.server.asked[1];
  peer->answer(id, "12345", false, "5");
  w.run_until([&] { return one.over; });
  CHECK(one.body == "12345");
  SECTION("its end comes") {
    peer->answers[id]->complete = true;
    peer->session.resume(id, *peer->answers[id]);
    peer->flush();
    w.run_until([&] { return w.pool->idle() == 1; });
    CHECK(w.server.resets.empty());
  }
  SECTION("its end does not come") {
    w.run_until([&] { return !w.server.resets.empty(); });
    CHECK(w.server.resets == std::vector<uint32_t>{NGHTTP2_CANCEL});
  }
}

TEST_CASE("http2 links: a refused request goes to another connection, and fails there") {
  World w;
  w.make();
  w.warm();
  w.server.answers_all = false;
  Asker one(*w.pool);
  for (size_t n = 1; n < 3; ++n) {
    w.run_until([&] { return w.server.asked.size() == n + 1; });
    auto [peer, id] = w.server.asked[n];
    peer->reset(id, NGHTTP2_REFUSED_STREAM);
  }
  w.run_until([&] { return one.over; });
  CHECK(w.server.peers.size() == 2);
  CHECK(one.fault.nothing_sent);
  CHECK(one.fault.text == "refused the request (REFUSED_STREAM)");
  w.run_until([&] { return w.server.goaways == 2; });  // what refuses all is left
}

TEST_CASE("http2 links: a request is not repeated once its response has begun") {
  World w;
  w.make();
  w.warm();
  w.server.answers_all = false;
  Asker one(*w.pool);
  w.run_until([&] { return w.server.asked.size() == 2; });
  auto [peer, id] = w.server.asked[1];
  peer->answer(id, "begun", false);
  w.run_until([&] { return one.body == "begun"; });
  peer->reset(id, NGHTTP2_REFUSED_STREAM);
  w.run_until([&] { return one.over; });
  CHECK(w.server.asked.size() == 2);
  CHECK_FALSE(one.fault.nothing_sent);
}

TEST_CASE("http2 links: a server that does not begin") {
  World w;
  w.server.greets = false;
  PoolOptions options;
  options.connect_timeout = milliseconds(50);
  w.make(options);
  const auto all = w.ask(2);
  w.run_all(all);
  for (const auto& one : all)
    CHECK(one->fault.reason == mcp::EndReason::timeout_connect);
}

TEST_CASE("http2 links: idle connections end by themselves, with GOAWAY") {
  World w;
  PoolOptions options;
  options.idle_timeout = milliseconds(30);
  w.make(options);
  w.warm();
  w.run_until([&] { return w.server.ends == 1; });
  CHECK(w.server.goaways == 1);
  CHECK(w.pool->idle() == 0);
  CHECK(w.pool->is_unused());
  SECTION("and none is kept where none may be") {
    options.idle_connections = 0;
    w.make(options);
    w.warm();
    w.run_until([&] { return w.server.ends == 2; });
  }
}

TEST_CASE("http2 links: a whole answer is read to its end after its connection has ended") {
  World w;
  PoolOptions options;
  bool ends_idle = true;
  SECTION("for it was idle") {
    options.idle_timeout = milliseconds(30);
  }
  SECTION("for the server closed it") {
    ends_idle = false;
  }
  w.make(options);
  w.server.answers_all = false;
  Asker slow(*w.pool);
  w.run_until([&] { return w.server.asked.size() == 1; });
  slow.transfer->pause();
  auto [peer, id] = w.server.asked[0];
  constexpr size_t kSize = 100 * 1024;
  peer->answer(id, std::string(kSize, 'x'));
  w.run_until([&] { return w.pool->idle() == 1; });
  if (!ends_idle) peer->stream->close();
  w.run_until([&] { return w.pool->idle() == 0; });
  CHECK(slow.body.empty());
  slow.transfer->resume();
  w.run_until([&] { return slow.over; });
  CHECK(slow.body.size() == kSize);
}

TEST_CASE("http2 links: a connection in doubt that answers takes what has waited meanwhile") {
  World w;
  PoolOptions options;
  options.most_connections = 1;
  options.connect_timeout = milliseconds(4000);
  w.make(options);
  w.warm();
  w.server.answers_all = false;
  auto silent = w.ask(1);
  w.run_until([&] { return w.server.asked.size() == 2; });
  w.server.peers[0]->stream->pause_reading();
  const auto since = w.loop.now();
  w.run_until([&] { return w.loop.now() - since > milliseconds(1100); });
  silent[0]->leave();
  const auto next = w.ask(1);
  w.run_until([&] { return w.loop.now() - since > milliseconds(1200); });
  CHECK(next[0]->sent == 0);
  w.server.answers_all = true;
  w.server.peers[0]->stream->start_reading();
  w.run_all(next);
  CHECK(next[0]->body == "ok");
  CHECK(w.server.peers.size() == 1);
}

TEST_CASE("http2 links: a connection without a stream for calls that were given up ends") {
  World w;
  PoolOptions options;
  options.most_connections = 1;
  w.make(options);
  w.warm();
  w.server.answers_all = false;
  FrameServer::Peer& peer = *w.server.peers[0];
  auto all = asked_without_room(w);
  w.run_until([&] { return w.pool->full(); });
  all.clear();
  peer.stream->start_reading();
  w.run_until([&] { return w.server.ends == 1; });
  w.server.answers_all = true;
  const auto next = w.ask(1);
  w.run_all(next);
  CHECK(next[0]->body == "ok");
}

TEST_CASE("http2 links: what the server did not process is repeated once, on a new connection too") {
  struct Observer final : PoolObserver {
    void on_response(const http::ResponseInfo&) override { ++responses; }
    void on_broken(const core::Failure&) override { ++broken; }
    int responses = 0, broken = 0;
  } seen;
  const bool is_refused = GENERATE(true, false), is_answered = GENERATE(true, false);
  World w;
  w.make();
  w.pool->observe(seen);
  w.server.answers_all = false;
  Asker one(*w.pool);
  w.run_until([&] { return w.server.asked.size() == 1; });
  auto [peer, id] = w.server.asked[0];
  if (is_refused) {
    peer->reset(id, NGHTTP2_REFUSED_STREAM);
  } else {  // above the last stream of a GOAWAY
    nghttp2_submit_goaway(peer->session.raw(), NGHTTP2_FLAG_NONE, 0, NGHTTP2_NO_ERROR, nullptr, 0);
    peer->flush();
  }
  w.run_until([&] { return w.server.asked.size() == 2; });
  CHECK(w.server.peers.size() == 2);
  CHECK(seen.broken == 0);
  std::tie(peer, id) = w.server.asked[1];
  CHECK(peer->bodies[id] == "{}");
  if (is_answered) {
    peer->answer(id, "ok");
    w.run_until([&] { return one.over; });
    CHECK(one.body == "ok");
    CHECK(seen.broken == 0);
  } else {
    peer->reset(id, NGHTTP2_REFUSED_STREAM);
    w.run_until([&] { return one.over; });
    CHECK(one.fault.nothing_sent);
    CHECK(seen.broken == 1);
  }
  CHECK(w.server.asked.size() == 2);
}

TEST_CASE("http2 links: a server on a lost machine is noticed, with a call on its way to it") {
  World w;
  PoolOptions options;
  options.quiet = milliseconds(100);
  w.make(options);
  w.warm();
  w.server.answers_all = false;
  const auto listen = w.ask(1);
  w.run_until([&] { return w.server.asked.size() == 2; });
  // The kernel throws away what comes for it, and acknowledges nothing.
  const int gone = w.server.peers[0]->stream->detach(nullptr);
  REQUIRE(gone >= 0);
  sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
  const sock_fprog program{1, &nothing};
  REQUIRE(setsockopt(gone, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0);
  const auto call = w.ask(1);
  w.run_until([&] { return listen[0]->over && call[0]->over; });
  for (const Asker* one : {listen[0].get(), call[0].get()}) {
    CHECK(one->fault.reason == mcp::EndReason::upstream_unreachable);
    CHECK(one->fault.text == "broke the connection: Connection timed out");
    CHECK_FALSE(one->fault.nothing_sent);
  }
  ::close(gone);
}

}  // namespace lineward::upstream
