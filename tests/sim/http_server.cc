#include "http_server.h"

#include <fmt/format.h>

#include <algorithm>

#include "json_text.h"

namespace lineward::sim {
namespace {

constexpr std::string_view kChunkEnd = "\r\n", kLastChunk = "0\r\n\r\n";

}  // namespace

class HttpServer::Connection final : public Script::Stage, public std::enable_shared_from_this<Connection> {
 public:
  Connection(HttpServer& server, std::shared_ptr<Link> link, int origin)
      : server_(server), origin_(origin), link_(std::move(link)), out_(std::make_unique<Writer>(link_)) {
    reader_.on_head = [this](const Head& head) {
      head_ = head;
      body_.clear();
    };
    reader_.on_body = [this](std::string_view bytes) { body_ += bytes; };
    reader_.on_done = [this] { request(); };
  }
  void begin() {
    std::weak_ptr<Connection> weak = weak_from_this();
    link_->from_gateway.on_ready = [weak] {
      if (auto self = weak.lock()) self->read();
    };
    read();
  }
  ~Connection() override {
    link_->from_gateway.on_ready = nullptr;
    forget();
  }
  void reset() {
    if (gone_) return;
    gone_ = true;
    if (script_ && script_->attempt().died < 0) script_->attempt().died = server_.world_.now();
    link_->to_gateway.reset();
    link_->from_gateway.close_reader();
  }
  void stall(Time until) {
    link_->to_gateway.stall(until);
    link_->from_gateway.stall(until);
  }
  bool gone() const { return gone_; }
  bool is_at(int origin) const { return origin < 0 || origin == origin_; }
  Script* script() { return script_.get(); }
  bool listens() const { return !listen_id_.empty() && !gone_; }
  // Notifies the listens on this connection.
  void pulse() {
    if (gone_) return;
    if (listens()) {
      for (const auto& uri : listen_.uris)
        event(updated(uri, listen_id_));
      if (listen_.tools) event(list_changed("tools", listen_id_));
      if (listen_.prompts) event(list_changed("prompts", listen_id_));
    }
    if (!get_stream_ || server_.sessions_.count(session_) == 0) return;
    for (const auto& [uri, on] : server_.sessions_[session_].uris) {
      (void)on;
      event(updated(uri, {}));
    }
    event(list_changed("tools", {}));
    event(list_changed("prompts", {}));
  }

 private:
  World& world() { return server_.world_; }

  void read() {
    auto self = shared_from_this();
    Way& in = link_->from_gateway;
    while (!gone_ && !in.ready().empty()) {
      if (reader_.idle()) request_began_ = in.next_was_written();
      std::string bytes(in.ready());
      in.take(bytes.size());
      if (!reader_.feed(bytes))
        server_.ledger_.violation("a request to a server is no HTTP", reader_.fault());
    }
    if (!gone_ && (in.at_end() || in.broken())) {
      gone_ = true;
      if (script_ && script_->attempt().answer_read < 0) {
        Attempt& attempt = script_->attempt();
        attempt.closed = true;
        attempt.closed_at = link_->gateway_closed_at;
        if (world().telling())
          world().tell(
              fmt::format("s{} sees the stream of {} closed", server_.index_, script_->record().plan->tag));
        script_->cancelled();
      }
      out_->end();
    }
  }

  void plain(int status, const std::string& extra, const std::string& body) {
    out_->write(
        fmt::format("HTTP/1.1 {} X\r\nContent-Type: application/json\r\n{}Content-Length: {}\r\n\r\n{}",
                    status, extra, body.size(), body));
  }

