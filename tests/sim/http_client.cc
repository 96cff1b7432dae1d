#include "http_client.h"

#include <fmt/format.h>

#include <algorithm>

#include "json_text.h"

namespace lineward::sim {

namespace {

constexpr int kUnread = -1;  // instead of a status: a kept connection had ended already

}  // namespace

class HttpClient::Connection final : public std::enable_shared_from_this<Connection> {
 public:
  Connection(HttpClient& client, std::shared_ptr<Link> link)
      : client_(client), link_(std::move(link)), out_(std::make_unique<Writer>(link_)) {
    reader_.on_head = [this](const Head& head) {
      head_ = head;
      body_.clear();
      status_ = std::atoi(head.word(1).c_str());
      if (exchange_.on_status) exchange_.on_status(status_);
      events_ = head.field("content-type").find("text/event-stream") != std::string::npos;
      event_reader_ = EventReader();
      event_reader_.on_event = [this](const std::string&, const std::string& data) {
        if (!data.empty()) message(data);
      };
    };
    reader_.on_body = [this](std::string_view bytes) {
      client_.ledger_.check_client(client_.index_, bytes);
      if (events_) return event_reader_.feed(bytes);
      body_ += bytes;
    };
    reader_.on_done = [this] { answered(); };
  }
  ~Connection() { link_->from_gateway.on_ready = nullptr; }
  void begin() {
    std::weak_ptr<Connection> weak = weak_from_this();
    link_->from_gateway.on_ready = [weak] {
      if (auto self = weak.lock()) self->read();
    };
  }
  bool idle() const {
    return !gone_ && !kept_apart && !busy_ && reader_.idle() && !link_->from_gateway.at_end() &&
           !link_->from_gateway.broken();
  }
  bool gone() const { return gone_; }
  // Another call may have it once this one's question has come.
  bool is_about(const CallRecord& record) const { return busy_ && exchange_.record == &record; }
  // The calls with their answers on this stream.
  std::vector<CallRecord*> records() const {
    std::vector<CallRecord*> all;
    if (busy_ && exchange_.record) all.push_back(exchange_.record);
    for (const Exchange& one : exchange_.together) {
      if (busy_) all.push_back(one.record);
    }
    return all;
  }
  const std::shared_ptr<Link>& link() const { return link_; }
  Writer& out() { return *out_; }

  void send(Exchange exchange, const std::string& text, int64_t cut) {
    exchange_ = std::move(exchange);
    busy_ = true;
    began_at_ = out_->offset();
    if (cut >= 0 && static_cast<size_t>(cut) < text.size())
      return out_->write(std::string_view(text).substr(0, static_cast<size_t>(cut)));
    out_->write(text);
  }
  void pause(Time until) { paused_until_ = until; }
  void close(bool reset) {
    if (gone_) return;
    gone_ = true;
    if (reset) {
      link_->to_gateway.reset();
    } else {
      out_->end();
    }
    link_->from_gateway.close_reader();
  }
  void close_at(Time at, bool reset) {
    gone_ = true;
    link_->to_gateway.end_at(at, reset);
    link_->from_gateway.close_reader();
  }

  // No other request goes on it.
  bool kept_apart = false;

 private:
  void read() {
    auto self = shared_from_this();
    if (client_.world_.now() < paused_until_) {
      if (!waits_) {
        waits_ = true;
        client_.world_.at(paused_until_, [self] {
          self->waits_ = false;
          self->read();
        });
      }
      return;
    }
    Way& in = link_->from_gateway;
    while (!gone_ && !in.ready().empty()) {
      std::string bytes(in.ready());
      in.take(bytes.size());
      if (!reader_.feed(bytes))
        client_.ledger_.violation("an answer to a client is no HTTP", reader_.fault());
    }
    if (gone_ || !(in.at_end() || in.broken())) return;
    gone_ = true;
    reader_.end();
    if (busy_ && exchange_.record && exchange_.record->ended < 0 && !exchange_.asked) {
      // A connection that was kept may end just when it is used again: then nothing was read of the request.
      CallRecord& record = *exchange_.record;
      const bool unread = was_unread() && record.left < 0;
      if (unread && !record.request_cut) {
        client_.world_.tell("a kept connection has ended: once more for " + record.plan->tag);
        client_.world_.after(0, [client = &client_, plan = record.plan, answers = exchange_.answers] {
          client->call(*plan, answers);
        });
      } else {
        end("cut");
      }
    }
    for (const Exchange& one : exchange_.together) {
      if (busy_ && one.record->ended < 0) client_.ears_.end(*one.record, "cut");
    }
    if (busy_ && !exchange_.record && exchange_.done) {
      std::exchange(exchange_.done, nullptr)(was_unread() ? kUnread : 0, head_, Json());
    }
    busy_ = false;
    out_->end();
  }

