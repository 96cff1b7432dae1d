#include <nghttp2/nghttp2.h>

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "protocol/http2/session.h"
#include "proxy/client/http2/channel.h"
#include "proxy/client/http2/http2_connection.h"
#include "unit/proxy/client/http/far_client.h"

using namespace lineward;
using namespace lineward::client;

namespace {

// A client of HTTP/2 that asks for one path again and again, and a worker at the far end of its relay.
struct RelayWorld final : http2::SessionEvents, Http2Owner {
  RelayWorld() {
    nghttp2_submit_settings(session.raw(), NGHTTP2_FLAG_NONE, nullptr, 0);
    connection->begin({});
  }
  ~RelayWorld() {
    if (far >= 0) ::close(far);
    connection->cut();
    connection.reset();
    channels.clear();
    turn(loop);
  }
  void on_head_begins(int32_t, bool) override {}
  bool on_field(int32_t, bool, std::string_view, std::string_view) override { return true; }
  void on_head(int32_t, bool, bool) override {}
  void on_body(int32_t id, std::string_view bytes) override {
    nghttp2_session_consume(session.raw(), id, bytes.size());
  }
  void on_body_end(int32_t) override {}
  void on_body_taken(int32_t) override {}
  void on_end_sent(int32_t) override {}
  void on_stream_closed(int32_t id, uint32_t code) override { closed[id] = code; }
  bool on_channel(Http2Connection&, std::unique_ptr<Channel> channel) override {
    channels.push_back(std::move(channel));
    return true;
  }
  void on_closed(Http2Connection&) override {}

  void exchange() {
    for (std::string_view out = session.output(); !out.empty(); out = session.output())
      client.send(std::string(out));
    const std::string& all = client.received();
    const std::string fresh = all.substr(fed);
    fed = all.size();
    if (!fresh.empty()) CHECK_FALSE(session.feed(fresh, loop.now()));
  }
  int32_t ask() {
    const std::array<nghttp2_nv, 4> head{
        {http2::Session::field(":method", "GET"), http2::Session::field(":scheme", "http"),
         http2::Session::field(":authority", "a"), http2::Session::field(":path", "/mcp")}};
    return nghttp2_submit_request(session.raw(), nullptr, head.data(), head.size(), nullptr, nullptr);
  }
  void run(const std::function<bool()>& met) {
    run_until(loop, [&] {
      exchange();
      return met();
    });
  }
  // The first request goes to the other worker, which answers it.
  void move() {
    const int32_t id = ask();
    run([&] { return !channels.empty(); });
    run([&] { return (far = channels.front()->detach(nullptr)) >= 0; });
    const std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    REQUIRE(write(far, answer.data(), answer.size()) == static_cast<ssize_t>(answer.size()));
    run([&] { return closed.count(id) > 0; });
    CHECK(closed[id] == NGHTTP2_NO_ERROR);
  }
  // The far worker closes the relay, with or without having read the request.
  uint32_t ask_and_close(bool reads) {
    const int32_t id = ask();
    char byte = 0;
    run([&] { return recv(far, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1; });
    std::array<char, 4096> all{};
    if (reads) CHECK(recv(far, all.data(), all.size(), MSG_DONTWAIT) > 0);
    ::close(std::exchange(far, -1));
    run([&] { return closed.count(id) > 0; });
    CHECK(channels.size() == 1);  // it went over the relay
    return closed[id];
  }

  net::Loop loop;
  config::Listen limits;
  FarClient client{loop};
  http2::Session session{http2::Session::Side::client, *this, 16 * 1024};
  std::unique_ptr<Http2Connection> connection =
      std::make_unique<Http2Connection>(loop, limits, static_cast<Http2Owner&>(*this), client.take_stream(),
                                        "10.0.0.1:1", account_of(nullptr, "10.0.0.1:1"));
  std::vector<std::unique_ptr<Channel>> channels;
  int far = -1;
  size_t fed = 0;
  std::map<int32_t, uint32_t> closed;  // streams, with their codes
};

}  // namespace

TEST_CASE("a stream may be sent again if another worker closed its relay and did not read the request") {
  RelayWorld world;
  world.move();
  CHECK(world.ask_and_close(false) == NGHTTP2_REFUSED_STREAM);
}

TEST_CASE("a stream may not be sent again if another worker read the request and closed its relay") {
  RelayWorld world;
  world.move();
  CHECK(world.ask_and_close(true) == NGHTTP2_INTERNAL_ERROR);
}
