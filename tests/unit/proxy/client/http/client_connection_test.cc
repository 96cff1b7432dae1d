#include "proxy/client/http/client_connection.h"

#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "foundation/base/memory_charge.h"
#include "foundation/net/byte_stream.h"
#include "foundation/net/loop.h"
#include "protocol/http/request_parser.h"

using namespace lineward;
using std::chrono::milliseconds;

namespace {

// A front that answers the first request. Further requests are all another worker's, and cannot be moved
// there before the answer is out.
struct Front final : client::RequestHandler {
  explicit Front(net::Loop& its_loop) : loop(its_loop) {}
  void on_request(client::ClientConnection& connection, std::string) override {
    connection.respond(200, "text/plain", std::string(answer_bytes, 'x'));
    answered = true;
  }
  void on_http2(client::ClientConnection&, std::string_view) override {}
  void on_client_left(client::ClientConnection&) override {
    closed = true;
    loop.stop();
  }
  client::HeadVerdict on_head(client::ClientConnection& from) override {
    if (answered && from.backlog() > 0) ++asked_with_backlog;
    if (answered) return client::HeadVerdict::elsewhere;
    from.begin_head({});
    return client::HeadVerdict::invited;
  }
  bool draining() const override { return false; }
  void on_full() override {}

  net::Loop& loop;
  size_t answer_bytes = 0;
  bool answered = false, closed = false;
  int asked_with_backlog = 0;
};

}  // namespace

TEST_CASE("a client that does not take its answer holds no connection that another worker waits for") {
  net::Loop loop;
  int ends[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
  const int small = 4096;
  REQUIRE(setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small) == 0);
  Front front(loop);
  front.answer_bytes = 60'000;  // more than the socket takes, and less than stops the next request
  config::Listen limits;
  limits.write_timeout = milliseconds(50);
  auto stream = net::ByteStream::from_socket(loop, ends[0]);
  REQUIRE(stream);
  {
    client::ClientConnection connection(loop, limits, front, std::move(*stream), "test");
    const std::string request = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n";
    const std::string both = request + request;
    REQUIRE(write(ends[1], both.data(), both.size()) == static_cast<ssize_t>(both.size()));
    net::Timer late(loop);
    late.start(milliseconds(60000), [&] { loop.stop(); });
    loop.run();
    CHECK(front.answered);
    CHECK(front.asked_with_backlog > 0);
    CHECK(front.closed);
  }
  close(ends[1]);
}

