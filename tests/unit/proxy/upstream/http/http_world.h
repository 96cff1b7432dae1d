// The peers of the parts of an HTTP server's upstream: a server on a loopback port that the test controls,
// and callers that record their messages.
#pragma once

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "foundation/net/listener.h"
#include "proxy/upstream/http/http_upstream.h"
#include "unit/foundation/net/turns.h"
#include "unit/protocol/mcp/parse.h"
#include "unit/proxy/core/asker.h"

namespace lineward::upstream {

using core::Asker;
using mcp::parse;
using mcp::progress;

// A request as the server got it.
struct HttpAsked {
  size_t connection = 0;
  std::string method, head, body;
  bool answered = false;
  std::string rpc() const { return body.empty() ? std::string() : parse(body).method(); }
  std::string id() const { return std::string(parse(body).raw(mcp::Field::id)); }
  // As it came; empty: it is not there.
  std::string header(const std::string& name) const {
    const size_t at = head.find("\r\n" + name + ": ");
    if (at == std::string::npos) return {};
    const size_t begin = at + name.size() + 4;
    return head.substr(begin, head.find("\r\n", begin) - begin);
  }
};

class HttpFake {
 public:
  // A legacy one answers handshakes and pings by itself: sessions s-1, s-2 …; GET is held open.
  HttpFake(net::Loop& loop, mcp::Era era) : era_(era) {
    auto opened = net::Listener::open(loop, "127.0.0.1:0", [this](auto stream, std::string) {
      Peer& peer = peers_.emplace_back(*this, peers_.size());
      peer.stream = std::move(stream);
      peer.stream->set_owner(&peer);
      peer.stream->start_reading();
    });
    REQUIRE(opened);
    listener_ = std::move(*opened);
  }
  std::string url() const { return "http://" + listener_->address() + "/mcp"; }

  // Requests that the test has to answer: calls, cancels and others.
  std::vector<std::shared_ptr<HttpAsked>> asked;
  // The GET streams of sessions, in the order of their opening.
  std::vector<std::shared_ptr<HttpAsked>> streams;
  std::vector<std::string> deleted;  // sessions
  int initialized = 0;               // sessions that were opened
  bool holds_handshake = false;      // `initialize` is for the test to answer