  // A connection that was kept had ended, or a stream was refused.
  bool was_unread() const {
    return link_->unprocessed || (link_->to_gateway.consumed() <= began_at_ && began_at_ > 0);
  }

  void message(const std::string& text) {
    Json parsed = read_json(text);
    if (!exchange_.together.empty() && parsed.is_array()) {
      for (const std::string& one : elements_of(text))
        message(one);
      return;
    }
    if (!parsed.is_object())
      return client_.ledger_.violation("a message to a client is no JSON object", text.substr(0, 200));
    if (exchange_.listen) return client_.heard(parsed, exchange_, text);
    if (!exchange_.together.empty()) return of_several(parsed, text);
    if (exchange_.record == nullptr) {
      if (exchange_.done && parsed.contains("id"))
        std::exchange(exchange_.done, nullptr)(status_, head_, parsed);
      return;
    }
    of_call(exchange_, parsed, text);
  }

  // On the stream of a batch, or in its array.
  void of_several(const Json& parsed, const std::string& text) {
    std::vector<Exchange>& all = exchange_.together;
    const bool is_answer = !parsed.contains("method");
    if (is_answer && status_ != 200) {
      for (Exchange& one : all) {
        if (one.record->ended < 0) client_.ears_.answer(*one.record, one.raw_id, parsed, text, false);
      }
      return;
    }
    const std::string id = member_of(parsed, "id").dump(), tag = tag_in(text);
    const std::string token = member_of(object_in(parsed, "params"), "progressToken").dump();
    const auto meant = std::find_if(all.begin(), all.end(), [&](const Exchange& one) {
      if (is_answer) return one.raw_id == id;
      if (parsed["method"] == "notifications/progress") return one.token == token;
      return one.record->plan->tag == tag;
    });
    if (meant != all.end()) return of_call(*meant, parsed, text);
    if (parsed.value("method", "") == "notifications/resources/updated")
      return client_.listen_ears_.updated();
    // A message of another call of the session, as on any other stream.
    if (parsed.value("method", "") == "elicitation/create")
      return client_.answer(client_.mine_.calls.front(), parsed["id"].dump(), tag);
    if (is_answer || !tag.empty())
      client_.ledger_.violation("a message came in a batch that has no such call", text.substr(0, 300));
  }

  void of_call(const Exchange& exchange, const Json& parsed, const std::string& text) {
    CallRecord* record = exchange.record;
    const std::string tag = tag_in(text);
    // Messages for a session go on any of its streams.
    if (!client_.mine_.modern && parsed.value("method", "") == "notifications/resources/updated") {
      client_.listen_ears_.updated();
      return;
    }
    const bool request = parsed.contains("method") && parsed.contains("id");
    if (!tag.empty() && tag != record->plan->tag && !request && !client_.ledger_.asked_too_late(tag))
      client_.ledger_.violation("a message came on the stream of another call",
                                record->plan->tag + " got " + text.substr(0, 300));
    if (parsed.contains("method")) {
      if (request && parsed["method"] == "elicitation/create") {
        if (!client_.mine_.can_be_asked)
          client_.ledger_.violation("a client is asked that did not declare it", text);
        return client_.answer(*record->plan, parsed["id"].dump(), tag);
      }
      if (parsed["method"] != "notifications/progress") return;
      return client_.ears_.progress(*record, exchange.token, parsed, text);
    }
    if (parsed.contains("result") && parsed["result"].value("resultType", "") == "input_required") {
      if (member_of(parsed, "id").dump() != exchange.raw_id)
        client_.ledger_.violation("a question has another id than the call", text);
      exchange_.asked = true;
      return client_.asked(*record, parsed["result"]);
    }
    client_.ears_.answer(*record, exchange.raw_id, parsed, text, status_ == 200);
  }