  void request() {
    const Time sent = request_began_;
    const std::string verb = head_.word(0);
    const auto named = server_.sessions_.find(head_.field("mcp-session-id"));
    if (named != server_.sessions_.end() && named->second.origin != origin_)
      server_.ledger_.violation("a session was taken to another origin", named->first + " " + verb);
    if (verb == "DELETE") {
      server_.world_.tell(fmt::format("s{} reads DELETE {}", server_.index_, head_.field("mcp-session-id")));
      server_.sessions_.erase(head_.field("mcp-session-id"));
      return plain(200, "", "");
    }
    if (verb == "GET" && !server_.plan_.modern && server_.plan_.get_stream &&
        server_.sessions_.count(head_.field("mcp-session-id")) > 0) {
      session_ = head_.field("mcp-session-id");
      get_stream_ = true;
      return begin_events();
    }
    if (verb != "POST") return plain(405, "", "");
    Json message = read_json(body_);
    if (!message.is_object())
      return server_.ledger_.violation("a body for a server is no JSON object", body_.substr(0, 200));
    const std::string method = message.value("method", "");
    const std::string id = message.contains("id") ? message["id"].dump() : "";
    if (world().telling())
      world().tell(fmt::format(
          "s{} reads {} {}{} {}{}", server_.index_, method, tag_in(body_), id.empty() ? "" : " id " + id,
          head_.field("mcp-session-id"),
          method == "notifications/cancelled" ? " of " + message["params"]["requestId"].dump() : ""));
    const ServerPlan& plan = server_.plan_;
    if (method == "initialize") {
      if (plan.modern) return plain(200, "", refusal(id, -32601, "no such method"));
      std::string session;
      if (plan.sessions) {
        session = fmt::format("S{}-{}", server_.index_, ++server_.last_session_);
        server_.sessions_[session].origin = origin_;
        server_.sessions_[session].asks = message["params"]["capabilities"].contains("elicitation");
        session = "Mcp-Session-Id: " + session + "\r\n";
      }
      const std::string version = message["params"].value("protocolVersion", "2025-11-25");
      return plain(
          200, session,
          reply(
              id,
              fmt::format(
                  R"({{"protocolVersion":"{}","capabilities":{{"tools":{{"listChanged":true}},"prompts":{{"listChanged":true}},"resources":{{"subscribe":true}}}},"serverInfo":{{"name":"sim","version":"1"}}}})",
                  version)));
    }
    const std::string session = head_.field("mcp-session-id");
    if (!plan.modern && plan.sessions && method != "server/discover" && server_.sessions_.count(session) == 0)
      return plain(session.empty() ? 400 : 404, "",
                   refusal(id.empty() ? "null" : id, -32000, "no such session"));
    if (id.empty()) {
      if (method == "notifications/cancelled") cancel(session, message["params"], sent);
      return plain(202, "", "");
    }
    if (method.empty()) {
      for (auto& other : server_.connections_) {
        Script* script = other->script();
        if (script == nullptr || script->asks() != id || other->session_ != session) continue;
        script->replied(message);
        break;
      }
      return plain(202, "", "");
    }
    if (method == "tools/call") return call(message, id, session, sent);
    if (method == "subscriptions/listen" && plan.modern) {
      forget();
      listen_id_ = id;
      listen_ = {};
      const Json& wanted = object_in(object_in(message, "params"), "notifications");
      for (const Json& uri : member_of(wanted, "resourceSubscriptions"))
        listen_.uris.push_back(uri);
      listen_.tools = wanted.value("toolsListChanged", false) || plan.tells_all;
      listen_.prompts = wanted.value("promptsListChanged", false) || plan.tells_all;
      if (plan.tells_all) listen_.uris.push_back(uri_of(kNoClient));
      answer_complete_ = head_sent_ = false;
      return event(acknowledged(wanted, id));
    }
    if (method == "resources/subscribe" && !session.empty())
      server_.sessions_[session].uris[message["params"].value("uri", "")] = true;
    if (method == "resources/unsubscribe" && !session.empty())
      server_.sessions_[session].uris.erase(message["params"].value("uri", ""));
    if (method == "server/discover" && !plan.modern) return plain(400, "", refusal(id, -32000, "no session"));
    const std::string text = answer_to(plan, method, id, asker_of(message), world().now());
    plain(200, "", text);
  }

