#include "proxy/upstream/stdio/process_quota.h"

#include <fmt/format.h>

#include <algorithm>

#include "foundation/log/log.h"
#include "proxy/metrics/limits.h"
#include "proxy/upstream/shared/shown_group.h"

namespace lineward::upstream {

using std::chrono::milliseconds;

namespace {

// The caller that gets the group's next process: the group's, or that of the first call that needs a process
// for itself. Null: unknown.
const Account* next_caller(const InstanceGroup& group) {
  if (group.caller() != nullptr || !group.takes_turns()) return group.caller();
  auto asks = [](const StdioCall* call) { return mcp::may_ask(call->request.method); };
  auto first = std::find_if(group.queue().begin(), group.queue().end(), asks);
  return first == group.queue().end() ? nullptr : (*first)->caller();
}

void keep_older(StdioInstance*& oldest, StdioInstance* one) {
  if (one != nullptr && (oldest == nullptr || one->record().last_used < oldest->record().last_used))
    oldest = one;
}

// The least recently used process without a call; not one that is starting for a queued call.
StdioInstance* oldest_without_call(const InstanceGroup& group) {
  StdioInstance* oldest = nullptr;
  for (const auto& instance : group.processes()) {
    if (instance->calls().is_idle() && (group.queue().empty() || instance->is_ready()))
      keep_older(oldest, instance.get());
  }
  return oldest;
}

// The same for a group without queued calls and listens.
StdioInstance* oldest_idle(const InstanceGroup& group) {
  return group.queue().empty() && !group.is_listened() ? oldest_without_call(group) : nullptr;
}

bool unused_for(const InstanceGroup& group, milliseconds time) {
  const auto unused = group.scope() == nullptr ? std::nullopt : group.scope()->unused_for();
  return unused && *unused >= time;
}

}  // namespace

void ProcessQuota::count_anew() {
  count_.reset();
  waited_ = std::exchange(waiting_, {});
}

ProcessCount& ProcessQuota::count() {
  if (count_) return *count_;
  count_.emplace();
  count_->running = groups_.leaving() + groups_.spares() + (prober_.is_busy() ? 1 : 0);
  for (const auto& [key, group] : groups_.all()) {
    count_->running += group->instances();
    for (const auto& instance : group->processes()) {
      const StdioCall* call = instance->calls().exclusive_call();
      const Account* whose = group->caller();
      if (whose == nullptr && call != nullptr && group->takes_turns()) whose = call->caller();
      ProcessCount::OfCaller& its = count_->of_caller[whose];
      ++its.running;
      if (call != nullptr && call == instance->calls().only_parked()) ++its.parked;
    }
  }
  return *count_;
}

bool ProcessQuota::has_share(const Account* whose, const ProcessCount::OfCaller& its) const {
  return whose != nullptr && its.running >= Account::share_of(server_.instances);
}

bool ProcessQuota::is_lent(const Account* whose) {
  if (whose == nullptr) return false;
  auto found = count().of_caller.find(whose);
  return found != count_->of_caller.end() && found->second.running > Account::share_of(server_.instances);
}

bool ProcessQuota::is_beyond_share(const InstanceGroup& group) {
  const Account* whose = next_caller(group);
  if (whose == nullptr) return false;
  auto found = count().of_caller.find(whose);
  return found != count_->of_caller.end() && has_share(whose, found->second);
}

bool ProcessQuota::another_waits(const Account* whose) const {
  auto others = [whose](const std::unordered_set<const Account*>& callers) {
    return callers.size() > callers.count(whose);
  };
  return others(waited_) || others(waiting_);
}

bool ProcessQuota::take_spare(const InstanceGroup& asking, const Account* whose) {
  if (groups_.spares() == 0) return false;
  ProcessCount::OfCaller& its = count().of_caller[whose];
  if (has_share(whose, its) && (asking.keeps_names() || another_waits(whose))) return false;
  ++its.running;  // it runs already, without an owner
  return true;
}

Room ProcessQuota::take(const InstanceGroup& asking, const Account* whose) {
  ProcessCount& all = count();
  // A caller that has reached its share makes room with its own processes. It exceeds the share only with
  // processes that can be taken back.
  ProcessCount::OfCaller& its = all.of_caller[whose];
  const bool full = has_share(whose, its);
  // The era probe's process ends by itself: no other process is ended for it. Beside it no process of a
  // server runs that is to have one alone.
  const bool one_alone = server_.isolation == config::Isolation::shared || server_.instances == 1;
  if (prober_.is_busy() && (one_alone || all.running == server_.instances)) return Room::none;
  const bool may_borrow = !asking.keeps_names() && !another_waits(whose);
  if (all.running < server_.instances && (!full || may_borrow)) {
    ++all.running;
    ++its.running;
    return Room::there;
  }
  const Room met = full && all.running < server_.instances ? Room::no_share : Room::none;
  if (!full) waiting_.insert(whose);
  // Each ending process makes room for one request.
  if (!full) ++all.wanted;
  const bool comes =
      full ? groups_.leaving() > 0 : all.running - groups_.leaving() + all.wanted <= server_.instances;
  if (comes) return met;
  bool& exhausted = full ? its.exhausted : all.exhausted;
  if (!exhausted) {
    const IdleOf from = !full ? IdleOf::any_caller : may_borrow ? IdleOf::caller_or_none : IdleOf::caller;
    StdioInstance* goes = idle_one(asking, whose, from);
    if (goes == nullptr && !full) goes = lent_one(asking);
    if (goes != nullptr) {
      evict(*goes, "made room for another");
      return met;  // wait until it has exited
    }
    exhausted = true;
  }
  if (!full && !its.exhausted) its.exhausted = !end_parked_one(whose);
  return met;
}

StdioInstance* ProcessQuota::idle_one(const InstanceGroup& asking, const Account* whose, IdleOf from) {
  StdioInstance *nobodys = nullptr, *unused = nullptr;
  auto may_go = [&](const InstanceGroup& group) {
    if (&group == &asking || group.instances() == 0) return false;
    if (from == IdleOf::any_caller || group.caller() == whose) return true;
    return from == IdleOf::caller_or_none && group.caller() == nullptr;
  };
  for (const auto& [key, group] : groups_.all()) {
    if (!may_go(*group)) continue;
    if (!group->is_pinned()) {
      keep_older(nobodys, oldest_idle(*group));
    } else if (nobodys == nullptr && unused_for(*group, server_.reclaim_after)) {
      keep_older(unused, oldest_idle(*group));
    }
  }
  return nobodys != nullptr ? nobodys : unused;
}

// A caller beyond its share gives up a process without a call, even if a call waits for it.
StdioInstance* ProcessQuota::lent_one(const InstanceGroup& asking) {
  StdioInstance* oldest = nullptr;
  for (const auto& [key, group] : groups_.all()) {
    if (group.get() == &asking || group->keeps_names() || group->instances() == 0) continue;
    if (is_lent(next_caller(*group))) keep_older(oldest, oldest_without_call(*group));
  }
  return oldest;
}

// Ends the longest parked call of another caller that has more parked calls than it may keep.
bool ProcessQuota::end_parked_one(const Account* whose) {
  const size_t kept =
      std::min<size_t>(server_.limits.max_parked_per_caller, Account::share_of(server_.instances));
  StdioInstance* with = nullptr;
  StdioCall* oldest = nullptr;
  ProcessCount& all = count();
  for (const auto& [key, group] : groups_.all()) {
    if (group->keeps_names()) continue;
    for (const auto& instance : group->processes()) {
      StdioCall* call = instance->calls().only_parked();
      if (call == nullptr || call->caller() == nullptr || call->caller() == whose) continue;
      if (all.of_caller[call->caller()].parked <= kept) continue;
      if (oldest != nullptr && *oldest->parked_since <= *call->parked_since) continue;
      oldest = call;
      with = instance.get();
    }
  }
  if (oldest == nullptr) return false;
  --all.of_caller[oldest->caller()].parked;
  metrics::limit_reached(metrics::Limit::parked_per_caller);
  const std::string why = fmt::format(
      "its client did not come back in {} ms, and another caller needs its process (beyond {} parked calls "
      "of a "
      "caller: limits.maxParkedPerCaller)",
      (loop_.now() - *oldest->parked_since).count(), kept);
  oldest->end_parked({mcp::EndReason::timeout_park, why});
  // The cancelled call may run on for a while, so the process cannot serve others.
  evict(*with, "its parked call made room for another");
  return true;
}

void ProcessQuota::evict(StdioInstance& instance, std::string_view why) {
  log::write(log::Level::info, "upstream.evict",
             {{"upstream", server_.name}, {"group", shown_group(instance.group())}, {"why", why}});
  instance.stop({mcp::EndReason::cancelled_drain, std::string(why), {}});
}

size_t ProcessQuota::for_spares() const {
  const size_t running = groups_.leaving() + groups_.spares() + groups_.running();
  return server_.instances > running ? server_.instances - running : 0;
}

}  // namespace lineward::upstream
