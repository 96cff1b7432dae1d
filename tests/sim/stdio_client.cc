#include "stdio_client.h"

#include <fmt/format.h>

#include <algorithm>

#include "json_text.h"

namespace lineward::sim {
namespace {

constexpr const char* kListen = "\"l0\"";

}  // namespace

StdioClient::StdioClient(World& world, Ledger& ledger, const Plan& plan, size_t index,
                         std::shared_ptr<Link> in, std::shared_ptr<Link> out)
    : Client(world, ledger, plan, index),
      in_(std::move(in)),
      out_(std::move(out)),
      writer_(std::make_unique<Writer>(in_)) {
  out_->from_gateway.on_ready = [this] { read(); };
}

StdioClient::~StdioClient() {
  out_->from_gateway.on_ready = nullptr;
}

void StdioClient::begin() {
  Time first = -1;
  const auto begins = [&](Time at) { first = first < 0 ? at : std::min(first, at); };
  for (const CallPlan& one : mine_.calls) {
    if (one.dropped) continue;
    begins(one.at);
    world_.at(one.at, [this, &one] { call(one, {}); });
  }
  if (mine_.listens_at >= 0 && !mine_.listens_dropped) {
    begins(mine_.listens_at);
    world_.at(mine_.listens_at, [this] { listen(); });
  }
  if (!mine_.modern && first >= 0) world_.at(first, [this] { initialize(0); });
  for (const Time at : mine_.lists_at)
    world_.at(at, [this] { list(); });
}

void StdioClient::leave() {
  if (left_) return;
  listen_ears_.judge();
  left_ = true;
  for (auto& [raw_id, running] : calls_) {
    (void)raw_id;
    if (running.record->ended < 0 && running.record->left < 0) running.record->left = world_.now();
  }
  world_.tell(fmt::format("client {} ends the pipe", index_));
  writer_->end();
}

void StdioClient::write(const std::string& message) {
  writer_->write(message + "\n");
}

// ---- what comes ----

void StdioClient::read() {
  Way& from = out_->from_gateway;
  while (!from.ready().empty()) {
    buffer_ += from.ready();
    from.take(from.ready().size());
    for (size_t end; (end = buffer_.find('\n')) != std::string::npos;) {
      const std::string text = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      line(text);
    }
  }
  if (from.at_end() || from.broken()) gateway_gone();
}

// Its pipe has ended: no answers come any more.
void StdioClient::gateway_gone() {
  left_ = true;
  for (auto& [raw_id, running] : calls_) {
    (void)raw_id;
    if (running.record->ended < 0 && running.record->left < 0) ears_.end(*running.record, "cut");
  }
}

void StdioClient::line(const std::string& text) {
  ledger_.check_client(index_, text);
  const Json message = read_json(text);
  if (!message.is_object())
    return ledger_.violation("a message to a client is no JSON object", text.substr(0, 200));
  const bool has_id = message.contains("id");
  if (!message.contains("method")) return answered(has_id ? message["id"].dump() : "", message, text);
  if (has_id) return question(message, text);
  told(message, text);
}

void StdioClient::answered(const std::string& raw_id, const Json& message, const std::string& text) {
  if (auto own = own_.find(raw_id); own != own_.end()) {
    const auto then = std::exchange(own->second, nullptr);
    if (!then) return ledger_.violation("a request was answered twice", text.substr(0, 300));
    return then(message);
  }
  auto found = calls_.find(raw_id);
  if (found == calls_.end()) return ledger_.violation("an answer to no request", text.substr(0, 300));
  CallRecord& record = *found->second.record;
  const std::string tag = tag_in(text);
  if (!tag.empty() && tag != record.plan->tag && !ledger_.asked_too_late(tag))
    ledger_.violation("a message came on the stream of another call",
                      record.plan->tag + " got " + text.substr(0, 300));
  if (message.contains("result") && message["result"].value("resultType", "") == "input_required")
    return asked(record, message["result"]);
  ears_.answer(record, raw_id, message, text, true);
}

void StdioClient::told(const Json& message, const std::string& text) {
  const std::string method = message["method"];
  const Json& params = object_in(message, "params");
  if (method == "notifications/progress") {
    const std::string token = member_of(params, "progressToken").dump();
    const auto found = std::find_if(calls_.begin(), calls_.end(),
                                    [&](const auto& one) { return one.second.token == token; });
    if (found == calls_.end())
      return ledger_.violation("progress with a token that is not the client's", text);
    return ears_.progress(*found->second.record, token, message, text);
  }
  const Json& meta = object_in(params, "_meta");
  if (meta.contains("io.modelcontextprotocol/subscriptionId"))
    return listen_ears_.notification(kListen, message, text);
  if (!mine_.modern && method == "notifications/resources/updated") listen_ears_.updated();
}

// ---- questions ----

void StdioClient::question(const Json& message, const std::string& text) {
  const std::string raw_id = message["id"].dump();
  if (message["method"] != "elicitation/create") return;
  if (mine_.modern) ledger_.violation("a modern client gets a request of a server", text.substr(0, 300));
  if (!mine_.can_be_asked) ledger_.violation("a client is asked that did not declare it", text);
  const std::string tag = tag_in(text);
  const CallRecord* record = ledger_.find(tag);
  if (record == nullptr || record->plan->never_answers) return;
  world_.after(record->plan->answer_after, [this, raw_id, tag] {
    if (left_) return;
    world_.tell(fmt::format("client {} answers the question {}", index_, raw_id));
    write(
        fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{{"action":"accept","content":{{"tag":"{}"}}}}}})",
                    raw_id, tag));
  });
}

