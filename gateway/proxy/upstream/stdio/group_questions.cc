#include "proxy/upstream/stdio/group_questions.h"

#include <utility>

#include "foundation/log/excerpt.h"
#include "foundation/log/log.h"

namespace lineward::upstream {

using mcp::Method;

// If a server sends requests after its answers, one ping between two calls cannot tell their owners apart.
// From here on its processes are kept apart after each call, as after a cancelled one.
void GroupQuestions::note_late(Method method) {
  if (asks_late_ || method == Method::roots_list) return;
  asks_late_ = true;
  log::write(log::Level::info, "upstream.asks_late",
             {{"upstream", server_.name}, {"group", log::Excerpt(group_.key, 64)}});
}

bool GroupQuestions::keeps_apart(const InstanceCalls& calls) {
  if (!asks_late_ || loop_.now() >= calls.asked_until()) return false;
  if (!apart_timer_.running()) apart_timer_.start(calls.asked_until() - loop_.now(), apart_over_);
  return true;
}

std::optional<std::string> GroupQuestions::take(mcp::Message question, const InstanceCalls& calls) {
  const Method method = mcp::method_of(question.method());
  const bool known = method == Method::elicitation_create || method == Method::sampling_create_message ||
                     method == Method::roots_list;
  // Without capabilities only the single call in flight can own the request: its client gets an error that
  // names the missing capability.
  const bool may_own = known && (group_.exclusive || method != Method::roots_list);
  const bool answered_lately = loop_.now() < calls.asked_until();
  StdioCall* owner = may_own ? calls.asking_call() : nullptr;
  if (group_.exclusive) {
    if (answered_lately && calls.asking() == 0) note_late(method);
    if (owner != nullptr && !calls.asked_by_none_but(*owner)) owner = nullptr;
  } else if (answered_lately) {
    owner = nullptr;  // the request may belong to the answered call
  }
  if (owner != nullptr && owner->request.client_era == mcp::Era::modern) {
    owner->message(std::move(question));
    return std::nullopt;
  }
  // While a cancelled call may still be running, its late requests have no owner.
  const bool late = group_.exclusive && calls.asking() > 0;
  const bool has_answer = method == Method::roots_list && !late;
  return has_answer ? facade_.roots(question) : LegacyFacade::nobody_to_ask(question, "process");
}

}  // namespace lineward::upstream
