// The contract of proxy/core/reply_stream.h, for clients that take nothing.
#include "proxy/client/http/http_reply.h"

#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <string>

#include "foundation/net/byte_stream.h"
#include "foundation/net/loop.h"
#include "proxy/client/http/client_connection.h"
#include "proxy/client/session/session.h"

using namespace lineward;
using std::chrono::milliseconds;

namespace {

// A client that has asked something and reads no byte of what it gets.
struct DeafClient final : client::RequestHandler {
  DeafClient() {
    int ends[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
    const int small = 4096;
    REQUIRE(setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small) == 0);
    far = ends[1];
    auto stream = net::ByteStream::from_socket(loop, ends[0]);
    REQUIRE(stream);
    connection = std::make_unique<client::ClientConnection>(loop, limits, *this, std::move(*stream), "test");
    const std::string request = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n";
    REQUIRE(write(far, request.data(), request.size()) == static_cast<ssize_t>(request.size()));
    loop.run();
    REQUIRE(asked);
  }
  ~DeafClient() {
    connection.reset();
    turn();
    ::close(far);
  }
  void on_request(client::ClientConnection&, std::string) override {
    asked = true;
    loop.stop();
  }
  void on_http2(client::ClientConnection&, std::string_view) override {}
  void on_client_left(client::ClientConnection&) override { ++closed; }
  client::HeadVerdict on_head(client::ClientConnection& from) override {
    from.begin_head({});
    return client::HeadVerdict::invited;
  }
  bool draining() const override { return false; }
  void on_full() override {}

  void turn() {
    loop.defer([this] { loop.stop(); });
    loop.run();
  }
  client::ReplyOptions options() const {
    client::ReplyOptions out;
    out.max_backlog_bytes = 1024;
    return out;
  }

  net::Loop loop;
  config::Listen limits;
  int far = -1;
  std::unique_ptr<client::ClientConnection> connection;
  bool asked = false;
  int closed = 0;
};

}  // namespace

TEST_CASE("a reply reports a client that takes nothing after what runs, not from inside send") {
  DeafClient deaf;
  int gone = 0;
  auto reason = mcp::EndReason::ok;
  client::HttpReply reply(deaf.loop, *deaf.connection, deaf.options(), [&](mcp::EndReason why) {
    ++gone;
    reason = why;
  });
  bool inside = false;
  for (int i = 0; i < 1000 && reply.can_send(); ++i) {
    reply.send(std::string(1000, 'x'));
    inside = inside || gone > 0;
  }
  CHECK(!inside);
  CHECK(!reply.can_send());
  CHECK(reply.lost() == mcp::EndReason::client_too_slow);
  const uint64_t bytes = reply.bytes_out();
  reply.send("swallowed");
  CHECK(reply.bytes_out() == bytes);
  CHECK(deaf.closed == 0);
  deaf.turn();
  CHECK(gone == 1);
  CHECK(reason == mcp::EndReason::client_too_slow);
  CHECK(deaf.closed == 1);
}

TEST_CASE("a reply that is finished after the loss of its client cuts the connection and reports nothing") {
  for (int way = 0; way < 3; ++way) {
    DeafClient deaf;
    int gone = 0;
    client::HttpReply reply(deaf.loop, *deaf.connection, deaf.options(), [&](mcp::EndReason) { ++gone; });
    for (int i = 0; i < 1000 && reply.can_send(); ++i)
      reply.send(std::string(1000, 'x'));
    REQUIRE(reply.lost());
    if (way == 0) reply.finish("the answer", 200);
    if (way == 1) reply.finish_empty();
    if (way == 2) reply.cut();
    CHECK(gone == 0);
    CHECK(deaf.closed == 1);
    deaf.turn();
    CHECK(gone == 0);
    CHECK(deaf.closed == 1);
  }
}

TEST_CASE("a reply that dies with word of its client's leaving still to be told tells nothing") {
  DeafClient deaf;
  int gone = 0;
  auto reply = std::make_unique<client::HttpReply>(deaf.loop, *deaf.connection, deaf.options(),
                                                   [&](mcp::EndReason) { ++gone; });
  for (int i = 0; i < 1000 && reply->can_send(); ++i)
    reply->send(std::string(1000, 'x'));
  REQUIRE(reply->lost());
  reply.reset();
  deaf.turn();
  CHECK(gone == 0);
  CHECK(deaf.closed == 1);
}

TEST_CASE("a session's stream with a lost client can be resumed from nowhere, finished or not") {
  for (int way = 0; way < 3; ++way) {
    DeafClient deaf;
    int gone = 0, over = 0;
    const std::string place;
    auto events = std::make_shared<client::EventStore>();
    events->trim = [](client::SessionStream&) {};
    {
      client::SessionStream stream(
          deaf.loop, 1, place, events, milliseconds(60000), [&](mcp::EndReason) { ++gone; },
          [&](uint32_t) { ++over; }, [](uint32_t) {});
      stream.attach(std::make_unique<client::HttpReply>(
          deaf.loop, *deaf.connection, deaf.options(), [&](mcp::EndReason why) { stream.client_left(why); }));
      bool sent = true;
      for (int i = 0; i < 1000 && sent; ++i)
        sent = stream.send(std::string(1000, 'x'));
      CHECK(!sent);
      CHECK(gone == 0);
      if (way == 1) stream.finish("the answer", 200);
      if (way == 2) stream.finish_empty();
      CHECK(gone == 0);
      deaf.turn();
      CHECK(gone == (way == 0 ? 1 : 0));
      CHECK(over == (way == 0 ? 1 : 0));  // else it lingers, although no client can resume it
      if (way != 0) CHECK(!stream.can_resume(1));
    }
    deaf.turn();
  }
}

TEST_CASE("what waits for a stream gives way to what is newer, says which questions, and can be taken back") {
  net::Loop loop;
  config::Listen limits;
  client::Session session(loop, limits, "id", "p", "s");
  CHECK(session.keep_for_stream("first", 1).messages == 0);
  CHECK(session.keep_for_stream("second", 2).messages == 0);
  CHECK(session.take_back(1));
  CHECK(!session.take_back(1));
  for (int i = 0; i < 255; ++i)
    CHECK(session.keep_for_stream("more").messages == 0);
  auto dropped = session.keep_for_stream("one too many", 3);
  CHECK(dropped.messages == 1);
  CHECK(dropped.questions == std::vector<int64_t>{2});
  CHECK(session.keep_for_stream(std::string(2 << 20, 'x')).questions == std::vector<int64_t>{3});
  CHECK(!session.take_back(3));
}
