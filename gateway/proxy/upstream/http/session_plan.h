// Assigns calls to sessions with an HTTP server. The caller groups are those of every transport
// (caller_group.h), split by credentials. If calls take turns, there are several groups side by side. Calls
// without a session share one group.
//
// Owned by an HttpUpstream.
#pragma once

#include <string>

#include "proxy/upstream/shared/caller_group.h"

namespace lineward::upstream {

struct SessionPlan : CallerGroup {
  SessionPlan() = default;
  explicit SessionPlan(CallerGroup group) : CallerGroup(std::move(group)) {}

  std::string family;        // if several groups take turns; empty: a single group
  bool listens_here = true;  // the first of them
  bool plain = false;
  // The number of groups that take turns with calls that allow server requests, each with its own key. 0: a
  // single group; its first caller has decided whether such calls take turns.
  uint32_t slots() const { return exclusive && most > 1 ? most : 0; }
};

class SessionPlanner {
 public:
  explicit SessionPlanner(const config::Server& server) : server_(server), grouping_(server) {
    stateless_.key = "modern";
  }

  // For a legacy client.
  SessionPlan plan(const core::Scope& scope) { return SessionPlan(grouping_.of_legacy(scope)); }
  // For a call to a server of this era. Fails if the client declares more capabilities than allowed.
  Result<SessionPlan, core::Failure> plan(const core::UpstreamRequest& request, mcp::Era era);
  // No state anywhere: all such calls share one queue and one constant plan.
  static bool is_stateless(const core::UpstreamRequest& request, mcp::Era era) {
    return !request.of_session() && era == mcp::Era::modern;
  }
  bool is_bridged(const core::UpstreamRequest& request) const { return grouping_.is_bridged(request); }
  const SessionPlan& stateless() const { return stateless_; }

 private:
  const config::Server& server_;
  CallerGrouping grouping_;
  SessionPlan stateless_;
};

}  // namespace lineward::upstream
