// The streams of a session with a legacy HTTP server, against one that says what it is told to.
#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "proxy/upstream/http/server_stream.h"
#include "unit/foundation/net/scripted_server.h"

using namespace lineward;
using namespace lineward::upstream;

namespace {

using Server = net::ScriptedServer;

struct Session final : ServerStreamCallbacks {
  net::Loop& loop;
  std::vector<std::string> told;
  bool streams = true;
  explicit Session(net::Loop& its_loop) : loop(its_loop) {}
  void tell(std::string what) {
    told.push_back(std::move(what));
    loop.stop();
  }
  Headers headers(HttpVerb) const override { return {}; }
  void take_cookies(const http::ResponseInfo&) override {}
  bool is_ready() const override { return true; }
  bool may_stream() const override { return streams; }
  bool check_lost(const MessagesEnd& end) override {
    if (end.status == 404) tell("lost");
    return end.status == 404;
  }
  void hear(mcp::Message message, HttpCall*) override { tell(std::string(message.method())); }
  void refuse_malformed(const mcp::MessageFault&) override { tell("malformed"); }
  void on_stream_news(StreamNews news) override {
    switch (news) {
      case StreamNews::settled: return tell("settled");
      case StreamNews::missed: return tell("missed");
      case StreamNews::sse_connected: return tell("connected");
      case StreamNews::sse_ended: return tell("ended");
    }
  }
  void on_sse_failed(const MessagesEnd& end) override { tell("failed: " + end.fault.text); }
};

const std::string kStream = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
const std::string kNoStream = "HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n";
const std::string kChanged =
    "id: 7\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n";

using Told = std::vector<std::string>;

}  // namespace

TEST_CASE("the streams of a session with a legacy HTTP server") {
  net::Loop loop;
  {
    Server server(loop);
    config::Server options;
    options.name = "files";
    options.timeouts.startup = std::chrono::milliseconds(5000);
    auto url = parse_http_url("http://" + server.listener->address() + "/mcp");
    REQUIRE(url);
    HttpPool pool(loop, *url, nullptr, {});
    Session session(loop);

    SECTION("the stream on which the server speaks by itself is waited for, and heard") {
      server.script = {kStream + kChanged};
      ServerStream stream(pool, options, session);
      CHECK_FALSE(stream.is_pending());
      stream.start();
      CHECK(stream.is_pending());
      while (session.told.size() < 2)
        loop.run();
      CHECK(session.told == Told{"settled", "notifications/tools/list_changed"});
      CHECK_FALSE(stream.is_pending());
      stream.close();
    }
    SECTION("one in the place of one that ended says what was missed; later where it has just said so") {
      const std::string ends = "last:" + kStream + "retry: 1\n\n";
      server.script = {ends, ends, kStream + kChanged};
      ServerStream stream(pool, options, session);
      stream.start();
      while (session.told.size() < 4)
        loop.run();
      CHECK(session.told == Told{"settled", "missed", "notifications/tools/list_changed", "missed"});
      stream.close();
    }
    SECTION("one that goes on behind an event id misses nothing") {
      server.script = {"last:" + kStream + "retry: 1\n" + kChanged, kStream + kChanged};
      ServerStream stream(pool, options, session);
      stream.start();
      while (session.told.size() < 3)
        loop.run();
      CHECK(session.told.back() == "notifications/tools/list_changed");
      CHECK(server.heard.find("Last-Event-ID: 7") != std::string::npos);
      stream.close();
    }
    SECTION("a server may offer none") {
      server.script = {kNoStream};
      ServerStream stream(pool, options, session);
      stream.start();
      loop.run();
      CHECK(session.told == Told{"settled"});
      CHECK_FALSE(stream.is_pending());
    }
    SECTION("that of a shared session is there only while it is wanted") {
      server.script = {kStream};
      ServerStream stream(pool, options, session);
      stream.share();
      stream.start();
      CHECK_FALSE(stream.is_pending());
      stream.want();
      CHECK(stream.is_pending());
      stream.let_go();
      CHECK_FALSE(stream.is_pending());
      CHECK(session.told == Told{"settled"});
      session.streams = false;
      stream.want();
      CHECK_FALSE(stream.is_pending());  // until the session may have one
      session.streams = true;
      stream.start();
      CHECK(stream.is_pending());
      stream.close();
    }
    SECTION("HTTP+SSE is there when it has named its endpoint, and over with its stream") {
      server.script = {kStream + "event: endpoint\ndata: /post?session=1\n\n"};
      ServerStream sse(pool, options, session);
      sse.connect_sse();
      CHECK(sse.endpoint().empty());
      loop.run();
      REQUIRE(session.told == Told{"connected"});
      CHECK(sse.endpoint() == "/post?session=1");
      server.peers.at(0)->stream->close();
      loop.run();
      CHECK(session.told == Told{"connected", "ended"});
    }
    SECTION("an endpoint elsewhere is not used") {
      server.script = {kStream + "event: endpoint\ndata: http://elsewhere.example/post\n\n"};
      ServerStream sse(pool, options, session);
      sse.connect_sse();
      loop.run();
      REQUIRE(session.told.size() == 1);
      CHECK(session.told[0].rfind("failed: named an endpoint that is not used", 0) == 0);
      CHECK(sse.endpoint().empty());
    }
    SECTION("nor is an answer that is no stream one of HTTP+SSE") {
      server.script = {kNoStream};
      ServerStream sse(pool, options, session);
      sse.connect_sse();
      loop.run();
      REQUIRE(session.told.size() == 1);
      CHECK(session.told[0].rfind("failed: ", 0) == 0);
    }
  }
  loop.close_all();
}
