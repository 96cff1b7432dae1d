// Whose calls share a session with an HTTP server: the groups of callers that every transport has
// (caller_group.h), apart by the credentials they come with, several of them side by side where calls take
// turns; and the one group of calls that need no session at all.
//
// Owned by an HttpUpstream.
#pragma once

#include <string>

#include "upstream/shared/caller_group.h"

namespace lineward::upstream {

struct SessionPlan : CallerGroup {
  SessionPlan() = default;
  explicit SessionPlan(CallerGroup group) : CallerGroup(std::move(group)) {}

  std::string family;        // where several groups take turns; empty: it is alone
  bool listens_here = true;  // the first of them
  bool plain = false;
  // So many groups take turns with calls that may ask, each under a key of its own; 0: there is one, and its
  // first caller has decided whether such calls take turns there.
  uint32_t slots() const { return exclusive && most > 1 ? most : 0; }
};

class SessionPlanner {
 public:
  explicit SessionPlanner(const config::Server& server) : server_(server), grouping_(server) {
    stateless_.key = "modern";
  }

  // Of a legacy client.
  SessionPlan plan(const core::Scope& scope) { return SessionPlan(grouping_.of_legacy(scope)); }
  // Of a call to a server of this era. Fails where the server would have to be told more than is allowed.
  Result<SessionPlan, core::Failure> plan(const core::CallRequest& request, mcp::Era era);
  // No state anywhere: all such calls share one queue, and one plan that need not be made.
  static bool is_stateless(const core::CallRequest& request, mcp::Era era) {
    return !request.of_session() && era == mcp::Era::modern;
  }
  bool is_bridged(const core::CallRequest& request) const { return grouping_.is_bridged(request); }
  const SessionPlan& stateless() const { return stateless_; }

 private:
  const config::Server& server_;
  CallerGrouping grouping_;
  SessionPlan stateless_;
};

}  // namespace lineward::upstream
