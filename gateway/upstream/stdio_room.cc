// Whether one more process of a stdio server may run, and which one goes for it: a part of
// upstream/stdio_upstream.h.
#include "base/log.h"
#include "upstream/stdio_upstream.h"

namespace lineward::upstream {

bool StdioUpstream::room_for_instance(const InstanceGroup& asking) {
  if (!room_) {
    room_ = Room{};
    room_->running = leaving_.size() + spares_.size();
    for (auto& [key, group] : groups_) {
      room_->running += group->instances();
      room_->of_caller[group->caller()].running += group->instances();
    }
  }
  // Who has its share makes room with its own: the last ones are another caller's.
  const Account* whose = asking.caller();
  Room::OfCaller& its = room_->of_caller[whose];
  const bool full = whose != nullptr && its.running >= Account::share_of(server_.instances);
  if (!full && room_->running < server_.instances) {
    ++room_->running;
    ++its.running;
    return true;
  }
  // What is ending already makes room for as many as ask.
  if (!full) ++room_->wanted;
  const bool comes =
      full ? !leaving_.empty() : room_->running - leaving_.size() + room_->wanted <= server_.instances;
  bool& exhausted = full ? its.exhausted : room_->exhausted;
  if (comes || exhausted) return false;
  StdioInstance* oldest = nullptr;
  for (auto& [key, group] : groups_) {
    const bool may_go = group.get() != &asking && (!full || group->caller() == whose);
    StdioInstance* idle = may_go ? group->oldest_idle() : nullptr;
    if (idle != nullptr && (oldest == nullptr || idle->last_used() < oldest->last_used())) oldest = idle;
  }
  exhausted = oldest == nullptr;
  if (oldest == nullptr) return false;
  log::write(log::Level::info, "upstream.evict",
             {{"upstream", server_.name}, {"group", oldest->group().substr(0, 64)}});
  oldest->stop({mcp::EndReason::cancelled_drain, "made room for another", {}});
  return false;  // not before it is gone
}

}  // namespace lineward::upstream
