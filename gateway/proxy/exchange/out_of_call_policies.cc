#include "proxy/exchange/out_of_call_policies.h"

#include <string_view>
#include <utility>

#include "config/aggregate.h"
#include "foundation/log/log.h"
#include "proxy/audit/audit.h"
#include "proxy/exchange/exchange.h"
#include "proxy/plugin/client_facts.h"

namespace lineward::exchange {
namespace {

plugin::ServerRole role_of(std::string_view upstream) {
  return config::is_aggregate(upstream) ? plugin::ServerRole::aggregate : plugin::ServerRole::single;
}

void name_message(plugin::RequestInfo& facts, const mcp::Message& message, std::string_view method) {
  facts.method_name = method.empty() ? plugin::kAnswer : method;
  facts.method = mcp::method_of(method);
  facts.bytes_in = message.bytes().size();
}

int status_of(mcp::EndReason reason, const core::ClientRequest& from, config::LegacyStatus legacy) {
  return mcp::is_refusal_of_client(reason) ? refusal_status(reason, from, legacy) : 400;
}

}  // namespace

std::optional<core::PolicyError> judge_of_client(Plugins plugins, core::IncomingMessage& arrival,
                                                 config::LegacyStatus legacy) {
  if (!plugins || plugins->empty()) return std::nullopt;
  const std::string method = arrival.message.method();  // a plugin may replace the message
  plugin::RequestInfo facts = plugin::facts_of(*arrival.from);
  name_message(facts, arrival.message, method);
  facts.rate_limited_status = status_of(mcp::EndReason::rate_limited, *arrival.from, legacy);
  auto refusal = plugins->judge_out_of_call(facts, arrival.message, plugin::Direction::to_server,
                                            role_of(arrival.from->upstream));
  if (!refusal) return std::nullopt;
  log::write(log::Level::info, "client.dropped",
             {{"kind", facts.method_name},
              {"reason", mcp::name(refusal->reason)},
              {"why", refusal->text},
              {"remote", arrival.from->peer}});
  audit::record(
      audit::Kind::refusal,
      {{"who", arrival.from->caller ? std::string_view(arrival.from->caller->name) : core::kAnonymous},
       {"from", arrival.from->peer},
       {"server", arrival.from->upstream},
       {"method", facts.method_name},
       {"session", arrival.from->session.substr(0, 8)},
       {"end", mcp::name(refusal->reason)},
       {"policy", refusal->by},
       {"why", refusal->text}});
  core::PolicyError denial{refusal->reason, status_of(refusal->reason, *arrival.from, legacy),
                           std::move(refusal->text), std::move(refusal->headers)};
  denial.by = std::move(refusal->by);
  if (refusal->retry_after_ms >= 0)
    denial.headers.emplace_back("Retry-After", std::to_string((refusal->retry_after_ms + 999) / 1000));
  return denial;
}

std::optional<std::string> judge_of_server(Plugins plugins, const std::string& upstream,
                                           const std::string& listener, const core::Scope& scope,
                                           mcp::Message& message) {
  if (!plugins || plugins->empty()) return std::nullopt;
  const std::string method = message.method();
  plugin::RequestInfo facts;
  facts.upstream = facts.endpoint = upstream;
  name_message(facts, message, method);
  facts.era = mcp::Era::legacy;
  facts.session = scope.session;
  facts.principal = scope.principal;
  facts.listener = listener;
  auto refusal = plugins->judge_out_of_call(facts, message, plugin::Direction::to_client, role_of(upstream));
  if (!refusal) return std::nullopt;
  log::write(log::Level::warn, "session.dropped",
             {{"session", scope.session.substr(0, 8)}, {"kind", "policy"}, {"why", refusal->text}});
  audit::record(audit::Kind::refusal, {{"who", "server"},
                                       {"server", upstream},
                                       {"method", facts.method_name},
                                       {"session", scope.session.substr(0, 8)},
                                       {"end", mcp::name(refusal->reason)},
                                       {"policy", refusal->by},
                                       {"why", refusal->text}});
  return std::move(refusal->text);
}

}  // namespace lineward::exchange
