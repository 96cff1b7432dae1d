// Whose calls share a process, or a session, of a server (behaviour.md 5): a legacy client has its own, or
// one is for all of them or for all of a principal; modern callers share one by what they declare where the
// server is a legacy one and keeps nothing for them, and else by what the configuration says.
//
// Depends on what is asked and on the configuration alone, over whatever transport; keeps no more than the
// number of the last call that got a group for itself.
#pragma once

#include <cstdint>
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
};

class CallerGrouping {
 public:
  explicit CallerGrouping(const config::Server& server) : server_(server) {}

  // Of a legacy client, and of what is listened to for it.
  CallerGroup of_legacy(const core::Scope& scope);
  // Of a call to a server of this era. Fails where the server would have to be told more than is allowed.
  Result<CallerGroup, core::Failure> of(const core::CallRequest& request, mcp::Era era);
  // The key of a modern client's group on a modern server, where it is not made for each call.
  std::string key_of_modern(const core::Scope& scope) const;

 private:
  static CallerGroup of_all();
  CallerGroup of_modern(const core::Scope& scope);
  Result<CallerGroup, core::Failure> translated(const core::CallRequest& request);
  std::string key_of_next_call();

  const config::Server& server_;
  uint64_t next_call_ = 1;
};

}  // namespace lineward::upstream
