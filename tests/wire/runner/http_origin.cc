#include "http_origin.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>

#include "json_raw.h"
#include "loopback_socket.h"

namespace lineward::wire {

using namespace std::chrono_literals;

namespace {

std::string whole(int status, const std::string& body, const std::string& more = "") {
  return fmt::format("HTTP/1.1 {} X\r\n{}{}Content-Length: {}\r\n\r\n{}", status, more,
                     body.empty() ? "" : "Content-Type: application/json\r\n", body.size(), body);
}

std::string result_of(std::string_view id, std::string_view result) {
  return fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{}}})", id, result);
}

std::string error_of(std::string_view id, int code, std::string_view text) {
  return fmt::format(R"({{"jsonrpc":"2.0","id":{},"error":{{"code":{},"message":"{}"}}}})", id, code, text);
}

}  // namespace

HttpOrigin::HttpOrigin(Run& run, const Command& command)
    : Peer(run, command.args[0].text), command_(command) {
  if (const Word* era = command.option("era")) {
    if (era->text != "modern" && era->text != "legacy")
      throw Failure(command.line, "-era is modern or legacy");
    era_ = era->text == "legacy" ? Era::legacy : Era::modern;
  }
  if (command.flag("raw")) era_ = Era::raw;
  has_sessions_ = !command.flag("no-session");
  hold_get_ = command.flag("hold-get");
  if (const Word* w = command.option("auto")) auto_ = one_line(w->text);
  discover_ = command.flag("discover-result")
                  ? one_line(command.option("discover-result")->text)
                  : R"({"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":)"
                    R"({"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},)"
                    R"("prompts":{"listChanged":true},"logging":{}},"ttlMs":0,"cacheScope":"private",)"
                    R"("_meta":{"io.modelcontextprotocol/serverInfo":{"name":"wire-origin","version":"1"}}})";
  if (const Word* w = command.option("init-result")) initialize_ = one_line(w->text);
  std::function<void(const Block&)> collect = [&](const Block& block) {
    for (const auto& c : block) {
      if (c.verb() == "rxreq" && !c.args.empty()) named_.insert(c.args[0].text);
      collect(c.block);
    }
  };
  collect(command.block);
  listen_again();
  auto address = "127.0.0.1:" + std::to_string(port_);
  run.set(name_ + ".port", {std::to_string(port_), true});
  run.set(name_ + ".addr", {address});
  run.set(name_ + ".url", {"http://" + address + "/mcp"});
  run.set(name_ + ".connections", {"0", true});
}

HttpOrigin::~HttpOrigin() {
  end();
}

void HttpOrigin::start() {
  acceptor_ = std::thread([this] { accept_loop(); });
  worker_ = std::thread([this] { block_loop(); });
}

void HttpOrigin::wait() {
  std::unique_lock lock(mutex_);
  while (!done_) {
    if (run_.stopped()) throw Stopped{};
    // A moment later than the peers: their own errors say more.
    if (Clock::now() >= run_.deadline() + 300ms)
      throw Failure(command_.line, "the block of " + name_ + " is not done");
    changed_.wait_for(lock, 20ms);
  }
}

void HttpOrigin::end() {
  if (ended_.exchange(true)) return;
  if (acceptor_.joinable()) acceptor_.join();
  if (listener_ >= 0) ::close(listener_);
  if (worker_.joinable()) worker_.join();  // it stops with the run
  std::vector<std::shared_ptr<OriginConnection>> connections;
  {
    std::lock_guard lock(mutex_);
    connections.swap(connections_);
  }
  for (auto& connection : connections)
    connection->close(false);
  targets_.clear();
  requests_.clear();
  accepted_.clear();
}

