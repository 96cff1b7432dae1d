#include "proxy/upstream/http/question_slots.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "foundation/log/log.h"
#include "proxy/metrics/limits.h"
#include "proxy/upstream/shared/shown_group.h"

namespace lineward::upstream {

void QuestionSlots::place(HttpCall& call, SessionPlan plan) {
  const bool asks = mcp::may_ask(call.request.method);
  const bool behind_others = asks && !waiting_.empty() && takes_turns(plan);
  SessionGroup* group = behind_others ? nullptr : free_group(std::move(plan), call);
  if (group == nullptr) {
    join_by_turn(waiting_, call);
  } else {
    groups_.join(*group, call);
  }
}

// An existing group has decided, whatever this caller declares.
bool QuestionSlots::takes_turns(const SessionPlan& plan) {
  if (plan.slots() > 0) return true;
  const SessionGroup* group = groups_.find(plan.key);
  return group != nullptr ? group->exclusive : plan.exclusive;
}

// The group for a call; if calls take turns the first free one, or null. Other methods share the first.
SessionGroup* QuestionSlots::free_group(SessionPlan plan, const HttpCall& call) {
  const bool asks = mcp::may_ask(call.request.method);
  if (plan.slots() == 0) {
    const SessionGroup* group = groups_.find(plan.key);
    const bool taken = group != nullptr && group->exclusive && asks && !group->takes_question();
    return taken ? nullptr : &groups_.get(plan);
  }
  std::string name = plan.key;
  plan.family = name;
  SessionGroup* anothers = nullptr;  // free, but a request there may be meant for another caller
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

// A request on a call's stream belongs to that call.
bool QuestionSlots::may_mean_another(const SessionGroup& group, const HttpCall& call) const {
  const bool names_none = asks_aside_ || (group.session() != nullptr && group.session()->over_sse());
  return names_none && !group.attribution.asked_by_none_but(call);
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
  bool again = false;
  std::set<std::pair<const Account*, std::string>> in_vain;  // one search per caller
  for (HttpCall* call : std::deque<HttpCall*>(waiting_)) {
    if (std::find(waiting_.begin(), waiting_.end(), call) == waiting_.end()) continue;
    auto plan = planner_.plan(call->request, era);
    if (!plan || in_vain.count({call->caller(), plan->key}) > 0) continue;
    const bool made = make_room(*plan, *call);
    if (!made) in_vain.emplace(call->caller(), plan->key);
    again = again || made;
  }
  if (again) pump_.schedule();
  std::deque<HttpCall*> waiting = waiting_;
  for (HttpCall* call : waiting) {
    if (std::find(waiting_.begin(), waiting_.end(), call) != waiting_.end())
      call->phase(core::CallPhase::queued);
  }
  if (auto next = groups_.next_apart(); next && !waiting_.empty()) pump_after(*next - loop_.now());
}

bool QuestionSlots::make_room(const SessionPlan& plan, const HttpCall& asking) {
  const size_t kept = std::min<size_t>(server_.limits.max_parked_per_caller, Account::share_of(plan.slots()));
  std::unordered_map<const Account*, size_t> parked;
  HttpCall* oldest = nullptr;
  auto only_parked = [this, &plan](uint32_t slot) -> HttpCall* {
    SessionGroup* group = groups_.find(fmt::format("{}#{}", plan.key, slot));
    if (group == nullptr || !group->queue().empty()) return nullptr;
    const std::vector<HttpCall*> calls = group->under_way();
    const bool alone = calls.size() == 1 && calls.front()->parked_since && !group->is_listened();
    return alone && calls.front()->caller() != nullptr ? calls.front() : nullptr;
  };
  for (uint32_t slot = 1; slot <= plan.slots(); ++slot) {
    if (const HttpCall* call = only_parked(slot)) ++parked[call->caller()];
  }
  for (uint32_t slot = 1; slot <= plan.slots(); ++slot) {
    HttpCall* call = only_parked(slot);
    if (call == nullptr || call->caller() == asking.caller() || parked[call->caller()] <= kept) continue;
    if (oldest == nullptr || *call->parked_since < *oldest->parked_since) oldest = call;
  }
  SessionGroup* with = oldest == nullptr ? nullptr : groups_.find(oldest->group);
  if (with == nullptr) return false;
  metrics::limit_reached(metrics::Limit::parked_per_caller);
  log::write(log::Level::info, "upstream.evict",
             {{"upstream", server_.name},
              {"group", shown_group(with->key)},
              {"why", "its parked call made room for another"}});
  oldest->end_parked(
      {mcp::EndReason::timeout_park,
       fmt::format("its client did not come back in {} ms, and another caller needs its session "
                   "(beyond {} parked calls of a caller: limits.maxParkedPerCaller)",
                   (loop_.now() - *oldest->parked_since).count(), kept)});
  // The cancelled call may run on for a while, so the session cannot serve others.
  groups_.close(*with, "its parked call made room for another");
  return true;
}

void QuestionSlots::pump_after(std::chrono::milliseconds pause) {
  apart_timer_.start(pause, [this] { pump_.schedule(); });
}

void QuestionSlots::note_over(SessionGroup& group, HttpCall& call, Attribution::End end) {
  if (call.is_listen()) return;
  group.attribution.note_over(PossibleCall::of(call), end);
  const bool asks = mcp::may_ask(call.request.method);
  if (asks && (asks_late_ || end == Attribution::End::cancelled)) keep_apart(group);
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
  group.acquire_turn();
  return true;
}

void QuestionSlots::note_question(SessionGroup& group, bool aside, const Addressee& to) {
  asks_aside_ = asks_aside_ || aside;
  if (!to.asks_late || std::exchange(asks_late_, true)) return;
  log::write(log::Level::info, "upstream.asks_late",
             {{"upstream", server_.name}, {"group", shown_group(group.key)}});
  keep_apart(group);
}

}  // namespace lineward::upstream
