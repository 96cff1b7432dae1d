#include "proxy/client/http/connection_table.h"

#include <memory>
#include <string>
#include <vector>

#include "foundation/base/memory_charge.h"
#include "unit/proxy/client/http/far_client.h"

using namespace lineward;
using namespace lineward::client;

namespace {

// A front that answers each request with as many bytes as its path says.
struct Answering final : RequestHandler {
  explicit Answering(config::Listen its_limits = {}) : limits(std::move(its_limits)) {}
  ~Answering() {
    table.close_all();
    turn(loop);
  }
  void on_request(ClientConnection& connection, std::string) override {
    const std::string path(connection.head().path.substr(1));
    connection.respond(200, "text/plain", std::string(path.empty() ? 0 : std::stoul(path), 'x'));
    ++answered;
  }
  void on_http2(ClientConnection&, std::string_view) override {}
  void on_client_left(ClientConnection& connection) override { table.remove(connection); }
  HeadVerdict on_head(ClientConnection& from) override {
    if (home != nullptr) {
      if (auto moved = table.move_out(from)) home->adopt(std::move(*moved));
      return HeadVerdict::elsewhere;
    }
    from.begin_head({});
    return HeadVerdict::invited;
  }
  bool draining() const override { return false; }
  void on_full() override {}

  net::Loop loop;
  config::Listen limits;
  std::shared_ptr<ConnectionCaps> caps = std::make_shared<ConnectionCaps>();
  ConnectionTable table{loop, limits, *this, caps};
  ConnectionTable* home = nullptr;  // of every request; null: here
  int answered = 0;
};

std::string asking_for(const std::string& path) {
  return "GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n";
}

uint64_t refused(metrics::Overload why) {
  return metrics::stats().overload[static_cast<size_t>(why)];
}

}  // namespace

TEST_CASE("a connection that is one too many is closed at once, until another has left") {
  config::Listen limits;
  limits.max_connections = 2;
  limits.max_connections_per_address = 2;
  Answering front(limits);
  FarClient first(front.loop), second(front.loop), third(front.loop), fourth(front.loop);
  const uint64_t before = refused(metrics::Overload::connections);
  front.table.accept(first.take_stream(), "10.0.0.1:1");
  front.table.accept(second.take_stream(), "10.0.0.2:1");
  front.table.accept(third.take_stream(), "10.0.0.3:1");
  CHECK(front.table.size() == 2);
  CHECK(refused(metrics::Overload::connections) == before + 1);
  run_until(front.loop, [&] { return third.closed(); });
  CHECK_FALSE(first.closed());

  first.leave();
  run_until(front.loop, [&] { return front.table.size() == 1; });
  front.table.accept(fourth.take_stream(), "10.0.0.3:1");
  CHECK(front.table.size() == 2);
  CHECK(front.caps->total() == 2);
  CHECK(front.table.take_most() == 2);
}

TEST_CASE("one address has no more connections than its share") {
  config::Listen limits;
  limits.max_connections_per_address = 1;
  Answering front(limits);
  FarClient first(front.loop), second(front.loop), other(front.loop);
  const uint64_t before = refused(metrics::Overload::address);
  front.table.accept(first.take_stream(), "10.0.0.1:1");
  front.table.accept(second.take_stream(), "10.0.0.1:2");
  front.table.accept(other.take_stream(), "10.0.0.2:1");
  CHECK(front.table.size() == 2);
  CHECK(refused(metrics::Overload::address) == before + 1);
  run_until(front.loop, [&] { return second.closed(); });
}

TEST_CASE("a connection that moves to another table is counted once, and answered there") {
  Answering front;
  struct Home final {
    explicit Home(Answering& its_front) : front(its_front) { front.home = &table; }
    ~Home() {
      table.close_all();
      turn(front.loop);
    }
    struct Handler final : RequestHandler {
      explicit Handler(Home& its_home) : home(its_home) {}
      void on_request(ClientConnection& connection, std::string) override {
        connection.respond(200, "text/plain", "at home");
      }
      void on_http2(ClientConnection&, std::string_view) override {}
      void on_client_left(ClientConnection& connection) override { home.table.remove(connection); }
      HeadVerdict on_head(ClientConnection& from) override {
        from.begin_head({});
        return HeadVerdict::invited;
      }
      bool draining() const override { return false; }
      void on_full() override {}
      Home& home;
    };
    Answering& front;
    Handler handler{*this};
    ConnectionTable table{front.loop, front.limits, handler, front.caps};
  };
  Home home(front);
  FarClient client(front.loop);
  front.table.accept(client.take_stream(), "10.0.0.1:1");
  client.send(asking_for("/"));
  run_until(front.loop, [&] { return client.received().find("at home") != std::string::npos; });
  CHECK(front.answered == 0);
  CHECK(front.table.size() == 0);
  CHECK(home.table.size() == 1);
  CHECK(front.caps->total() == 1);
  client.leave();
  run_until(front.loop, [&] { return home.table.size() == 0; });
  CHECK(front.caps->total() == 0);
}