void HttpOrigin::listen_again() {
  test::LoopbackSocket mine;
  const int on = 1;
  setsockopt(mine.fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (!mine.listens(256, static_cast<uint16_t>(port_)))
    throw Failure(command_.line, "cannot listen on a loopback port");
  listener_ = mine.fd;
  port_ = mine.port();
}

void HttpOrigin::accept_loop() {
  while (!ended_) {
    if (listening_wanted_ != listening_) {
      if (listening_wanted_) {
        try {
          listen_again();
        } catch (const Failure& failure) {
          run_.fail(failure.line, failure.what());
        }
      } else {
        ::close(listener_);
        listener_ = -1;
      }
      listening_ = listening_wanted_.load();
      changed_.notify_all();
    }
    pollfd fd{listener_, POLLIN, 0};
    if (poll(&fd, 1, 10) <= 0) continue;
    int peer = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (peer >= 0) on_accepted(peer);
  }
}

void HttpOrigin::on_accepted(int fd) {
  std::lock_guard lock(mutex_);
  int number = static_cast<int>(connections_.size()) + 1;
  auto label = fmt::format("{}/{}", name_, number);
  run_.record(label, ' ', "(connected)");
  run_.set(name_ + ".connections", {std::to_string(number), true});
  OriginConnection::Hooks hooks;
  auto self = std::make_shared<std::weak_ptr<OriginConnection>>();
  hooks.request = [this, self](StrictRequest request) {
    run_.be_late();
    std::shared_ptr<OriginConnection> connection;
    {
      std::lock_guard locked(mutex_);  // `self` is set under it
      connection = self->lock();
    }
    if (connection) on_request(connection, std::move(request));
  };
  hooks.unclean = [this](const std::string& why) {
    if (!run_.finished())
      run_.fail(command_.line, fmt::format("{}: the gateway sent an unclean request: {}", name_, why));
  };
  hooks.record = [this, label](char direction, std::string_view bytes) {
    run_.record(label, direction, bytes);
  };
  hooks.stopped = [this] { return run_.stopped() || ended_.load(); };
  auto connection = std::make_shared<OriginConnection>(fd, number, reading_, std::move(hooks));
  *self = connection;
  connections_.push_back(connection);
  accepted_.push_back(std::move(connection));
  changed_.notify_all();
}

void HttpOrigin::on_request(const std::shared_ptr<OriginConnection>& connection, StrictRequest request) {
  if (era_ != Era::raw && answer_by_itself(*connection, request)) return;
  std::lock_guard lock(mutex_);
  if (done_) too_many(request);
  requests_.push_back({connection, std::move(request)});
  changed_.notify_all();
}

void HttpOrigin::too_many(const StrictRequest& request) {
  if (run_.finished()) return;
  run_.fail(command_.line, fmt::format("{}: a request after the end of the block: {} {}", name_,
                                       request.method, printable(request.body, 400)));
}

std::string HttpOrigin::legacy_result(const std::string& method, const std::string& body) const {
  if (method == "ping") return "{}";
  if (method == "tools/list") return R"({"tools":[]})";
  if (method != "initialize") return "";
  if (!initialize_.empty()) return initialize_;
  auto asked = find_raw(body, {"params", "protocolVersion"});
  std::string version = asked ? json_string(*asked).value_or("") : "";
  if (version != "2025-03-26" && version != "2025-06-18") version = "2025-11-25";
  return R"({"protocolVersion":")" + version +
         R"(","capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},)"
         R"("prompts":{"listChanged":true},"logging":{}},"serverInfo":{"name":"wire-origin","version":"1"}})";
}

// The handshakes of the era, and what else needs no script, unless the block names it.
bool HttpOrigin::answer_by_itself(OriginConnection& connection, const StrictRequest& request) {
  auto say = [&](const std::string& bytes) { connection.send(bytes, 0, run_.deadline()); };
  if (request.method != "POST") {
    if (named_.count(request.method)) return false;
    if (request.method == "GET" && hold_get_ && era_ == Era::legacy) {
      say("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
      connection.over(false);
    } else {
      say(whole(request.method == "DELETE" && era_ == Era::legacy ? 200 : 405, ""));
    }
    return true;
  }
  auto method_bytes = find_raw(request.body, {"method"});
  auto id = find_raw(request.body, {"id"});
  std::string method = method_bytes ? json_string(*method_bytes).value_or("") : "";
  if (method.empty() || named_.count(method)) return false;
  if (auto given = find_raw(auto_, {method}); given && id) {
    say(whole(200, result_of(*id, *given)));
  } else if (method == "notifications/initialized") {
    say(whole(202, ""));
  } else if (!id) {
    return false;
  } else if (era_ == Era::modern) {
    if (method == "server/discover") {
      say(whole(200, result_of(*id, discover_)));
    } else if (method == "tools/list") {
      say(whole(200,
                result_of(*id, R"({"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"private"})")));
    } else if (method == "initialize") {
      say(whole(404, error_of(*id, -32601, "Method not found")));
    } else {
      return false;
    }
  } else if (method == "server/discover") {
    say(whole(400, error_of("null", -32000, "Bad Request: Server not initialized")));
  } else if (auto result = legacy_result(method, request.body); !result.empty()) {
    std::string session;
    if (method == "initialize" && has_sessions_) {
      std::lock_guard lock(mutex_);
      session = fmt::format("Mcp-Session-Id: s-{}\r\n", ++sessions_);
    }
    say(whole(200, result_of(*id, result), session));
  } else {
    return false;
  }
  return true;
}

}  // namespace lineward::wire
