// Whose calls share a session with an HTTP server (behaviour.md 5): a legacy client's own session, one for
// all legacy clients or for all of a principal, one for the modern callers that declare the same of a legacy
// server, and none on a modern one.
//
// Owned by an HttpUpstream. Depends on what is asked and on the configuration alone; keeps no more than the
// number of the last call that got a session for itself.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "config/config.h"
#include "core/upstream.h"

namespace lineward::upstream {

// Which group a call belongs to, and how it is made when it is the first one there.
struct SessionPlan {
  std::string key;
  std::string family;  // where several groups take turns; empty: it is alone
  bool home = true;    // the first of them
  mcp::Era era = mcp::Era::modern;
  std::string initialize_params;  // of a legacy server; empty: its client initialises it
  bool per_call = false;
  bool plain = false;
  uint32_t slots = 0;  // of groups that take turns with calls that may ask; 0: no matter
};

class SessionPlanner {
 public:
  explicit SessionPlanner(const config::Server& server) : server_(server) {}

  // Of a legacy client.
  SessionPlan plan(const core::Scope& scope);
  // Of a call to a server of this era. Fails where the server would have to be told more than is allowed.
  Result<SessionPlan, core::Failure> plan(const core::CallRequest& request, mcp::Era era);
  // No state anywhere: all such calls share one queue, and one plan that need not be made.
  static bool is_stateless(const core::CallRequest& request, mcp::Era era) {
    return request.client_era == mcp::Era::modern && era == mcp::Era::modern;
  }
  const SessionPlan& stateless() const { return stateless_; }

 private:
  const config::Server& server_;
  const SessionPlan stateless_{.key = "modern", .family = {}, .initialize_params = {}};
  uint64_t next_call_ = 1;
};

}  // namespace lineward::upstream