  void cancel(const std::string& session, const Json& params, Time sent) {
    const std::string of = params["requestId"].dump();
    // Without sessions ids mean nothing: a server that was replaced counts anew.
    if (session.empty()) return;
    for (size_t i = server_.connections_.size(); i-- > 0;) {
      auto& other = server_.connections_[i];
      Script* script = other->script();
      if (script == nullptr || script->id() != of || other->session_ != session) continue;
      Attempt& attempt = script->attempt();
      if (++attempt.cancels == 1) attempt.cancel_sent = sent;
      attempt.cancel_received = world().now();
      if (server_.plan_.modern)
        server_.ledger_.violation("a modern HTTP server is told a cancel by message", of);
      script->cancelled();
      return;
    }
    server_.early_cancels_[session + " " + of] = sent;
  }

  void call(const Json& message, const std::string& id, const std::string& session, Time sent) {
    const Json& params = object_in(message, "params");
    CallRecord* record = server_.ledger_.find(tag_in(body_));
    if (record == nullptr)
      return server_.ledger_.violation("a server is called by nobody", body_.substr(0, 300));
    if (params.value("name", "") != tool_of(*record->plan) || record->plan->server != server_.index_)
      server_.ledger_.violation("a call came to another server or tool than it was for",
                                body_.substr(0, 300));
    if (body_.find(arguments_of(*record->plan)) == std::string::npos)
      server_.ledger_.violation("arguments were changed on their way",
                                record->plan->tag + " " + body_.substr(0, 300));
    forget();
    record->attempts.push_back(std::make_unique<Attempt>());
    Attempt& attempt = *record->attempts.back();
    attempt.received = world().now();
    attempt.sent = sent;
    attempt.was_full = link_->from_gateway.was_full();
    attempt.server = server_.index_;
    attempt.http = true;
    session_ = session;
    head_sent_ = answer_complete_ = false;
    const Json& meta = object_in(params, "_meta");
    const std::string token = meta.contains("progressToken") ? member_of(meta, "progressToken").dump() : "";
    script_ = std::make_unique<Script>(world(), server_.ledger_, *this, server_.plan_.modern, *record,
                                       attempt, id, token);
    const ServerPlan& plan = server_.plan_;
    asks_ = plan.modern
                ? object_in(meta, "io.modelcontextprotocol/clientCapabilities").contains("elicitation")
                : plan.sessions && server_.sessions_[session].asks;
    const auto early = server_.early_cancels_.find(session + " " + id);
    if (early != server_.early_cancels_.end()) {
      attempt.cancels = 1;
      attempt.cancel_sent = early->second;
      attempt.cancel_received = world().now();
    }
    script_->begin(params);
    if (attempt.cancels > 0 && script_) script_->cancelled();
  }

  void begin_events() {
    out_->write(
        fmt::format("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n{}\r\n",
                    server_.plan_.chunked ? "Transfer-Encoding: chunked\r\n" : "Connection: close\r\n"));
    head_sent_ = true;
  }
  void event(const std::string& message) {
    const std::string text = "event: message\ndata: " + message + "\n\n";
    if (!head_sent_) begin_events();
    out_->write(server_.plan_.chunked ? fmt::format("{:x}\r\n{}{}", text.size(), text, kChunkEnd) : text);
  }

