#include "upstream/stdio/process_room.h"

#include "log/excerpt.h"
#include "log/log.h"

namespace lineward::upstream {

ProcessCount& ProcessRoom::count() {
  if (count_) return *count_;
  count_.emplace();
  count_->running = groups_.leaving() + spares_.size();
  for (const auto& [key, group] : groups_.all()) {
    count_->running += group->instances();
    count_->of_caller[group->caller()].running += group->instances();
  }
  return *count_;
}

bool ProcessRoom::has_share(const Account* whose, const ProcessCount::OfCaller& its) const {
  return whose != nullptr && its.running >= Account::share_of(server_.instances);
}

bool ProcessRoom::take_spare(const InstanceGroup& asking) {
  if (spares_.size() == 0) return false;
  ProcessCount::OfCaller& its = count().of_caller[asking.caller()];
  if (has_share(asking.caller(), its)) return false;
  ++its.running;  // it runs already, as nobody's
  return true;
}

bool ProcessRoom::take(const InstanceGroup& asking) {
  ProcessCount& all = count();
  // Who has its share makes room with its own: the last ones are another caller's.
  const Account* whose = asking.caller();
  ProcessCount::OfCaller& its = all.of_caller[whose];
  const bool full = has_share(whose, its);
  if (!full && all.running < server_.instances) {
    ++all.running;
    ++its.running;
    return true;
  }
  // What is ending already makes room for as many as ask.
  if (!full) ++all.wanted;
  const bool comes =
      full ? groups_.leaving() > 0 : all.running - groups_.leaving() + all.wanted <= server_.instances;
  bool& exhausted = full ? its.exhausted : all.exhausted;
  if (comes || exhausted) return false;
  StdioInstance* oldest = nullptr;
  for (const auto& [key, group] : groups_.all()) {
    const bool may_go = group.get() != &asking && (!full || group->caller() == whose);
    StdioInstance* idle = may_go ? group->oldest_idle() : nullptr;
    if (idle == nullptr) continue;
    if (oldest == nullptr || idle->record().last_used < oldest->record().last_used) oldest = idle;
  }
  exhausted = oldest == nullptr;
  if (oldest == nullptr) return false;
  log::write(log::Level::info, "upstream.evict",
             {{"upstream", server_.name}, {"group", log::Excerpt(oldest->group(), 64)}});
  oldest->stop({mcp::EndReason::cancelled_drain, "made room for another", {}});
  return false;  // not before it is gone
}

size_t ProcessRoom::for_spares() const {
  const size_t running = groups_.leaving() + spares_.size() + groups_.running();
  return server_.instances > running ? server_.instances - running : 0;
}

}  // namespace lineward::upstream
