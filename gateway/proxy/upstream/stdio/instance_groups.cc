#include "proxy/upstream/stdio/instance_groups.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "foundation/base/check.h"

namespace lineward::upstream {
namespace {

constexpr std::chrono::milliseconds kReapEvery{5000};

// The turn of its first call.
uint64_t next_turn(const InstanceGroup& group) {
  const auto& queue = group.view().queue;
  return queue.empty() ? std::numeric_limits<uint64_t>::max() : queue.front()->turn.number();
}

}  // namespace

InstanceGroups::InstanceGroups(net::Loop& loop, process::Spawner& spawner, const config::Server& server,
                               GroupCallbacks& owner)
    : loop_(loop), spawner_(spawner), server_(server), owner_(owner), reaper_(loop) {
  reaper_.start(kReapEvery, [this] { reap(); });
}

InstanceGroups::~InstanceGroups() {
  leaving_.clear();  // before the groups they refer to
}

InstanceGroup* InstanceGroups::find(const std::string& key) const {
  auto found = groups_.find(key);
  return found == groups_.end() ? nullptr : found->second.get();
}

InstanceGroup& InstanceGroups::get(CallerGroup plan) {
  auto& slot = groups_[plan.key];
  if (!slot) slot = std::make_unique<InstanceGroup>(loop_, spawner_, server_, owner_, std::move(plan));
  return *slot;
}

void InstanceGroups::close(InstanceGroup& group, std::string_view why) {
  group.close(why);
  drop(group.key());
}

void InstanceGroups::close_all(std::string_view why) {
  std::vector<std::string> keys;
  for (const auto& entry : groups_)
    keys.push_back(entry.first);
  for (const auto& key : keys) {
    if (InstanceGroup* group = find(key)) close(*group, why);
  }
}

void InstanceGroups::refuse_waiting(const core::Failure& refusal) {
  std::vector<std::string> keys;
  for (const auto& entry : groups_)
    keys.push_back(entry.first);
  for (const auto& key : keys) {
    if (InstanceGroup* group = find(key)) group->refuse_waiting(refusal);
  }
}

void InstanceGroups::leave_line() {
  wanting_.keep_if([](const InstanceGroup& group) { return group.wants_pump(); });
}

// Order: first groups that hold a client's state but lost their process. Then by the time since when they
// wait for room, then by their calls' turns.
std::vector<InstanceGroup*> InstanceGroups::line() const {
  std::vector<InstanceGroup*> line(wanting_.begin(), wanting_.end());
  std::stable_sort(line.begin(), line.end(), [](const InstanceGroup* a, const InstanceGroup* b) {
    return std::tuple(!a->is_pinned(), a->without_room_since(), next_turn(*a)) <
           std::tuple(!b->is_pinned(), b->without_room_since(), next_turn(*b));
  });
  return line;
}

void InstanceGroups::drop(const std::string& key) {
  auto found = groups_.find(key);
  if (found == groups_.end()) return;
  found->second->set_scope(nullptr);
  wanting_.remove(*found->second);
  closed_.push_back(std::move(found->second));
  groups_.erase(found);
  free_closed();
}

void InstanceGroups::free_closed() {
  for (auto group = closed_.begin(); group != closed_.end();) {
    bool needed = std::any_of(leaving_.begin(), leaving_.end(),
                              [&](const auto& instance) { return &instance->owner() == group->get(); });
    if (needed) {
      ++group;
      continue;
    }
    loop_.retire(std::move(*group));
    group = closed_.erase(group);
  }
}

void InstanceGroups::reap() {
  reaper_.start(kReapEvery, [this] { reap(); });
  std::vector<std::string> unused;
  for (auto& [key, group] : groups_) {
    LW_DEBUG_CHECK(group->in_line || !group->wants_pump());
    group->end_idle(server_.instance_idle);
    if (group->unused()) unused.push_back(key);
  }
  for (const auto& key : unused)
    drop(key);
}

bool InstanceGroups::free_gone(StdioInstance& instance) {
  auto found =
      std::find_if(leaving_.begin(), leaving_.end(), [&](const auto& i) { return i.get() == &instance; });
  if (found == leaving_.end()) return false;
  loop_.retire(std::move(*found));
  leaving_.erase(found);
  free_closed();
  return true;
}

size_t InstanceGroups::running() const {
  size_t sum = 0;
  for (const auto& entry : groups_)
    sum += entry.second->instances();
  return sum;
}

void InstanceGroups::list_leaving(std::vector<core::UpstreamStatus::Process>& out) const {
  for (const auto& instance : leaving_)
    instance->list(out);
}

}  // namespace lineward::upstream
