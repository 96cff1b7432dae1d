#include "upstream/translated_plan.h"

#include <fmt/format.h>

#include "mcp/client_capabilities.h"
#include "mcp/rewrite.h"

namespace lineward::upstream {

using config::Isolation;
using mcp::EndReason;
using mcp::Field;

Result<TranslatedPlan, core::Failure> translated_plan(const config::Server& server,
                                                      const core::CallRequest& request,
                                                      uint64_t call_number) {
  using Refusal = Unexpected<core::Failure>;
  // A retry that found no parked call: the tool must not run a second time.
  if (mcp::may_ask(request.method) && request.message.has(Field::params_request_state)) {
    return Refusal{{EndReason::invalid_request, "the call of this requestState is gone"}};
  }
  TranslatedPlan plan;
  plan.key = "translated";
  if (server.isolation == Isolation::shared) {
    plan.initialize_params = mcp::bare_initialize_params();
    return plan;
  }
  auto declared = mcp::legacy_capabilities(request.message.raw(Field::meta_client_capabilities));
  if (declared.object.size() > mcp::kMaxCapabilityBytes) {
    return Refusal{
        {EndReason::invalid_request, fmt::format("the client declares {} bytes of capabilities, more than {}",
                                                 declared.object.size(), mcp::kMaxCapabilityBytes)}};
  }
  plan.initialize_params = mcp::initialize_params(declared.object);
  plan.exclusive = declared.may_be_asked;
  if (server.isolation == Isolation::call) {
    plan.key = fmt::format("call:{}", call_number);
    return plan;
  }
  // State that is kept for somebody is in one place.
  bool keeps_state = server.isolation == Isolation::principal || server.isolation == Isolation::session;
  if (plan.exclusive && !keeps_state) plan.most = server.instances;
  if (!request.scope.principal.empty()) plan.key += ":" + request.scope.principal;
  if (server.isolation == Isolation::session) plan.key += "/" + request.scope.affinity;
  if (declared.object != "{}") plan.key += " " + declared.object;
  return plan;
}

}  // namespace lineward::upstream
