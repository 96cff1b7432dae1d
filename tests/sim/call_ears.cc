#include "call_ears.h"

#include <fmt/format.h>

namespace lineward::sim {

void CallEars::progress(CallRecord& record, const std::string& token, const Json& message,
                        const std::string& text) {
  if (record.answers > 0) ledger_.violation("progress after the answer", record.plan->tag);
  if (message["params"]["progressToken"].dump() != token)
    ledger_.violation("progress with a token that is not the client's", text);
  const int number = message["params"]["progress"];
  // While it is parked no messages arrive.
  const bool may_miss_some = record.plan->asks() || record.was_parked;
  const bool in_order = may_miss_some ? number > record.progress : number == record.progress + 1;
  record.progress = number;
  if (!in_order) ledger_.violation("progress was lost, or out of order", text);
}

void CallEars::answer(CallRecord& record, const std::string& raw_id, const Json& message,
                      const std::string& text, bool names_it) {
  ++record.answers;
  if (record.answers > 1) return ledger_.violation("a call was answered twice", text.substr(0, 300));
  if (names_it && member_of(message, "id").dump() != raw_id)
    ledger_.violation("an answer has another id than the call", raw_id + " " + text.substr(0, 300));
  if (message.contains("result")) {
    end(record, message["result"].value("isError", false) ? "tool_error" : "result");
    if (text.find(content_of(*record.plan)) == std::string::npos)
      ledger_.violation("a result was changed on its way", record.plan->tag + " " + text.substr(0, 300));
    return;
  }
  std::string reason;
  const Json& error = object_in(message, "error");
  if (error.contains("data") && error["data"].is_object() && error["data"].contains("io.lineward/gateway"))
    reason = error["data"]["io.lineward/gateway"].value("reason", "");
  end(record, fmt::format("error {} {}", error.value("code", 0), reason));
  if (world_.telling()) world_.tell(fmt::format("  ({})", error.value("message", "")));
}

void CallEars::end(CallRecord& record, std::string outcome) {
  record.ended = world_.now();
  record.outcome = std::move(outcome);
  world_.tell(fmt::format("client {} has {} for {}", client_, record.outcome, record.plan->tag));
}

std::string modern_meta(size_t client, const std::string& capabilities) {
  return fmt::format(
      R"("io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{{"name":"c{}","version":"1"}},"io.modelcontextprotocol/clientCapabilities":{})",
      client, capabilities);
}

std::string call_body(const CallPlan& plan, const CallText& text) {
  return fmt::format(
      R"({{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{{"name":{},"arguments":{}{}{}}}}})",
      text.raw_id, plan.names_no_string ? "5" : '"' + text.tool + '"', arguments_of(plan), text.answers,
      text.meta.empty() ? "" : ",\"_meta\":{" + text.meta + "}");
}

std::string answers_to(Ledger& ledger, const CallPlan& plan, const Json& result) {
  Json answers = Json::object();
  const Json& questions = object_in(result, "inputRequests");
  for (const auto& [key, question] : questions.items()) {
    const std::string tag = tag_in(question.dump());
    if (tag != plan.tag && !ledger.asked_too_late(tag))
      ledger.violation("a question of another call", plan.tag + " got " + question.dump());
    answers[key] = {{"action", "accept"}, {"content", {{"tag", tag}}}};
  }
  return fmt::format(R"(,"inputResponses":{},"requestState":{})", answers.dump(),
                     member_of(result, "requestState").dump());
}

void judge_list(Ledger& ledger, const Plan& plan, size_t client, const Json& message, Asked asked) {
  const ClientPlan& mine = plan.clients[client];
  if (!message.is_object() || !message.contains("result")) {
    if (plan.calm && !asked.has_left && message.is_object())
      ledger.violation("a list failed although nothing went wrong", message.dump());
    return;
  }
  for (const Json& tool : member_of(message["result"], "tools")) {
    const std::string name = tool.value("name", "");
    const int hidden = plan.policies.hides_look;
    if (hidden >= 0 && (mine.together ? name == fmt::format("s{}__look", hidden)
                                      : name == "look" && static_cast<int>(mine.server) == hidden))
      ledger.violation("a list has a tool in it that is hidden", name);
    const std::string text = tool.value("description", "");
    if (text.rfind("for c", 0) != 0) continue;
    const auto asker = static_cast<size_t>(std::atoi(text.c_str() + 5));
    world().tell(fmt::format("client {} got a list {}", client, text));
    const Time made = std::atoll(text.c_str() + text.rfind(' '));
    const ServerPlan& server = plan.servers[mine.server];
    // A call that joins an equal request waits with the others: as long as the server stands still.
    Time on_its_way = kSecond;
    for (const FaultPlan& fault : plan.faults)
      on_its_way += fault.strikes(mine.server) ? fault.length : 0;
    if (!mine.together && made + server.ttl_ms * kMillisecond + on_its_way < asked.at)
      ledger.violation("a list that is older than it may be",
                       fmt::format("{} asked for at {} may live {} ms", text, asked.at, server.ttl_ms));
    if (asker == client || !plan.keys || plan.clients[asker].who == mine.who) continue;
    bool everybodys = false;
    for (size_t i = 0; i < plan.servers.size(); ++i)
      everybodys = everybodys || (plan.servers[i].is_public && plan.config.servers[i].cache.trust_public &&
                                  (mine.together || i == mine.server));
    if (!everybodys) ledger.violation("a list that somebody else was given", text);
  }
}

}  // namespace lineward::sim
