// Questions of a legacy stdio server to a group of callers behind which no single client stands: whose each
// is, and how those are answered that are nobody's (behaviour.md 5 and 13).
//
// Belongs to an InstanceGroup.
#pragma once

#include <functional>

#include "net/loop.h"
#include "upstream/shared/caller_group.h"
#include "upstream/shared/legacy_facade.h"
#include "upstream/stdio/instance_calls.h"
#include "upstream/stdio/instance_wire.h"

namespace lineward::upstream {

class GroupQuestions {
 public:
  // `apart_over`: a process that was kept apart may be taken again.
  GroupQuestions(net::Loop& loop, const config::Server& server, const CallerGroup& group,
                 const LegacyFacade& facade, std::function<void()> apart_over)
      : loop_(loop),
        server_(server),
        group_(group),
        facade_(facade),
        apart_over_(std::move(apart_over)),
        apart_timer_(loop) {}
  GroupQuestions(const GroupQuestions&) = delete;
  GroupQuestions& operator=(const GroupQuestions&) = delete;

  // A question of the process that has these calls. The one call that may ask owns it.
  void take(mcp::Message question, const InstanceCalls& calls, InstanceWire& wire);
  // Its server is known to ask after it has answered: for a while after a call nobody else may be taken for
  // whom it means.
  bool keeps_apart(const InstanceCalls& calls);

 private:
  void note_late(mcp::Method method);

  net::Loop& loop_;
  const config::Server& server_;
  const CallerGroup& group_;
  const LegacyFacade& facade_;
  const std::function<void()> apart_over_;
  bool asks_late_ = false;  // a process asked something after it had answered the call
  net::Timer apart_timer_;
};

}  // namespace lineward::upstream