  // The HTTP answer is complete.
  void answered() {
    if (!events_ && !body_.empty()) message(body_);
    if (exchange_.listen) client_.listen_ended();
    for (CallRecord* one : records()) {
      if (one->ended < 0 && !exchange_.asked)
        client_.ears_.end(*one, one->left_by_message ? "empty" : fmt::format("status {}", status_));
    }
    if (exchange_.done) std::exchange(exchange_.done, nullptr)(status_, head_, Json());
    busy_ = false;
    exchange_ = Exchange();
    if (head_.field("connection") == "close") close(false);
  }

  void end(std::string outcome) { client_.ears_.end(*exchange_.record, std::move(outcome)); }

  HttpClient& client_;
  std::shared_ptr<Link> link_;
  std::unique_ptr<Writer> out_;
  HttpReader reader_{true};
  EventReader event_reader_;
  Head head_;
  std::string body_;
  Exchange exchange_;
  int status_ = 0;
  Time paused_until_ = 0;
  uint64_t began_at_ = 0;  // the request, in all that was written
  bool waits_ = false;
  bool events_ = false, busy_ = false, gone_ = false;
};

HttpClient::HttpClient(World& world, Ledger& ledger, const Plan& plan, size_t index)
    : Client(world, ledger, plan, index), random_(plan.seed, "client at work", index) {}

HttpClient::~HttpClient() = default;

std::string HttpClient::path(size_t server) const {
  return plan_.servers.size() == 1 || mine_.together ? "/mcp" : "/mcp/" + plan_.servers[server].name;
}

std::string HttpClient::request(const std::string& verb, size_t server, const std::string& extra,
                                const std::string& body) const {
  return request_to(verb, path(server), extra, body);
}

std::string HttpClient::request_to(const std::string& verb, const std::string& path, const std::string& extra,
                                   const std::string& body) const {
  return fmt::format(
      "{} {} HTTP/1.1\r\nHost: 127.0.0.1:8000\r\nContent-Type: application/json\r\nAccept: application/json, "
      "text/event-stream\r\n{}{}Content-Length: {}\r\n\r\n{}",
      verb, path, key(), extra, body.size(), body);
}

std::string HttpClient::session_fields() const {
  if (mine_.modern || session_.empty()) return {};
  return fmt::format("Mcp-Session-Id: {}\r\nMCP-Protocol-Version: {}\r\n", session_, version_);
}

std::string HttpClient::key() const {
  return plan_.keys ? fmt::format("X-API-Key: {}\r\n", key_of(mine_.who)) : "";
}

std::shared_ptr<HttpClient::Connection> HttpClient::connection(bool fresh) {
  std::erase_if(connections_, [](const auto& one) { return one->gone(); });
  if (!fresh) {
    for (auto& one : connections_) {
      if (one->idle()) return one;
    }
  }
  std::shared_ptr<Link> link = mine_.http2 ? stream(fresh) : dial();
  if (!link) return nullptr;
  auto made = std::make_shared<Connection>(*this, std::move(link));
  made->begin();
  connections_.push_back(made);
  return made;
}

std::shared_ptr<Link> HttpClient::dial() {
  const std::string peer = fmt::format("10.0.0.{}:{}", index_ + 1, 5000 + ++last_connection_);
  // Any replica, or the next one that is there.
  const size_t first = plan_.replicas > 1 ? random_.below(plan_.replicas) : 0;
  std::shared_ptr<Link> link;
  for (size_t i = 0; i < plan_.replicas && !link; ++i)
    link = world_.connect(address_of((first + i) % plan_.replicas), peer, index_);
  return link;
}

// It is a stream of a connection that takes one more. Some calls that want a fresh connection get one.
std::shared_ptr<Link> HttpClient::stream(bool fresh) {
  std::erase_if(fronts_, [](const auto& one) { return one->idle() && !one->takes_streams(); });
  const bool another = fresh && random_.percent(20);
  for (const auto& one : fronts_) {
    if (!another && one->takes_streams()) return one->stream();
  }
  auto link = dial();
  if (!link) return nullptr;
  fronts_.push_back(Http2Front::open(world_, std::move(link), Random(random_.next())));
  return fronts_.back()->stream();
}

// The HTTP/2 connection of that stream is lost, and all its calls with it.
void HttpClient::lose(const Link& link, bool reset) {
  const std::shared_ptr<Link> carrier = link.carrier;
  for (const auto& one : connections_) {
    if (one->gone() || one->link()->carrier != carrier) continue;
    for (CallRecord* record : one->records()) {
      if (record->ended < 0 && record->left < 0) record->left = world_.now();
    }
    one->close(reset);
  }
  for (const auto& one : fronts_) {
    if (one->is_on(carrier)) one->close(reset);
  }
}

void HttpClient::begin() {
  Time first = -1;
  for (const CallPlan& one : mine_.calls) {
    if (one.dropped) continue;
    first = first < 0 ? one.at : std::min(first, one.at);
    world_.at(one.at, [this, &one] { call(one, {}); });
  }
  const bool listens = mine_.listens_at >= 0 && !mine_.listens_dropped;
  if (listens) first = first < 0 ? mine_.listens_at : std::min(first, mine_.listens_at);
  if (!mine_.modern && first >= 0) world_.at(first, [this] { open_session(0); });
  if (listens) world_.at(mine_.listens_at, [this] { listen(); });
  for (const Time at : mine_.lists_at)
    world_.at(at, [this] { list(0); });
  for (const Stray& one : mine_.strays) {
    if (!one.dropped) world_.at(one.at, [this, &one] { stray(one); });
  }
}

void HttpClient::list(int tries) {
  if (left_) return;
  if (!mine_.modern && !session_open_) {
    if (tries < 20) world_.after(200 * kMillisecond, [this, tries] { list(tries + 1); });
    return;
  }
  const std::string body =
      mine_.modern
          ? fmt::format(R"({{"jsonrpc":"2.0","id":800,"method":"tools/list","params":{{"_meta":{{{}}}}}}})",
                        modern_meta(index_, "{}"))
          : R"({"jsonrpc":"2.0","id":800,"method":"tools/list","params":{}})";
  aside(
      "POST", body, nullptr,
      [this, asked = world_.now()](int, const Head&, const Json& message) {
        judge_list(ledger_, plan_, index_, message, {asked, left_});
      },
      mine_.modern ? "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/list\r\n" : "");
}

// A modern client listens on a stream of its own; a legacy one has a stream of its session, and subscribes.
void HttpClient::listen() {
  if (left_) return;
  if (!mine_.modern && !session_open_) {
    world_.after(100 * kMillisecond, [this] {
      if (world_.now() < mine_.listens_at + 5 * kSecond) listen();
    });
    return;
  }
  if (!mine_.modern && session_.empty()) return;  // a server without sessions
  listening_ = connection(true);
  if (!listening_) return;
  Exchange exchange;
  exchange.listen = true;
  exchange.raw_id = fmt::format("\"l{}\"", index_ % 2);
  world_.tell(fmt::format("client {} listens", index_));
  if (mine_.modern) {
    const std::string body = fmt::format(
        R"({{"jsonrpc":"2.0","id":{},"method":"subscriptions/listen","params":{{"notifications":{{{}}},"_meta":{{{}}}}}}})",
        exchange.raw_id, listen_ears_.wishes(), modern_meta(index_, "{}"));
    listening_->send(
        std::move(exchange),
        request("POST", mine_.server,
                "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\n", body),
        -1);
  } else {
    listening_->send(
        std::move(exchange),
        fmt::format("GET {} HTTP/1.1\r\nHost: 127.0.0.1:8000\r\nAccept: text/event-stream\r\n{}{}\r\n",
                    path(mine_.server), key(), session_fields()),
        -1);
    if (!mine_.together)
      aside("POST",
            fmt::format(
                R"({{"jsonrpc":"2.0","id":900,"method":"resources/subscribe","params":{{"uri":"{}"}}}})",
                uri_of(index_)),
            nullptr, [this](int status, const Head&, const Json& message) {
              world_.tell(fmt::format("client {} has subscribed: {}", index_, status));
              if (message.is_object() && message.contains("result")) listen_ears_.subscribed();
            });
  }
  world_.after(mine_.listens_for, [this] {
    listen_ears_.stopped();
    if (listening_ && !listening_->gone()) listening_->close(random_.percent(30));
    // Else its session goes on with the subscription.
    if (!mine_.modern && !mine_.together && random_.percent(50))
      aside("POST",
            fmt::format(
                R"({{"jsonrpc":"2.0","id":901,"method":"resources/unsubscribe","params":{{"uri":"{}"}}}})",
                uri_of(index_)),
            nullptr, nullptr);
    listening_.reset();
  });
}

void HttpClient::listen_ended() {
  listen_ears_.ended();
  listening_.reset();
}

void HttpClient::heard(const Json& message, const Exchange& exchange, const std::string& text) {
  const std::string method = message.value("method", "");
  if (!mine_.modern) {
    if (method == "notifications/resources/updated") listen_ears_.updated();
    if (method == "elicitation/create") answer(mine_.calls.front(), message["id"].dump(), tag_in(text));
    return;
  }
  if (method.empty()) return;  // it has ended
  listen_ears_.notification(exchange.raw_id, message, text);
}

void HttpClient::open_session(int tries) {
  if (left_) return;
  const std::string body = fmt::format(
      R"({{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{}","capabilities":{},"clientInfo":{{"name":"c{}","version":"1"}}}}}})",
      mine_.version, capabilities(), index_);
  aside("POST", body, nullptr, [this, tries](int status, const Head& head, const Json& message) {
    world_.tell(fmt::format("client {} has its session: {}", index_, status));
    session_ = head.field("mcp-session-id");
    if (status != 200 || !message.is_object() || !message.contains("result")) {
      if (plan_.calm)
        ledger_.violation("an initialize failed although nothing goes wrong",
                          message.is_discarded() ? "" : message.dump());
      session_.clear();
      if (tries < 3) world_.after(500 * kMillisecond, [this, tries] { open_session(tries + 1); });
      return;
    }
    session_open_ = true;
    ledger_.sessions()[index_] = session_;
    version_ = message["result"].value("protocolVersion", "");
    if (version_ > mine_.version)
      ledger_.violation("a client got a revision that it does not know", message.dump());
    if (tag_in(session_) != "") ledger_.violation("a session id has a tag in it", session_);
    aside("POST", R"({"jsonrpc":"2.0","method":"notifications/initialized"})", nullptr, nullptr);
    for (const CallPlan* one : std::exchange(waiting_, {}))
      call(*one, {});
  });
}