TEST_CASE(
    "when too much is held, room is made before a request is judged, and a connection cut for it has no "
    "request") {
  struct Full final : client::RequestHandler {
    void on_request(client::ClientConnection& connection, std::string) override {
      said += "request ";
      connection.respond(204, {}, {});
    }
    void on_http2(client::ClientConnection&, std::string_view) override {}
    void on_client_left(client::ClientConnection&) override { said += "closed "; }
    client::HeadVerdict on_head(client::ClientConnection& from) override {
      from.begin_head({});
      return client::HeadVerdict::invited;
    }
    bool draining() const override { return false; }
    void on_full() override {}
    void on_request_while_full() override {
      said += "room ";
      if (cut) the_one->cut(mcp::EndReason::client_too_slow);
    }
    std::string said;
    client::ClientConnection* the_one = nullptr;
    bool cut = false;
  };
  const std::string request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  struct Row {
    size_t held;
    bool cut;
    std::string said;
  };
  for (const Row& row : {Row{900'000, false, "request "}, Row{960'000, false, "room request "},
                         Row{960'000, true, "room closed "}}) {
    INFO(row.held << " " << row.cut);
    net::Loop loop;
    int ends[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
    Full front;
    front.cut = row.cut;
    config::Listen limits;
    limits.max_buffered_bytes = MemoryCharge::total() + 1'000'000;
    MemoryCharge held;
    held.set(row.held);
    auto stream = net::ByteStream::from_socket(loop, ends[0]);
    REQUIRE(stream);
    {
      client::ClientConnection connection(loop, limits, front, std::move(*stream), "test");
      front.the_one = &connection;
      REQUIRE(write(ends[1], request.data(), request.size()) == static_cast<ssize_t>(request.size()));
      net::Timer late(loop);
      late.start(milliseconds(60000), [&] { loop.stop(); });
      net::Timer look(loop);
      std::function<void()> again = [&] {
        if (front.said.size() >= row.said.size()) return loop.stop();
        look.start(milliseconds(1), again);
      };
      look.start(milliseconds(1), again);
      loop.run();
      CHECK(front.said == row.said);
    }
    close(ends[1]);
  }
}

TEST_CASE("what follows from a head is kept as long as it is repeated, and no longer") {
  struct Noting final : client::RequestHandler {
    explicit Noting(net::Loop& its_loop) : loop(its_loop) {}
    void on_request(client::ClientConnection& connection, std::string) override {
      client::HeadFacts& facts = connection.facts();
      seen.push_back(facts);
      facts.paths = seen.size();  // to be seen again by those that have the same
      connection.respond(204, {}, {});
      if (seen.size() == 6) loop.stop();
    }
    void on_http2(client::ClientConnection&, std::string_view) override {}
    void on_client_left(client::ClientConnection&) override { loop.stop(); }
    client::HeadVerdict on_head(client::ClientConnection& from) override {
      from.begin_head({});
      return client::HeadVerdict::invited;
    }
    bool draining() const override { return false; }
    void on_full() override {}
    net::Loop& loop;
    std::vector<client::HeadFacts> seen;
  };
  auto request = [](const std::string& type, const std::string& accept, const std::string& wait,
                    const std::string& body) {
    return "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Type: " + type + "\r\nAccept: " + accept +
           "\r\nPrefer: wait=" + wait + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
           body;
  };
  net::Loop loop;
  int ends[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
  const std::string json = "application/json", events = "text/event-stream";
  const std::string all = request(json, json, "1", "12") + request(json, json, "1", "345") +  // the same
                          request(json, json, "2", "12") + request(json, events, "2", "12") +
                          request("text/plain", events, "2", "12") + request(json, json, "1", "12");
  REQUIRE(write(ends[1], all.data(), all.size()) == static_cast<ssize_t>(all.size()));
  Noting front(loop);
  config::Listen limits;
  auto stream = net::ByteStream::from_socket(loop, ends[0]);
  REQUIRE(stream);
  {
    client::ClientConnection connection(loop, limits, front, std::move(*stream), "test");
    net::Timer late(loop);
    late.start(milliseconds(60000), [&] { loop.stop(); });
    loop.run();
  }
  close(ends[1]);
  REQUIRE(front.seen.size() == 6);
  const std::vector<uint64_t> paths = {0, 1, 0, 0, 0, 0};
  const std::vector<int> waits = {1, 1, 2, 2, 2, 1};
  for (size_t i = 0; i < 6; ++i) {
    INFO("request " << i);
    const client::HeadFacts& facts = front.seen[i];
    CHECK(facts.paths == paths[i]);
    CHECK(facts.wait == std::chrono::seconds(waits[i]));
    CHECK(facts.takes.json == (i != 3 && i != 4));
    CHECK(facts.takes.events == (i == 3 || i == 4));
    CHECK(facts.fit_to_post == (i != 4));
  }
}

TEST_CASE("with many parsers in use a connection without a request rests at once, and ends in its time") {
  http::RequestLimits request_limits;
  std::vector<std::unique_ptr<http::RequestParser>> others;
  for (int i = 0; i < 300; ++i) {
    others.push_back(std::make_unique<http::RequestParser>(request_limits));
    others.back()->append("G");
  }
  const size_t before = http::RequestParser::in_use();
  CHECK(before >= 300);
  net::Loop loop;
  int ends[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
  const std::string request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  REQUIRE(write(ends[1], request.data(), request.size()) == static_cast<ssize_t>(request.size()));
  Front front(loop);
  config::Listen limits;
  limits.idle_timeout = milliseconds(5500);
  auto stream = net::ByteStream::from_socket(loop, ends[0]);
  REQUIRE(stream);
  {
    client::ClientConnection connection(loop, limits, front, std::move(*stream), "test");
    const milliseconds begun = loop.now();
    milliseconds rested{0};
    net::Timer look(loop), late(loop);
    std::function<void()> again = [&] {
      if (front.answered && http::RequestParser::in_use() == before && rested.count() == 0)
        rested = loop.now() - begun;
      if (!front.closed) look.start(milliseconds(5), again);
    };
    again();
    late.start(milliseconds(60000), [&] { loop.stop(); });
    loop.run();
    CHECK(front.closed);
    CHECK(rested.count() > 0);
    CHECK(rested < milliseconds(3000));
    CHECK(loop.now() - begun >= milliseconds(5400));
  }
  close(ends[1]);
}