  void respond(HttpAsked& to, int status, const std::string& body = {}, const std::string& headers = {}) {
    to.answered = true;
    write(to, "HTTP/1.1 " + std::to_string(status) + " X\r\n" + headers +
                  (body.empty() ? "" : "Content-Type: application/json\r\n") +
                  "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  }
  void result(HttpAsked& to, const std::string& result = R"({"content":[]})") {
    const std::string body = R"({"jsonrpc":"2.0","id":)" + to.id() + R"(,"result":)" + result + "}";
    to.answered ? event(to, body) : respond(to, 200, body);
    if (to.answered) end(to);
  }
  void event(HttpAsked& to, const std::string& data, const std::string& id = {}) {
    open_stream(to);
    const std::string text = (id.empty() ? "" : "id: " + id + "\n") + "data: " + data + "\n\n";
    char size[16];
    std::snprintf(size, sizeof size, "%zx", text.size());
    write(to, std::string(size) + "\r\n" + text + "\r\n");
  }
  void open_stream(HttpAsked& to) {
    if (std::exchange(to.answered, true)) return;
    streaming_.push_back(&to);
    write(to, "HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
  }
  // The stream ends in order.
  void end(const HttpAsked& to) {
    if (std::erase(streaming_, &to) > 0) write(to, "0\r\n\r\n");
  }
  void close(const HttpAsked& of) { at(of).stream->close(); }
  bool left(const HttpAsked& of) { return at(of).ended; }

 private:
  struct Peer final : net::StreamCallbacks {
    Peer(HttpFake& its_server, size_t its_number) : server(its_server), number(its_number) {}
    void on_data(std::string_view bytes) override {
      unread += bytes;
      for (size_t end = 0; (end = unread.find("\r\n\r\n")) != std::string::npos;) {
        auto one = std::make_shared<HttpAsked>();
        one->connection = number;
        one->method = unread.substr(0, unread.find(' '));
        one->head = unread.substr(0, end + 2);
        const std::string length = one->header("Content-Length");
        const size_t size = length.empty() ? 0 : std::strtoul(length.c_str(), nullptr, 10);
        if (unread.size() < end + 4 + size) return;
        one->body = unread.substr(end + 4, size);
        unread.erase(0, end + 4 + size);
        server.take(std::move(one));
      }
    }
    void on_end(int) override { ended = true; }
    HttpFake& server;
    const size_t number;
    std::unique_ptr<net::ByteStream> stream;
    std::string unread;
    bool ended = false;
  };
  Peer& at(const HttpAsked& of) { return *std::next(peers_.begin(), static_cast<ptrdiff_t>(of.connection)); }
  void write(const HttpAsked& to, std::string bytes) {
    if (!at(to).ended) at(to).stream->write(std::move(bytes));
  }
  void take(std::shared_ptr<HttpAsked> one) {
    kept_.push_back(one);
    const std::string session = one->header("Mcp-Session-Id");
    if (one->method == "DELETE") {
      deleted.push_back(session);
      return respond(*one, 200);
    }
    if (one->method == "GET" && one->header("Last-Event-ID").empty()) {
      streams.push_back(one);
      return open_stream(*one);
    }
    if (one->rpc() == "initialize" && !holds_handshake && era_ == mcp::Era::legacy) return welcome(*one);
    if (one->rpc() == "notifications/initialized") return respond(*one, 202);
    if (one->rpc() == "ping") return result(*one, "{}");
    asked.push_back(std::move(one));
  }

 public:
  void welcome(HttpAsked& to) {
    respond(
        to, 200,
        R"({"jsonrpc":"2.0","id":)" + to.id() +
            R"(,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"logging":{}},"serverInfo":{"name":"s","version":"1"}}})",
        "Mcp-Session-Id: s-" + std::to_string(++initialized) + "\r\n");
  }

 private:
  const mcp::Era era_;
  std::list<Peer> peers_;
  std::vector<std::shared_ptr<HttpAsked>> kept_;
  std::vector<const HttpAsked*> streaming_;
  std::unique_ptr<net::Listener> listener_;
};

struct HttpWorld {
  explicit HttpWorld(mcp::Era era) : fake(std::make_unique<HttpFake>(loop, era)) {
    server.name = "http";
    server.url = fake->url();
    server.protocol_era = era == mcp::Era::modern ? config::Era::modern : config::Era::legacy;
    server.restart.backoff = server.restart.max_backoff = std::chrono::milliseconds(2);
  }
  ~HttpWorld() {
    bool stopped = upstream == nullptr;
    for (auto& call : calls)
      call->cancel("the test is over");
    if (upstream) upstream->stop([&] { stopped = true; });
    CHECK(wait_for([&] { return stopped || answer_goodbyes(); }));
    upstream.reset();
    turn();
    fake.reset();
    loop.close_all();
  }
  HttpUpstream& its_upstream() {
    if (!upstream) upstream = std::make_unique<HttpUpstream>(loop, server);
    return *upstream;
  }
  core::UpstreamRequest request(mcp::Era era, const std::string& tool, const std::string& session = {}) {
    return of(era, R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":")" + tool + "\"}}",
              session);
  }
  // A modern client's, for changes of the tools.
  core::UpstreamRequest listen() {
    return of(
        mcp::Era::modern,
        R"({"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true}}})");
  }
  core::UpstreamRequest of(mcp::Era era, std::string text, const std::string& session = {}) {
    core::UpstreamRequest made;
    made.message = parse(std::move(text));
    made.method = mcp::method_of(made.message.method());
    made.client_era = era;
    made.scope.session = session;
    made.scope.principal = "p";
    made.tag = ++tag;
    return made;
  }
  core::Call& start(core::UpstreamRequest asked, Asker& asker) {
    auto call = its_upstream().start(std::move(asked), asker);
    REQUIRE(call);
    calls.push_back(std::move(*call));
    return *calls.back();
  }
  void turn() { net::turn(loop); }
  bool wait_for(const std::function<bool()>& done) { return net::wait_for(loop, done); }
  bool heard_of(size_t requests) {
    return wait_for([&] { return fake->asked.size() >= requests; });
  }
  HttpAsked& asked(size_t at) { return *fake->asked.at(at); }

  net::Loop loop;
  config::Server server;
  std::unique_ptr<HttpFake> fake;
  std::unique_ptr<HttpUpstream> upstream;
  uint64_t tag = 0;
  std::list<std::unique_ptr<core::Call>> calls;

 private:
  // Cancels and the like, for which the end waits.
  bool answer_goodbyes() {
    for (auto& one : fake->asked) {
      if (!one->answered && one->rpc().rfind("notifications/", 0) == 0) fake->respond(*one, 202);
    }
    return false;
  }
};

}  // namespace lineward::upstream