void HttpClient::aside(const std::string& verb, const std::string& body, std::function<void()> read,
                       std::function<void(int, const Head&, const Json&)> done, const std::string& fields) {
  auto over = connection(false);
  if (!over) return;
  Exchange exchange;
  exchange.done = [this, verb, body, read, fields, done = std::move(done)](int status, const Head& head,
                                                                           const Json& message) {
    if (status == kUnread && !left_) {
      world_.after(0, [this, verb, body, read, fields, done] { aside(verb, body, read, done, fields); });
      return;
    }
    if (done) done(status, head, message);
  };
  over->send(std::move(exchange), request(verb, mine_.server, session_fields() + fields, body), -1);
  if (read) over->out().when_read(std::move(read));
}

void HttpClient::answer(const CallPlan& plan, const std::string& raw_id, const std::string& tag) {
  if (plan.never_answers) return;
  world_.after(plan.answer_after, [this, raw_id, tag] {
    if (left_) return;
    world_.tell(fmt::format("client {} answers the question {}", index_, raw_id));
    aside(
        "POST",
        fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{{"action":"accept","content":{{"tag":"{}"}}}}}})",
                    raw_id, tag),
        nullptr, [this, raw_id](int status, const Head&, const Json&) {
          world_.tell(fmt::format("client {}: its answer to {} is taken with {}", index_, raw_id, status));
        });
  });
}

