#include "upstream/session_plan.h"

#include <fmt/format.h>

#include "mcp/rewrite.h"
#include "upstream/http_headers.h"
#include "upstream/translated_plan.h"

namespace lineward::upstream {

using config::Isolation;

SessionPlan SessionPlanner::plan(const core::Scope& scope) {
  SessionPlan plan;
  plan.era = mcp::Era::legacy;
  if (server_.isolation == Isolation::automatic || server_.isolation == Isolation::session) {
    plan.key = "session:" + scope.session;
    return plan;  // initialised by its own client
  }
  plan.key = "legacy";
  if (server_.isolation == Isolation::principal) plan.key += ":" + scope.principal;
  plan.per_call = server_.isolation == Isolation::call;
  if (plan.per_call) plan.key = fmt::format("call:{}", next_call_++);
  plan.initialize_params = mcp::bare_initialize_params();
  return plan;
}

// The era is part of the key: a verdict may change, a group made for the old one must not serve the new.
Result<SessionPlan, core::Failure> SessionPlanner::plan(const core::CallRequest& request, mcp::Era era) {
  if (is_stateless(request, era)) return stateless_;
  SessionPlan plan;
  plan.era = era;
  // A session belongs to those who came with the same credentials.
  std::string identity = identity_of(forwarded_headers(server_, request.headers));
  if (!identity.empty()) identity = ":as:" + identity;
  if (request.client_era == mcp::Era::legacy) {
    SessionPlan legacy = this->plan(request.scope);
    legacy.plain = request.scope.session.empty() && legacy.initialize_params.empty();
    if (legacy.plain) legacy.key = "plain";
    if (legacy.plain || !legacy.initialize_params.empty()) legacy.key += identity;
    return legacy;
  }
  plan.per_call = server_.isolation == Isolation::call;
  auto translated = translated_plan(server_, request, plan.per_call ? next_call_++ : 0);
  if (!translated) return Unexpected<core::Failure>{translated.error()};
  plan.key = translated->key + identity;
  plan.initialize_params = translated->initialize_params;
  if (translated->exclusive) plan.slots = translated->most;
  return plan;
}

}  // namespace lineward::upstream
