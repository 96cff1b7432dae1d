#include "config/call_timeouts.h"

#include "foundation/base/glob.h"

namespace lineward::config {
namespace {

void apply_overrides(Timeouts& timeouts, const std::vector<TimeoutOverride>& overrides,
                     std::string_view name) {
  for (const auto& o : overrides) {
    if (!glob_match(o.pattern, name)) continue;
    timeouts.request = o.request.value_or(timeouts.request);
    timeouts.max_duration = o.max_duration.value_or(timeouts.max_duration);
    timeouts.progress_resets = o.progress_resets.value_or(timeouts.progress_resets);
    return;
  }
}

}  // namespace

Timeouts timeouts_for(const Server& server, std::string_view method, std::string_view tool) {
  Timeouts timeouts = server.timeouts;
  apply_overrides(timeouts, server.method_timeouts, method);
  if (!tool.empty()) apply_overrides(timeouts, server.tool_timeouts, tool);
  return timeouts;
}

}  // namespace lineward::config