void HttpClient::call(const CallPlan& plan, const std::string& answers) {
  if (left_) return;
  if (!mine_.modern && !session_open_) {
    waiting_.push_back(&plan);
    return;
  }
  if (plan.batch > 0 && version_ == "2025-03-26" && !session_.empty()) {
    auto& batch = batches_[plan.batch];
    if (batch.empty()) world_.after(0, [this, number = plan.batch] { call_together(number); });
    return batch.push_back(&plan);
  }
  auto over = connection(plan.fresh_connection);
  if (!over) {
    CallRecord* again = ledger_.find(plan.tag);
    if (again != nullptr) {
      again->ended = world_.now();
      again->outcome = "cut";
    }
    return;
  }
  Prepared made = prepare(plan, answers);
  CallRecord& record = *made.exchange.record;
  const std::string text = request("POST", plan.server, made.fields, made.body);
  record.request_cut = plan.cut_request_at >= 0 && static_cast<size_t>(plan.cut_request_at) < text.size();
  if (plan.slow_reader > 0) over->pause(world_.now() + plan.slow_reader);
  const std::string raw_id = made.exchange.raw_id;
  over->send(std::move(made.exchange), text, answers.empty() ? plan.cut_request_at : -1);
  sent(record, raw_id, over, text.size());
  if (plan.leaves_at_answer) {
    record.leaves_at = [this, &record, reset = plan.leave == Leave::reset,
                        weak = std::weak_ptr<Connection>(over)](Time at) {
      auto here = weak.lock();
      if (record.ended >= 0 || record.left >= 0 || !here || here->gone() || !here->is_about(record)) return;
      record.left = at;
      world_.tell(fmt::format("client {} leaves {} as its answer comes", index_, record.plan->tag));
      here->close_at(at, reset);
    };
  }
  if (answers.empty()) leave_early(plan, record, raw_id, over);
}

