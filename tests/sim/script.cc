#include "script.h"

#include <fmt/format.h>

namespace lineward::sim {

std::string reply(const std::string& raw_id, const std::string& result) {
  return fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{}}})", raw_id, result);
}

std::string refusal(const std::string& raw_id, int code, const std::string& text) {
  return fmt::format(R"({{"jsonrpc":"2.0","id":{},"error":{{"code":{},"message":"{}"}}}})", raw_id, code,
                     text);
}

std::string uri_of(size_t client) {
  return fmt::format("sim:///T{}.900.", client);
}

namespace {

std::string in_listen(const std::string& listen) {
  return listen.empty() ? ""
                        : fmt::format(R"("_meta":{{"io.modelcontextprotocol/subscriptionId":{}}})", listen);
}

}  // namespace

std::string updated(const std::string& uri, const std::string& listen) {
  return fmt::format(
      R"({{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{{"uri":"{}"{}{}}}}})", uri,
      listen.empty() ? "" : ",", in_listen(listen));
}

std::string list_changed(const char* list, const std::string& listen) {
  return fmt::format(R"({{"jsonrpc":"2.0","method":"notifications/{}/list_changed"{}}})", list,
                     listen.empty() ? "" : ",\"params\":{" + in_listen(listen) + "}");
}

std::string acknowledged(const Json& notifications, const std::string& listen) {
  return fmt::format(
      R"({{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{{},"notifications":{}}}}})",
      in_listen(listen), notifications.dump());
}

const char* tool_of(const CallPlan& call) {
  return call.reads_only ? "look" : "work";
}

std::string asker_of(const Json& message) {
  const Json& params = object_in(message, "params");
  const Json& meta = object_in(params, "_meta");
  return object_in(meta, "io.modelcontextprotocol/clientInfo").value("name", "");
}

// A call of "work" must not come twice; one of "look" may.
static std::string tools_of(const ServerPlan& plan, const std::string& asker, Time now) {
  const char* work = plan.describes ? R"("properties":{"zz":{"type":"string","x-mcp-header":"Zz"}},)" : "";
  const char* look = plan.describes ? R"("annotations":{"readOnlyHint":true},)" : "";
  return fmt::format(
      R"("tools":[{{"name":"work","description":"for {} at {}","inputSchema":{{{}"type":"object"}}}},{{"name":"look",{}"inputSchema":{{"type":"object"}}}}])",
      asker, now, work, look);
}

std::string answer_to(const ServerPlan& plan, const std::string& method, const std::string& raw_id,
                      const std::string& asker, Time now) {
  if (method == "server/discover" && plan.modern) {
    return reply(
        raw_id,
        R"({"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true}},)"
        R"("ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"sim","version":"1"}}})");
  }
  if (method == "tools/list")
    return reply(raw_id, plan.modern
                             ? fmt::format(R"({{"resultType":"complete",{},"ttlMs":{},"cacheScope":"{}"}})",
                                           tools_of(plan, asker, now), plan.ttl_ms,
                                           plan.is_public ? "public" : "private")
                             : "{" + tools_of(plan, asker, now) + "}");
  if (method == "ping" && !plan.modern) return reply(raw_id, "{}");
  if (method == "logging/setLevel" && !plan.modern) return reply(raw_id, "{}");
  if ((method == "resources/subscribe" || method == "resources/unsubscribe") && !plan.modern)
    return reply(raw_id, "{}");
  return refusal(raw_id, -32601, "no such method");
}

Script::Script(World& world, Ledger& ledger, Stage& stage, bool modern, CallRecord& record, Attempt& attempt,
               std::string raw_id, std::string token)
    : world_(world),
      ledger_(ledger),
      stage_(stage),
      modern_(modern),
      record_(record),
      attempt_(attempt),
      raw_id_(std::move(raw_id)),
      token_(std::move(token)) {}

void Script::cancelled() {
  if (record_.plan->obeys_cancel) {
    stopped_ = true;
    stage_.over(*this);
  }
}

void Script::begin(const Json& params) {
  // A try with a question that was lost with its process is made again from its beginning.
  const bool anew = record_.plan->reads_only && !params.contains("requestState");
  if (modern_ && record_.goes_on_at > 0 && !anew) {
    const std::string& tag = record_.plan->tag;
    if (params.value("requestState", "") != tag + "state")
      ledger_.violation("a state was changed on its way", params.dump());
    const Json& answers = object_in(params, "inputResponses");
    if (!answers.contains("who") || tag_in(answers["who"].dump()) != tag)
      ledger_.violation("the answer to a question is another's, or missing", tag + " " + answers.dump());
    at_ = record_.goes_on_at;
    told_ = record_.told_progress;
  }
  next();
}

