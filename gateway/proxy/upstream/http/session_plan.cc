#include "proxy/upstream/http/session_plan.h"

#include <utility>

#include "proxy/upstream/http_client/http_headers.h"

namespace lineward::upstream {

Result<SessionPlan, core::Failure> SessionPlanner::plan(const core::UpstreamRequest& request, mcp::Era era) {
  if (is_stateless(request, era)) return stateless_;
  auto group = grouping_.of(request, era);
  if (!group) return Unexpected<core::Failure>{group.error()};
  SessionPlan plan(std::move(*group));
  if (plan.bridged) return plan;  // whichever credentials the call has
  const bool clients_own = plan.initialize_params.empty();
  plan.plain = clients_own && request.scope.session.empty();
  if (plan.plain) plan.key = "plain";
  if (clients_own && !plan.plain) return plan;
  // A session belongs to callers with the same credentials.
  const std::string identity = identity_of(forwarded_headers(server_, request.headers));
  if (!identity.empty()) plan.key += ":as:" + identity;
  return plan;
}

}  // namespace lineward::upstream
