// The part of HttpUpstream that puts calls into their groups, and that gives every call during which its
// server may ask a session of its own for that long (behaviour.md 5).
#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "upstream/http_upstream.h"

namespace lineward::upstream {

std::optional<core::Failure> HttpUpstream::enqueue(HttpCall& call) {
  if (SessionPlanner::is_stateless(call.request, era_->era())) {
    join(groups_->get(planner_.stateless()), call);
    schedule_pump();
    return std::nullopt;
  }
  auto plan = planner_.plan(call.request, era_->era());
  if (!plan) return plan.error();
  if (!groups_->has_room(*plan)) {
    return core::Failure{mcp::EndReason::queue_full,
                         fmt::format("all {} sessions that Lineward may have with {} are in use "
                                     "(limits.maxOwnSessions)",
                                     server_.limits.max_own_sessions, server_.name)};
  }
  bool asks = mcp::may_ask(call.request.method);
  bool behind_others = plan->slots > 0 && asks && !slotless_.empty();
  SessionGroup* group = behind_others ? nullptr : free_slot(std::move(*plan), asks);
  if (group != nullptr) {
    join(*group, call);
  } else {
    slotless_.push_back(&call);
  }
  schedule_pump();
  return std::nullopt;
}

void HttpUpstream::join(SessionGroup& group, HttpCall& call) {
  call.group = group.key;
  group.sees_status = call.request.sees_status;
  if (call.is_listen()) call.family = group.family;
  if (group.era == mcp::Era::legacy)
    group.lasting = lasting_headers(forwarded_headers(server_, call.request.headers));
  group.queue.push_back(&call);
  groups_->want(group);
}

// The group for a call; where calls take turns the first free one, or none. Other methods share the first.
SessionGroup* HttpUpstream::free_slot(SessionPlan plan, bool asks) {
  if (plan.slots == 0) return &groups_->get(plan);
  std::string name = plan.key;
  plan.family = name;
  for (uint32_t slot = 1; slot <= plan.slots; ++slot) {
    plan.key = fmt::format("{}#{}", name, slot);
    plan.home = slot == 1;
    SessionGroup* group = groups_->find(plan.key);
    if (group == nullptr || !asks || group->takes_question()) return &groups_->get(plan);
  }
  return nullptr;
}

// A cancelled call may be at work for a while, and ask.
void HttpUpstream::keep_apart(SessionGroup& group) {
  if (!group.exclusive) return;
  group.keep_apart();
  if (!apart_timer_.running()) apart_timer_.start(server_.timeouts.cancel_grace, [this] { schedule_pump(); });
}

// A call that may ask, behind another. On its one stream an HTTP+SSE server answers a ping after what it said
// before.
bool HttpUpstream::may_follow(SessionGroup& group) {
  if (group.is_apart()) {
    if (!apart_timer_.running())
      apart_timer_.start(group.apart_until() - loop_.now(), [this] { schedule_pump(); });
    return false;
  }
  group.settle_turn();
  return true;
}

// Calls that wait for a session of their own get those that have become free.
void HttpUpstream::fill_slots() {
  if (slotless_.empty()) return;
  std::erase_if(slotless_, [this](HttpCall* call) {
    auto plan = planner_.plan(call->request, era_->era());
    SessionGroup* group = plan ? free_slot(std::move(*plan), true) : nullptr;
    if (group == nullptr) return false;
    join(*group, *call);
    return true;
  });
  std::deque<HttpCall*> waiting = slotless_;
  for (HttpCall* call : waiting) {
    if (std::find(slotless_.begin(), slotless_.end(), call) != slotless_.end())
      call->phase(core::CallPhase::queued);
  }
  if (auto next = groups_->next_apart(); next && !slotless_.empty())
    apart_timer_.start(*next - loop_.now(), [this] { schedule_pump(); });
}

void HttpUpstream::set_parked(HttpCall& call, bool parked) {
  auto entry = calls_.find(call.id);
  bool counted = entry != calls_.end() && entry->second == &call;
  if (call.parked == parked || call.is_listen()) return;
  call.parked = parked;
  if (!counted) return;
  parked ? --in_flight_ : ++in_flight_;
  schedule_pump();
}

void HttpUpstream::reply(HttpCall& call, std::string message) {
  SessionGroup* group = groups_->find(call.group);
  if (group != nullptr && group->session) group->session->post(std::move(message));
}

}  // namespace lineward::upstream