  // Stage
  void send(Script& script, std::string message, bool last, std::function<void()> read) override {
    // A request of the server belongs to the session: it goes on its own stream when the call's is gone.
    if (gone_ && !last && !script.asks().empty()) {
      for (auto& other : std::vector(server_.connections_)) {
        if (other->get_stream_ && !other->gone_ && other->session_ == session_) return other->event(message);
      }
      return;
    }
    if (gone_ || answer_complete_) return;
    size_t behind =
        0;  // the message, which is read before them: an event ends before its chunk and its stream
    if (last && !head_sent_ && !server_.plan_.events) {
      if (server_.plan_.chunked) {
        const size_t half = message.size() / 2;
        out_->write(
            fmt::format("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: "
                        "chunked\r\n\r\n{:x}\r\n{}\r\n{:x}\r\n{}\r\n0\r\n\r\n",
                        half, message.substr(0, half), message.size() - half, message.substr(half)));
      } else {
        plain(200, "", message);
      }
    } else {
      event(message);
      if (server_.plan_.chunked) behind = kChunkEnd.size();
      if (last && server_.plan_.chunked) {
        out_->write(kLastChunk);
        behind += kLastChunk.size();
      }
    }
    if (last) {
      answer_complete_ = true;
      if (head_sent_ && !server_.plan_.chunked) out_->end();
    }
    if (read) out_->when_read(std::move(read), behind);
  }
  void garbage(Script&) override {
    if (!gone_ && head_sent_ && !answer_complete_ && server_.plan_.chunked) out_->write("7\r\n: good\n\r\n");
  }
  void die(Script&) override { reset(); }
  void close(Script&) override {
    gone_ = true;
    out_->end();
    link_->from_gateway.close_reader();
  }
  bool may_ask(Script&) override { return asks_; }
  Time arrival() const override { return link_->to_gateway.last_arrival(); }
  void over(Script&) override {}

  // The script of the call before: a cancel can no longer mean it.
  void forget() { script_.reset(); }

  HttpServer& server_;
  int origin_;
  std::shared_ptr<Link> link_;
  std::unique_ptr<Writer> out_;
  HttpReader reader_{false};
  Head head_;
  std::string body_, session_, listen_id_;
  Listen listen_;
  bool get_stream_ = false;
  Time request_began_ = 0;
  std::unique_ptr<Script> script_;
  bool asks_ = false, gone_ = false, head_sent_ = false, answer_complete_ = false;
};

HttpServer::HttpServer(World& world, Ledger& ledger, const ServerPlan& plan, size_t index)
    : world_(world), ledger_(ledger), plan_(plan), index_(index) {
  for (size_t origin = 0; origin < plan.origins; ++origin) {
    const std::string address = address_of_origin(index, origin);
    Random random(world.seed(), "host", index + 100 * origin);
    World::Host host;
    host.delay = random.skewed(50, 50 * kMillisecond);
    host.accept = [this, origin](std::shared_ptr<Link> link) {
      accept(std::move(link), static_cast<int>(origin));
    };
    world.hosts()[address] = std::move(host);
    world.names()[plan.name + (origin == 0 ? ".sim" : "b.sim")] = {{address.substr(0, address.find(':'))},
                                                                   random.skewed(100, 100 * kMillisecond)};
  }
}

HttpServer::~HttpServer() = default;

void HttpServer::accept(std::shared_ptr<Link> link, int origin) {
  // Ended ones stay: the message of a cancel may come later than the end of its stream.
  connections_.push_back(std::make_shared<Connection>(*this, std::move(link), origin));
  connections_.back()->begin();
}

void HttpServer::reset_all(int origin) {
  for (auto& one : connections_) {
    if (one->is_at(origin)) one->reset();
  }
}

void HttpServer::pulse() {
  for (auto& one : std::vector(connections_))
    one->pulse();
}

size_t HttpServer::sessions() const {
  return sessions_.size();
}

size_t HttpServer::listens() const {
  size_t count = 0;
  for (auto& one : connections_)
    count += one->listens() ? 1 : 0;
  for (const auto& [id, session] : sessions_)
    count += session.uris.size();
  return count;
}

void HttpServer::stall_all(Time until, int origin) {
  for (auto& one : connections_) {
    if (one->is_at(origin)) one->stall(until);
  }
}

}  // namespace lineward::sim
