// Assigns calls to groups that share a process, or a session, of a server (behaviour.md 5). A legacy client
// has its own, or shares one with all clients or with those of its principal. Modern callers of a legacy
// server without kept state share one by declared capabilities. In all other cases the configuration decides.
//
// Depends only on the request and the configuration, for every transport. Its only state is the number of the
// last single-call group.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "config/config.h"
#include "foundation/base/result.h"
#include "proxy/core/upstream.h"

namespace lineward::upstream {

// The group of a call, and how to create it.
struct CallerGroup {
  std::string key;
  mcp::Era era = mcp::Era::modern;
  // For a legacy server: the parameters of Lineward's `initialize`. Empty: the client sends `initialize`.
  std::string initialize_params = {};
  bool per_call = false;
  // The callers accept server requests: calls that allow them run one at a time, so that every request has an
  // owner.
  bool exclusive = false;
  uint32_t most = 1;  // maximum number of processes or sessions
  // For one legacy session in front of several servers (core::Scope::bridged_session): Lineward initialises
  // it with that client's capabilities, and its scope's owner gets the server's requests.
  bool bridged = false;
};

class CallerGrouping {
 public:
  explicit CallerGrouping(const config::Server& server) : server_(server) {}

  // For a legacy client, and for its listens.
  CallerGroup of_legacy(const core::Scope& scope);
  // For a call to a server of this era. Fails if the client declares more capabilities than allowed.
  Result<CallerGroup, core::Failure> of(const core::UpstreamRequest& request, mcp::Era era);
  // The key of a session's own group, whether its client or Lineward initialises it.
  static std::string key_of_session(const core::Scope& scope) {
    return "session:" + (scope.bridged_session.empty() ? scope.session : scope.bridged_session);
  }
  // Whether this scope's session has a process, or a session, of its own at a legacy server.
  bool is_bridged(const core::Scope& scope) const { return is_bridged(server_, scope); }
  static bool is_bridged(const config::Server& server, const core::Scope& scope) {
    return !scope.bridged_session.empty() && config::is_of_one_session(server.isolation);
  }
  // The key of a modern client's group on a modern server, unless each call has its own.
  std::string key_of_modern(const core::Scope& scope) const;
  // The keys of the groups that keep the state of this name, for a scope that names no session.
  std::vector<std::string> keys_of_state(const core::Scope& scope) const;

 private:
  static CallerGroup of_all();
  CallerGroup of_modern(const core::Scope& scope);
  std::string key_of_translated(const core::Scope& scope) const;
  Result<CallerGroup, core::Failure> translated(const core::UpstreamRequest& request);
  static std::optional<core::Failure> too_large(size_t declared);
  static Result<CallerGroup, core::Failure> of_bridged(const core::UpstreamRequest& request);
  std::string key_of_next_call();

  const config::Server& server_;
  uint64_t next_call_ = 1;
};

// Whether the scope's session is bridged, and has a process or a session of its own there, or may get one.
inline bool has_its_own(core::Upstream& upstream, const config::Server& server, const core::Scope& scope) {
  return CallerGrouping::is_bridged(server, scope) && !upstream.parts(scope).is_translated;
}

}  // namespace lineward::upstream