// A modern server answers with its question; a legacy one sends a request.
void Script::ask() {
  const std::string& tag = record_.plan->tag;
  world_.tell(fmt::format("s{} asks in {}", attempt_.server, tag));
  const std::string params =
      fmt::format(R"({{"message":"{}","requestedSchema":{{"type":"object","properties":{{}}}}}})", tag);
  if (!modern_) {
    asks_ = fmt::format("\"q{}.{}\"", tag, at_);
    stage_.send(*this,
                fmt::format(R"({{"jsonrpc":"2.0","id":{},"method":"elicitation/create","params":{}}})", asks_,
                            params),
                false, nullptr);
    return;
  }
  record_.goes_on_at = at_;
  attempt_.asked = true;
  attempt_.answered = world_.now();
  stopped_ = true;
  stage_.send(
      *this,
      reply(
          raw_id_,
          fmt::format(
              R"({{"resultType":"input_required","requestState":"{}state","inputRequests":{{"who":{{"method":"elicitation/create","params":{}}}}}}})",
              tag, params)),
      true, [this_world = &world_, attempt = &attempt_] { attempt->answer_read = this_world->now(); });
}

void Script::replied(const Json& message) {
  asks_.clear();
  const std::string& tag = record_.plan->tag;
  if (message.contains("result") && message["result"].value("action", "") == "accept" &&
      tag_in(message.dump()) != tag)
    ledger_.violation("the answer to a question is another's", tag + " " + message.dump());
  // A question that names no call belongs to none while another client's request is in flight beside it
  // (behaviour.md 9).
  const bool nobodys = message.contains("error") && message["error"].value("code", 0) == -32601;
  if (world_.calm && !message.contains("result") && !nobodys)
    ledger_.violation("a question was refused although nothing went wrong", message.dump());
  if (!stopped_) next();
}

void Script::next() {
  std::weak_ptr<bool> alive = alive_;
  while (!stopped_ && at_ < record_.plan->ops.size()) {
    const Op& op = record_.plan->ops[at_++];
    switch (op.kind) {
      case Op::Kind::wait:
        world_.after(op.wait, [this, alive] {
          if (!alive.expired() && !stopped_) next();
        });
        return;
      case Op::Kind::progress:
        if (token_.empty()) break;
        record_.told_progress = ++told_;
        stage_.send(
            *this,
            fmt::format(
                R"({{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{},"progress":{},"message":"{}"}}}})",
                token_, told_, record_.plan->tag),
            false, nullptr);
        break;
      case Op::Kind::result:
      case Op::Kind::error:
      case Op::Kind::tool_error: answer(op.kind); break;
      case Op::Kind::again: stage_.send(*this, last_, false, nullptr); break;
      case Op::Kind::hang: return;
      case Op::Kind::garbage: stage_.garbage(*this); break;
      case Op::Kind::die:
        stopped_ = true;
        if (attempt_.died < 0) attempt_.died = world_.now();  // its connection may have died before
        stage_.die(*this);
        return;
      case Op::Kind::close:
        stopped_ = true;
        if (attempt_.died < 0) attempt_.died = world_.now();
        stage_.close(*this);
        return;
      case Op::Kind::question:
        if (!stage_.may_ask(*this)) break;
        ask();
        return;
    }
    if (alive.expired()) return;
  }
  if (!stopped_) {
    stopped_ = true;
    stage_.over(*this);
  }
}

void Script::answer(Op::Kind kind) {
  const std::string& tag = record_.plan->tag;
  std::string text;
  if (kind == Op::Kind::error) {
    text = refusal(raw_id_, -32050, tag);
  } else {
    text =
        reply(raw_id_,
              fmt::format(
                  R"({{{}"content":[{{"type":"text","text":"{} sk-sim-{}"}}],{} "structuredContent": {} }})",
                  modern_ ? R"("resultType":"complete",)" : "", tag, record_.plan->at,
                  kind == Op::Kind::tool_error ? R"("isError":true,)" : "", content_of(*record_.plan)));
  }
  last_ = text;
  attempt_.answered = world_.now();
  world_.tell(fmt::format("s{} answers {}", attempt_.server, tag));
  Attempt* attempt = &attempt_;
  CallRecord* record = &record_;
  stage_.send(*this, std::move(text), true,
              [this_world = &world_, attempt] { attempt->answer_read = this_world->now(); });
  if (record->leaves_at) std::exchange(record->leaves_at, nullptr)(stage_.arrival());
}

}  // namespace lineward::sim