// ---- what it asks ----

void StdioClient::ask(const std::string& raw_id, const std::string& method, const std::string& params,
                      std::function<void(const Json&)> then) {
  own_[raw_id] = [then = std::move(then)](const Json& message) {
    if (then) then(message);
  };
  write(fmt::format(R"({{"jsonrpc":"2.0","id":{},"method":"{}","params":{}}})", raw_id, method, params));
}

void StdioClient::initialize(int tries) {
  if (left_) return;
  ask(fmt::format("\"i{}\"", tries), "initialize",
      fmt::format(
          R"({{"protocolVersion":"{}","capabilities":{},"clientInfo":{{"name":"c{}","version":"1"}}}})",
          mine_.version, capabilities(), index_),
      [this, tries](const Json& message) { initialized(message, tries); });
}

void StdioClient::initialized(const Json& message, int tries) {
  world_.tell(
      fmt::format("client {} {} its session", index_, message.contains("result") ? "has" : "has not"));
  if (!message.contains("result")) {
    if (plan_.calm) ledger_.violation("an initialize failed although nothing goes wrong", message.dump());
    if (tries < 3) world_.after(500 * kMillisecond, [this, tries] { initialize(tries + 1); });
    return;
  }
  session_open_ = true;
  write(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
  for (const CallPlan* one : std::exchange(waiting_, {}))
    call(*one, {});
}

void StdioClient::list() {
  if (left_ || (!mine_.modern && !session_open_)) return;
  ask(std::to_string(++last_own_), "tools/list",
      mine_.modern ? "{\"_meta\":{" + modern_meta(index_, "{}") + "}}" : "{}",
      [this, asked = world_.now()](const Json& message) {
        judge_list(ledger_, plan_, index_, message, {asked, left_});
      });
}

void StdioClient::listen() {
  if (left_ || (!mine_.modern && !session_open_)) return;
  world_.tell(fmt::format("client {} listens", index_));
  if (mine_.modern) {
    ask(kListen, "subscriptions/listen",
        fmt::format(R"({{"notifications":{{{}}},"_meta":{{{}}}}})", listen_ears_.wishes(),
                    modern_meta(index_, "{}")),
        [this](const Json&) { listen_ears_.ended(); });
  } else if (!mine_.together) {
    ask(std::to_string(++last_own_), "resources/subscribe", fmt::format(R"({{"uri":"{}"}})", uri_of(index_)),
        [this](const Json& message) {
          if (message.contains("result")) listen_ears_.subscribed();
        });
  }
  world_.after(mine_.listens_for, [this] {
    if (left_) return;
    listen_ears_.stopped();
    if (mine_.modern) {
      write(fmt::format(
          R"({{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{}}}}})", kListen));
    } else if (!mine_.together) {
      ask(std::to_string(++last_own_), "resources/unsubscribe",
          fmt::format(R"({{"uri":"{}"}})", uri_of(index_)), nullptr);
    }
  });
}

void StdioClient::call(const CallPlan& plan, const std::string& answers) {
  if (left_) return;
  if (!mine_.modern && !session_open_) {
    waiting_.push_back(&plan);
    return;
  }
  const size_t number =
      static_cast<size_t>(&plan - mine_.calls.data()) + 1 + (answers.empty() ? 0 : 99 * ++rounds_);
  CallText text;
  text.raw_id = number % 3 == 0 ? fmt::format("\"{}\"", number) : fmt::format("{}", number);
  text.token = number % 2 == 0 ? fmt::format("\"{}\"", number) : fmt::format("{}", number);
  text.tool = (mine_.together ? plan_.servers[plan.server].name + "__" : "") + tool_of(plan);
  text.answers = answers;
  text.meta = plan.wants_progress ? fmt::format(R"("progressToken":{})", text.token) : "";
  if (mine_.modern) text.meta += (text.meta.empty() ? "" : ",") + modern_meta(index_, capabilities());
  CallRecord& record = ledger_.begin(plan, index_, mine_.modern);
  record.link = in_;
  record.remote = "stdio";
  record.raw_id = text.raw_id;
  if (record.begun < 0) record.begun = world_.now();
  calls_[text.raw_id] = {&record, text.token};
  write(call_body(plan, text));
  writer_->when_read([&record, this] { record.sent = world_.now(); });
  world_.tell(fmt::format("client {} calls {} of s{}", index_, plan.tag, plan.server));
  if (plan.leave == Leave::stay || !answers.empty()) return;
  world_.after(plan.leave_after, [this, &record, raw_id = text.raw_id] { leave_call(record, raw_id); });
}

void StdioClient::leave_call(CallRecord& record, const std::string& raw_id) {
  // A retry has an id of its own.
  if (left_ || record.ended >= 0 || record.left >= 0 || (record.raw_id != raw_id && !record.parked)) return;
  record.left = world_.now();
  if (record.parked) {  // it does not come back
    record.left_parked = true;
    return;
  }
  world_.tell(fmt::format("client {} leaves {}", index_, record.plan->tag));
  record.left_by_message = true;
  write(fmt::format(
      R"({{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{},"reason":"enough"}}}})",
      raw_id));
  writer_->when_read([this, &record] { record.left_read = world_.now(); });
}

}  // namespace lineward::sim
