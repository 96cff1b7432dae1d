// Requests of a legacy stdio server to a group of callers that share a process. Finds the owner of each
// request, and answers requests without an owner (behaviour.md 5 and 13).
//
// Belongs to an InstanceGroup.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "foundation/net/loop.h"
#include "proxy/upstream/shared/caller_group.h"
#include "proxy/upstream/shared/legacy_facade.h"
#include "proxy/upstream/stdio/instance_calls.h"

namespace lineward::upstream {

class GroupQuestions {
 public:
  // `apart_over`: a process that was kept apart may be used again.
  GroupQuestions(net::Loop& loop, const config::Server& server, const CallerGroup& group,
                 const LegacyFacade& facade, std::function<void()> apart_over)
      : loop_(loop), server_(server), group_(group), facade_(facade), apart_over_(std::move(apart_over)) {}

  // Takes a request of the process with these calls. The only call that allows requests owns it; if there is
  // none, returns the answer for the server.
  std::optional<std::string> take(mcp::Message question, const InstanceCalls& calls);
  // The server is known to send requests after its answers. So for a while after a call no other caller may
  // use the process: it could get the first caller's request.
  bool keeps_apart(const InstanceCalls& calls);

 private:
  void note_late(mcp::Method method);

  net::Loop& loop_;
  const config::Server& server_;
  const CallerGroup& group_;
  const LegacyFacade& facade_;
  const std::function<void()> apart_over_;
  bool asks_late_ = false;  // the process sent a request after it had answered the call
  net::Timer apart_timer_{loop_};
};

}  // namespace lineward::upstream
