// Whose calls share a process, or a session, of a server (behaviour.md 5): a legacy client has its own, or
// one is for all of them or for all of a principal; modern callers share one by what they declare where the
// server is a legacy one and keeps nothing for them, and else by what the configuration says.
//
// Depends on what is asked and on the configuration alone, over whatever transport; keeps no more than the
// number of the last call that got a group for itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "config/config.h"
#include "core/upstream.h"

namespace lineward::upstream {

// Which group a call belongs to, and how it is made when it is the first one there.
struct CallerGroup {
  std::string key;
  mcp::Era era = mcp::Era::modern;
  // Of a legacy server: what Lineward initialises it with. Empty: the client's own `initialize` comes.
  std::string initialize_params = {};
  bool per_call = false;
  // The callers can be asked: one call that may ask at a time, so that every question has an owner.
  bool exclusive = false;
  uint32_t most = 1;  // processes or sessions
  // Of one legacy session that is kept in front of several servers (core::Scope::bridged_session): Lineward
  // initialises it with what that session's client declares, and its scope's owner gets the questions.
  bool bridged = false;
};

class CallerGrouping {
 public:
  explicit CallerGrouping(const config::Server& server) : server_(server) {}

  // Of a legacy client, and of what is listened to for it.
  CallerGroup of_legacy(const core::Scope& scope);
  // Of a call to a server of this era. Fails where the server would have to be told more than is allowed.
  Result<CallerGroup, core::Failure> of(const core::CallRequest& request, mcp::Era era);
  // The key of a session's own group, whether its client initialises it or Lineward.
  static std::string key_of_session(const core::Scope& scope) {
    return "session:" + (scope.bridged_session.empty() ? scope.session : scope.bridged_session);
  }
  // Has this request's session a process, or a session, of its own before a legacy server?
  bool is_bridged(const core::CallRequest& request) const {
    return !request.scope.bridged_session.empty() && config::is_of_one_session(server_.isolation);
  }
  // The key of a modern client's group on a modern server, where it is not made for each call.
  std::string key_of_modern(const core::Scope& scope) const;

 private:
  static CallerGroup of_all();
  CallerGroup of_modern(const core::Scope& scope);
  Result<CallerGroup, core::Failure> translated(const core::CallRequest& request);
  static std::optional<core::Failure> too_large(size_t declared);
  static Result<CallerGroup, core::Failure> of_bridged(const core::CallRequest& request);
  std::string key_of_next_call();

  const config::Server& server_;
  uint64_t next_call_ = 1;
};

}  // namespace lineward::upstream
