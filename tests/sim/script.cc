#include "script.h"

#include <fmt/format.h>

namespace lineward::sim {

std::string raw_member(const std::string& message, const char* name) {
  // Actors write and get one-line JSON in which these members come first or are found by parsing; ids are texts or numbers.
  Json parsed = Json::parse(message, nullptr, false);
  if (!parsed.is_object() || !parsed.contains(name)) return {};
  return parsed[name].dump();
}

std::string reply(const std::string& raw_id, const std::string& result) {
  return fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{}}})", raw_id, result);
}

std::string refusal(const std::string& raw_id, int code, const std::string& text) {
  return fmt::format(R"({{"jsonrpc":"2.0","id":{},"error":{{"code":{},"message":"{}"}}}})", raw_id, code, text);
}

std::string answer_to(const ServerPlan& plan, const std::string& method, const std::string& raw_id) {
  if (method == "server/discover" && plan.modern) {
    return reply(raw_id,
                 R"({"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"resources":{},"prompts":{}},)"
                 R"("ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"sim","version":"1"}}})");
  }
  if (method == "tools/list")
    return reply(raw_id, plan.modern ? R"({"resultType":"complete","tools":[{"name":"work","inputSchema":{"type":"object"}}],"ttlMs":0,"cacheScope":"private"})" : R"({"tools":[{"name":"work","inputSchema":{"type":"object"}}]})");
  if (method == "ping" && !plan.modern) return reply(raw_id, "{}");
  if (method == "logging/setLevel" && !plan.modern) return reply(raw_id, "{}");
  return refusal(raw_id, -32601, "no such method");
}

Script::Script(World& world, Ledger& ledger, Stage& stage, bool modern, CallRecord& record, Attempt& attempt,
               std::string raw_id, std::string token)
    : world_(world), ledger_(ledger), stage_(stage), modern_(modern), record_(record), attempt_(attempt),
      raw_id_(std::move(raw_id)), token_(std::move(token)) {}

void Script::cancelled() {
  if (record_.plan->obeys_cancel) {
    stopped_ = true;
    stage_.over(*this);
  }
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
        ++attempt_.progress;
        stage_.send(*this,
                    fmt::format(R"({{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{},"progress":{},"message":"{}"}}}})",
                                token_, attempt_.progress, record_.plan->tag),
                    false, nullptr);
        break;
      case Op::Kind::result:
      case Op::Kind::error:
      case Op::Kind::tool_error: answer(op.kind); break;
      case Op::Kind::again: stage_.send(*this, last_, false, nullptr); break;
      case Op::Kind::hang: return;
      case Op::Kind::garbage: stage_.garbage(*this); break;
      case Op::Kind::die: stopped_ = true; attempt_.died = world_.now(); stage_.die(*this); return;
      case Op::Kind::close: stopped_ = true; attempt_.died = world_.now(); stage_.close(*this); return;
      case Op::Kind::question: break;
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
    text = reply(raw_id_, fmt::format(R"({{{}"content":[{{"type":"text","text":"{}"}}],{} "structuredContent": {} }})",
                                      modern_ ? R"("resultType":"complete",)" : "", tag,
                                      kind == Op::Kind::tool_error ? R"("isError":true,)" : "", content_of(*record_.plan)));
  }
  last_ = text;
  attempt_.answered = world_.now();
  world_.tell(fmt::format("s{} answers {}", attempt_.server, tag));
  Attempt* attempt = &attempt_;
  stage_.send(*this, std::move(text), true, [this_world = &world_, attempt] { attempt->answer_read = this_world->now(); });
}

}  // namespace lineward::sim