TEST_CASE("when too much waits for clients, the client that takes least of it makes room first") {
  config::Listen limits;
  limits.max_buffered_bytes = MemoryCharge::total() + 700'000;
  Answering front(limits);
  FarClient greedy(front.loop, 4096), modest(front.loop, 4096), idle(front.loop);
  front.table.accept(greedy.take_stream(), "10.0.0.1:1");
  front.table.accept(modest.take_stream(), "10.0.0.2:1");
  front.table.accept(idle.take_stream(), "10.0.0.3:1");
  greedy.send(asking_for("/500000"));
  modest.send(asking_for("/300000"));
  run_until(front.loop, [&] { return front.answered == 2; });
  CHECK(front.table.backlog() > 700'000);
  const uint64_t before = refused(metrics::Overload::backlog);
  front.table.make_room_later();
  CHECK(front.table.size() == 3);  // not before the end of the turn
  turn(front.loop);
  CHECK(front.table.size() == 2);
  CHECK(refused(metrics::Overload::backlog) == before + 1);
  CHECK(front.table.backlog() > 200'000);
  run_until(front.loop, [&] { return greedy.closed(); });
  CHECK_FALSE(idle.closed());
}

TEST_CASE("room that is made for a request is made at once, and once in a turn") {
  config::Listen limits;
  limits.max_buffered_bytes = MemoryCharge::total() + 700'000;
  Answering front(limits);
  FarClient greedy(front.loop, 4096), modest(front.loop, 4096);
  front.table.accept(greedy.take_stream(), "10.0.0.1:1");
  front.table.accept(modest.take_stream(), "10.0.0.2:1");
  greedy.send(asking_for("/500000"));
  modest.send(asking_for("/300000"));
  run_until(front.loop, [&] { return front.answered == 2; });
  front.table.make_room_now();
  CHECK(front.table.size() == 1);
  MemoryCharge more;
  more.set(700'000);
  front.table.make_room_now();
  CHECK(front.table.size() == 1);
  turn(front.loop);  // which looks again
  CHECK(front.table.size() == 0);
}

TEST_CASE("idle connections are closed a while after they were asked to be, others when all is closed") {
  Answering front;
  FarClient idle(front.loop), busy(front.loop);
  front.table.accept(idle.take_stream(), "10.0.0.1:1");
  front.table.accept(busy.take_stream(), "10.0.0.2:1");
  busy.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n");
  CHECK(front.table.idle() == 2);
  front.table.close_idle_soon();
  CHECK(front.table.size() == 2);
  run_until(front.loop, [&] { return idle.closed(); });
  CHECK(front.table.size() == 1);
  CHECK_FALSE(busy.closed());
  front.table.close_all();
  CHECK(front.table.size() == 0);
}

namespace {

config::Listen behind_proxies(config::ProxyProtocol how) {
  config::Listen limits;
  limits.trusted_proxies = {"10.0.0.0/8"};
  limits.proxy_protocol = how;
  limits.max_connections_per_address = 2;
  limits.head_timeout = std::chrono::milliseconds(300);
  return limits;
}

uint64_t headers(metrics::ProxyHeader how) {
  return metrics::stats().proxy_headers[static_cast<size_t>(how)];
}

}  // namespace

TEST_CASE("a connection of a trusted proxy is its client's, and the bytes behind the header are its own") {
  Answering front(behind_proxies(config::ProxyProtocol::trusted));
  FarClient proxied(front.loop), plain(front.loop), more(front.loop), one_too_many(front.loop);
  front.table.accept(proxied.take_stream(), "10.0.0.1:1");
  CHECK(front.table.size() == 0);
  CHECK(front.table.idle() == 1);
  proxied.send("PROXY TCP4 192.0.2.7 10.0.0.1 4711 80\r\n" + asking_for("/3") + asking_for("/4"));
  run_until(front.loop, [&] { return front.answered == 2; });
  CHECK(front.table.size() == 1);
  // From elsewhere there is no header, and such bytes are no request.
  front.table.accept(plain.take_stream(), "192.0.2.9:1");
  plain.send("PROXY TCP4 192.0.2.8 10.0.0.1 4711 80\r\n" + asking_for("/3"));
  run_until(front.loop, [&] { return plain.received().find("400 ") != std::string::npos; });
  // It counts at the address of its client.
  front.table.accept(more.take_stream(), "192.0.2.7:1");
  CHECK(front.caps->total() == 3);
  const uint64_t before = refused(metrics::Overload::address);
  front.table.accept(one_too_many.take_stream(), "10.0.0.1:2");
  one_too_many.send("PROXY TCP4 192.0.2.7 10.0.0.1 4712 80\r\n");
  run_until(front.loop, [&] { return one_too_many.closed(); });
  CHECK(refused(metrics::Overload::address) == before + 1);
  proxied.leave();
  more.leave();
  plain.leave();
  run_until(front.loop, [&] { return front.caps->total() == 0; });
}

TEST_CASE("a proxy may speak for itself, and has no share of an address") {
  Answering front(behind_proxies(config::ProxyProtocol::required));
  const uint64_t local = headers(metrics::ProxyHeader::local);
  const uint64_t untrusted = headers(metrics::ProxyHeader::untrusted);
  std::vector<std::unique_ptr<FarClient>> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(std::make_unique<FarClient>(front.loop));
    front.table.accept(clients.back()->take_stream(), "10.0.0.1:" + std::to_string(i));
    clients.back()->send("PROXY UNKNOWN\r\n" + asking_for("/1"));
  }
  run_until(front.loop, [&] { return front.answered == 4; });
  CHECK(headers(metrics::ProxyHeader::local) == local + 4);
  FarClient stranger(front.loop);
  front.table.accept(stranger.take_stream(), "192.0.2.7:1");
  run_until(front.loop, [&] { return stranger.closed(); });
  CHECK(headers(metrics::ProxyHeader::untrusted) == untrusted + 1);
  CHECK(front.caps->total() == 4);
}

TEST_CASE("without a header in time, or with a wrong one, the connection is closed without an answer") {
  Answering front(behind_proxies(config::ProxyProtocol::trusted));
  const uint64_t bad = headers(metrics::ProxyHeader::bad), late = headers(metrics::ProxyHeader::late);
  const uint64_t local = headers(metrics::ProxyHeader::local);
  FarClient wrong(front.loop), slow(front.loop), cut(front.loop), check(front.loop);
  front.table.accept(wrong.take_stream(), "10.0.0.1:1");
  front.table.accept(slow.take_stream(), "10.0.0.1:2");
  front.table.accept(cut.take_stream(), "10.0.0.1:3");
  front.table.accept(check.take_stream(), "10.0.0.1:4");
  wrong.send(asking_for("/1"));
  slow.send("PROXY TCP4 ");
  cut.send("PROXY TCP4 ");
  cut.leave();
  check.leave();
  run_until(front.loop, [&] { return wrong.closed() && slow.closed(); });
  CHECK(wrong.received().empty());
  CHECK(slow.received().empty());
  CHECK(headers(metrics::ProxyHeader::bad) == bad + 2);
  CHECK(headers(metrics::ProxyHeader::late) == late + 1);
  CHECK(headers(metrics::ProxyHeader::local) == local + 1);
  CHECK(front.caps->total() == 0);
  CHECK(front.answered == 0);
}

TEST_CASE("connections that wait for their header end with the others") {
  Answering front(behind_proxies(config::ProxyProtocol::trusted));
  FarClient first(front.loop), second(front.loop);
  front.table.accept(first.take_stream(), "10.0.0.1:1");
  front.table.close_all();
  run_until(front.loop, [&] { return first.closed(); });
  front.table.accept(second.take_stream(), "10.0.0.1:1");
  front.table.close_idle_soon();
  run_until(front.loop, [&] { return second.closed(); });
  CHECK(front.caps->total() == 0);
}