HttpClient::Prepared HttpClient::prepare(const CallPlan& plan, const std::string& answers) {
  const size_t number =
      static_cast<size_t>(&plan - mine_.calls.data()) + 1 + (answers.empty() ? 0 : 99 * ++rounds_) +
      (plan_.replicas > 1 ? 30'000 * (index_ + 1) : 0);  // there the log names the last replica before it
  Prepared made;
  Exchange& exchange = made.exchange;
  exchange.raw_id = number % 3 == 0 ? fmt::format("\"{}\"", number) : fmt::format("{}", number);
  exchange.token = number % 2 == 0 ? fmt::format("\"{}\"", number) : fmt::format("{}", number);
  exchange.record = &ledger_.begin(plan, index_, mine_.modern);
  exchange.answers = answers;
  std::string meta = plan.wants_progress ? fmt::format(R"("progressToken":{})", exchange.token) : "";
  made.fields = session_fields();
  const std::string tool = (mine_.together ? plan_.servers[plan.server].name + "__" : "") + tool_of(plan);
  if (mine_.modern) {
    meta += (meta.empty() ? "" : ",") + modern_meta(index_, capabilities());
    made.fields = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: " + tool + "\r\n";
  }
  made.body = call_body(plan, {exchange.raw_id, exchange.token, tool, answers, meta});
  return made;
}

// `bytes`: of the whole message.
void HttpClient::sent(CallRecord& record, const std::string& raw_id, const std::shared_ptr<Connection>& over,
                      size_t bytes) {
  record.link = over->link();
  record.remote = over->link()->peer;
  record.raw_id = raw_id;
  record.request_bytes = bytes;
  if (record.begun < 0) record.begun = world_.now();
  over->out().when_read([&record, this] { record.sent = world_.now(); });
  world_.tell(fmt::format("client {} calls {} of s{} on {}", index_, record.plan->tag, record.plan->server,
                          record.remote));
}

void HttpClient::leave_early(const CallPlan& plan, CallRecord& record, const std::string& raw_id,
                             const std::shared_ptr<Connection>& over) {
  if (plan.leave == Leave::stay) return;
  world_.after(
      plan.leave_after, [this, &record, raw_id, how = plan.leave, weak = std::weak_ptr<Connection>(over)] {
        if (record.parked && record.left < 0) {
          record.left = world_.now();
          record.left_parked = true;
        }
        auto here = weak.lock();
        if (record.ended >= 0 || record.left >= 0 || !here || here->gone() || here->link() != record.link)
          return;
        record.left = world_.now();
        world_.tell(fmt::format("client {} leaves {}", index_, record.plan->tag));
        if (how == Leave::message) return cancel(record, raw_id);
        for (CallRecord* one : here->records()) {
          if (one->ended < 0 && one->left < 0) one->left = world_.now();
        }
        if (here->link()->carrier && random_.percent(20)) return lose(*here->link(), how == Leave::reset);
        here->close(how == Leave::reset);
      });
}

// On a connection of its own, so that it need not be sent again.
void HttpClient::call_together(int batch) {
  const auto calls = std::exchange(batches_[batch], {});
  auto over = left_ ? nullptr : connection(true);
  if (!over) return;
  Exchange exchange;
  std::string body;
  for (const CallPlan* one : calls) {
    Prepared made = prepare(*one, {});
    body += (body.empty() ? "[" : " ,\n") + made.body;
    exchange.together.push_back(std::move(made.exchange));
  }
  std::string text = request("POST", mine_.server, session_fields(), body + "]");
  if (mine_.wants_array) text.replace(text.find(", text/event-stream"), 19, "");
  const std::vector<Exchange> all = exchange.together;
  over->send(std::move(exchange), text, -1);
  for (size_t i = 0; i < all.size(); ++i) {
    sent(*all[i].record, all[i].raw_id, over, text.size());
    leave_early(*calls[i], *all[i].record, all[i].raw_id, over);
  }
}

void HttpClient::stray(const Stray& stray) {
  std::string session = session_, its_path = path(mine_.server), body, version = version_;
  std::string verb = stray.verb == Stray::Verb::ping     ? "POST"
                     : stray.verb == Stray::Verb::remove ? "DELETE"
                                                         : "GET";
  if (verb == "POST") body = R"({"jsonrpc":"2.0","id":810,"method":"ping"})";
  bool may_be_served = false;
  switch (stray.kind) {
    case Stray::Kind::elsewhere: its_path = path(stray.other); break;
    case Stray::Kind::anothers: {
      const ClientPlan& other = plan_.clients[stray.other];
      session = ledger_.sessions()[stray.other];
      version = other.version;
      its_path =
          plan_.servers.size() == 1 || other.together ? "/mcp" : "/mcp/" + plan_.servers[other.server].name;
      break;
    }
    case Stray::Kind::body:
      body = request_to(
          "POST", its_path, "",
          fmt::format(
              R"({{"jsonrpc":"2.0","id":811,"method":"tools/call","params":{{"name":"work","arguments":{{"tag":"T{}.800."}}}}}})",
              index_));
      // Its server's own messages may come on a stream that is opened.
      if (mine_.modern || verb == "POST" || mine_.listens_at >= 0 || mine_.can_be_asked) session.clear();
      if (verb != "GET") verb = "DELETE";
      if (verb == "DELETE") session = "nobodys";
      may_be_served = true;
      break;
  }
  if (left_ || (session.empty() && !may_be_served)) return;
  auto over = connection(true);
  if (!over) return;
  over->kept_apart = true;
  Exchange exchange;
  const auto served = [this, may_be_served](const std::string& how) {
    if (!may_be_served)
      ledger_.violation("a session was served where it is none", fmt::format("client {}: {}", index_, how));
  };
  exchange.on_status = [this, served, verb](int status) {
    world_.tell(fmt::format("client {} strayed: {}", index_, status));
    if (status < 400 && verb != "POST") served(fmt::format("{} {}", verb, status));
  };
  exchange.done = [served](int, const Head&, const Json& message) {
    if (message.is_object() && message.contains("result")) served(message.dump());
  };
  const std::string fields =
      session.empty() ? ""
                      : fmt::format("Mcp-Session-Id: {}\r\nMCP-Protocol-Version: {}\r\n", session, version);
  world_.tell(fmt::format("client {} strays: {} {}", index_, verb, its_path));
  over->send(std::move(exchange), request_to(verb, its_path, fields, body), -1);
  world_.after(kSecond, [weak = std::weak_ptr<Connection>(over)] {
    if (auto here = weak.lock()) here->close(false);
  });
}

void HttpClient::cancel(CallRecord& record, const std::string& raw_id) {
  record.left_by_message = true;
  aside(
      "POST",
      fmt::format(
          R"({{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{},"reason":"enough"}}}})",
          raw_id),
      [this, &record] {
        record.left_read = world_.now();
        record.left_unread = record.sent < 0;
      },
      nullptr);
}

void HttpClient::leave() {
  if (left_) return;
  listen_ears_.judge();
  auto close_all = [this] {
    left_ = true;
    for (auto& one : connections_)
      one->close(false);
    connections_.clear();
    for (auto& one : fronts_)
      one->close(false);
  };
  if (mine_.modern || !session_open_ || !mine_.deletes_session) return close_all();
  aside("DELETE", "", nullptr, nullptr);
  world_.after(kSecond, close_all);
}

}  // namespace lineward::sim
