#include "upstream/http/question_slots.h"

#include <fmt/format.h>

#include <algorithm>

#include "log/excerpt.h"
#include "log/log.h"
#include "mcp/errors.h"
#include "mcp/rewrite.h"

namespace lineward::upstream {

using mcp::Field;
using mcp::Method;

namespace {

// Some call is under way during which the server may ask.
bool may_be_asking(const SessionGroup& group) {
  const std::vector<HttpCall*> calls = group.under_way();
  return std::any_of(calls.begin(), calls.end(),
                     [](const HttpCall* call) { return mcp::may_ask(call->request.method); });
}

}  // namespace

void QuestionSlots::place(HttpCall& call, SessionPlan plan) {
  const bool asks = mcp::may_ask(call.request.method);
  const bool behind_others = asks && !waiting_.empty() && takes_turns(plan);
  SessionGroup* group = behind_others ? nullptr : free_group(std::move(plan), call);
  if (group == nullptr) {
    waiting_.push_back(&call);
  } else {
    groups_.join(*group, call);
  }
}

// One that is there has decided, whatever this caller declares.
bool QuestionSlots::takes_turns(const SessionPlan& plan) {
  if (plan.slots() > 0) return true;
  const SessionGroup* group = groups_.find(plan.key);
  return group != nullptr ? group->exclusive : plan.exclusive;
}

// The group for a call; where calls take turns the first free one, or none. Other methods share the first.
SessionGroup* QuestionSlots::free_group(SessionPlan plan, const HttpCall& call) {
  const bool asks = mcp::may_ask(call.request.method);
  if (plan.slots() == 0) {
    const SessionGroup* group = groups_.find(plan.key);
    const bool taken = group != nullptr && group->exclusive && asks && !group->takes_question();
    return taken ? nullptr : &groups_.get(plan);
  }
  std::string name = plan.key;
  plan.family = name;
  SessionGroup* anothers = nullptr;  // free, and another caller may be meant there
  for (uint32_t slot = 1; slot <= plan.slots(); ++slot) {
    plan.key = fmt::format("{}#{}", name, slot);
    plan.listens_here = slot == 1;
    SessionGroup* group = groups_.find(plan.key);
    const bool is_free = group == nullptr || !asks || group->takes_question();
    if (!is_free) continue;
    if (group == nullptr || !asks || !may_mean_another(*group, call)) return &groups_.get(plan);
    if (anothers == nullptr) anothers = group;
  }
  return anothers;
}

// On a call's stream its server asks that call.
bool QuestionSlots::may_mean_another(const SessionGroup& group, const HttpCall& call) const {
  const bool names_none = asks_aside_ || (group.session() != nullptr && group.session()->over_sse());
  return names_none && !group.asked_by_none_but(call);
}

void QuestionSlots::fill(mcp::Era era) {
  if (waiting_.empty()) return;
  std::erase_if(waiting_, [&](HttpCall* call) {
    auto plan = planner_.plan(call->request, era);
    SessionGroup* group = plan ? free_group(std::move(*plan), *call) : nullptr;
    if (group == nullptr) return false;
    groups_.join(*group, *call);
    return true;
  });
  std::deque<HttpCall*> waiting = waiting_;
  for (HttpCall* call : waiting) {
    if (std::find(waiting_.begin(), waiting_.end(), call) != waiting_.end())
      call->phase(core::CallPhase::queued);
  }
  if (auto next = groups_.next_apart(); next && !waiting_.empty()) pump_after(*next - loop_.now());
}

void QuestionSlots::pump_after(std::chrono::milliseconds pause) {
  apart_timer_.start(pause, [this] { pump_.schedule(); });
}

void QuestionSlots::note_over(SessionGroup& group, const HttpCall& call) {
  if (group.note_over(call) && asks_late_) keep_apart(group);
}

void QuestionSlots::keep_apart(SessionGroup& group) {
  if (!group.exclusive) return;
  group.keep_apart();
  if (!apart_timer_.running()) pump_after(server_.timeouts.cancel_grace);
}

bool QuestionSlots::may_follow(SessionGroup& group) {
  if (group.is_apart()) {
    if (!apart_timer_.running()) pump_after(group.apart_until() - loop_.now());
    return false;
  }
  group.settle_turn();
  return true;
}

// A server's question where no client's session stands behind ours: it belongs to the call on whose stream it
// came; one on the GET stream to the only call that can have caused it.
void QuestionSlots::question(HttpSession& session, SessionGroup& group, mcp::Message message,
                             HttpCall* call) {
  Method method = mcp::method_of(message.method());
  bool known = method == Method::elicitation_create || method == Method::sampling_create_message ||
               method == Method::roots_list;
  HttpCall* owner = call != nullptr && mcp::may_ask(call->request.method) ? call : nullptr;
  const bool answered_lately = group.answered_lately();
  asks_aside_ = asks_aside_ || call == nullptr;
  if (call == nullptr) owner = !group.exclusive && answered_lately ? nullptr : group.asking_call();
  if (call == nullptr && owner != nullptr && !group.asked_by_none_but(*owner)) owner = nullptr;
  const bool late_one = call == nullptr && !may_be_asking(group) && group.exclusive && answered_lately &&
                        !group.is_apart() && known && method != Method::roots_list;
  if (late_one && !std::exchange(asks_late_, true)) {
    log::write(log::Level::info, "upstream.asks_late",
               {{"upstream", server_.name}, {"group", log::Excerpt(group.key, 64)}});
    keep_apart(group);
  }
  bool modern = owner != nullptr && owner->request.client_era == mcp::Era::modern;
  bool of_nobody = method == Method::roots_list && !group.exclusive;
  if (known && modern && !of_nobody) return owner->message(std::move(message));
  // While a cancelled call may still be at work, its late questions find nobody; nor does what may be meant
  // for one client or another.
  const bool refused = group.exclusive && (group.is_apart() || may_be_asking(group));
  const bool is_answered = method == Method::roots_list && !refused;
  session.post(is_answered ? group.facade.roots(message) : LegacyFacade::nobody_to_ask(message, "session"));
}

}  // namespace lineward::upstream
