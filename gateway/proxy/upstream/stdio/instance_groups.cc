#include "proxy/upstream/stdio/instance_groups.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "foundation/base/check.h"
#include "foundation/log/log.h"

namespace lineward::upstream {
namespace {

constexpr std::chrono::milliseconds kReapEvery{5000};
// Spares started in one turn of this server in the start line, and the length of that turn: a spare's start
// has no end that could be observed.
constexpr size_t kInATurn = 4;
constexpr std::chrono::milliseconds kSpareTurn{500};
// A start beside the first call of the process that was taken would slow that call.
constexpr std::chrono::milliseconds kBeforeNextSpare{20};

// The turn of its first call.
uint64_t next_turn(const InstanceGroup& group) {
  return group.queue().empty() ? std::numeric_limits<uint64_t>::max() : group.queue().front()->turn.number();
}

}  // namespace

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
  drop(group);
}

// The work may add groups, or drop them: these exist until the end of the turn.
void InstanceGroups::for_each(const std::function<void(InstanceGroup&)>& work) {
  std::vector<InstanceGroup*> all;
  for (const auto& entry : groups_)
    all.push_back(entry.second.get());
  for (InstanceGroup* group : all)
    work(*group);
}

void InstanceGroups::close_all(std::string_view why) {
  for_each([&](InstanceGroup& group) { close(group, why); });
}

void InstanceGroups::refuse_waiting(const core::Failure& refusal) {
  for_each([&](InstanceGroup& group) { group.refuse_waiting(refusal); });
}

InstanceGroup* InstanceGroups::only_wanting() {
  wanting_.keep_if([](const InstanceGroup& group) { return group.wants_pump(); });
  return wanting_.size() == 1 ? *wanting_.begin() : nullptr;
}

// Order: first groups that hold a client's state but lost their process. Then by the time since when they
// wait for room, then by their calls' turns.
std::vector<InstanceGroup*> InstanceGroups::line() {
  std::vector<InstanceGroup*> line(wanting_.begin(), wanting_.end());
  std::stable_sort(line.begin(), line.end(), [](const InstanceGroup* a, const InstanceGroup* b) {
    return std::tuple(!a->is_pinned(), a->without_room_since(), next_turn(*a)) <
           std::tuple(!b->is_pinned(), b->without_room_since(), next_turn(*b));
  });
  return line;
}

void InstanceGroups::drop(InstanceGroup& group) {
  auto found = groups_.find(group.key());
  if (found == groups_.end() || found->second.get() != &group) return;
  group.set_scope(nullptr);
  wanting_.remove(group);
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

void InstanceGroups::reap_later() {
  reaper_.start(kReapEvery, [this] {
    reap_later();
    std::vector<InstanceGroup*> unused;
    for (auto& [key, group] : groups_) {
      LW_DEBUG_CHECK(group->in_line || !group->wants_pump());
      group->end_idle(server_.instance_idle);
      group->end_abandoned(server_.session_abandoned);
      if (group->unused()) unused.push_back(group.get());
    }
    for (InstanceGroup* group : unused)
      drop(*group);
  });
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

void InstanceGroups::list(std::vector<core::UpstreamStatus::Process>& out) const {
  auto add = [&](const std::vector<std::unique_ptr<StdioInstance>>& instances) {
    for (const auto& instance : instances)
      instance->list(out);
  };
  for (const auto& [key, group] : groups_)
    add(group->processes());
  add(spares_);
  add(leaving_);
}

// ---- spares ----

std::unique_ptr<StdioInstance> InstanceGroups::take_spare() {
  if (spares_.empty()) return nullptr;
  std::unique_ptr<StdioInstance> taken = std::move(spares_.front());
  spares_.erase(spares_.begin());
  if (!refill_.running()) refill_.start(kBeforeNextSpare, [this] { owner_.schedule_pump(); });
  return taken;
}

void InstanceGroups::fill_spares(size_t room) {
  if (retired_ || refill_.running()) return;
  while (spares_.size() < server_.pool.prewarm && room > 0) {
    auto pause = owner_.health().start_pause({});
    if (pause.count() > 0) {
      if (!retry_.running()) retry_.start(pause, [this] { owner_.schedule_pump(); });
      return;
    }
    if (!turn_.is_held()) {
      started_ = 0;
      turn_.take(spawner_.own_starts(), process::StartLine::Order::last, [this] {
        turn_timer_.start(kSpareTurn, [this] {
          turn_.leave();
          owner_.schedule_pump();
        });
        owner_.schedule_pump();
      });
      if (!turn_.is_held()) return;
    }
    if (started_++ >= kInATurn) return;
    InstancePlan plan;
    plan.spare = true;
    spares_.push_back(std::make_unique<StdioInstance>(loop_, spawner_, server_, *this, owner_.in_flight(),
                                                      "spare", std::move(plan)));
    owner_.health().start_begun();
    spares_.back()->start();
    --room;
  }
}

void InstanceGroups::retire_spares() {
  retired_ = true;
  retry_.stop();
  refill_.stop();
  turn_timer_.stop();
  turn_.leave();
  // stop() removes each spare from the list at once.
  while (!spares_.empty())
    spares_.back()->stop({mcp::EndReason::cancelled_drain, "is not needed any more", {}});
}

void InstanceGroups::on_instance_expired(StdioInstance& instance, std::string_view why) {
  instance.stop({mcp::EndReason::cancelled_drain, std::string(why), {}});
}

void InstanceGroups::on_instance_down(StdioInstance& instance, const ProcessEnd& end,
                                      std::vector<StdioCall*>) {
  auto found =
      std::find_if(spares_.begin(), spares_.end(), [&](const auto& one) { return one.get() == &instance; });
  if (found == spares_.end()) return;
  owner_.take_leaving(std::move(*found));
  spares_.erase(found);
  if (end.reason != mcp::EndReason::cancelled_drain) {
    log::write(log::Level::warn, "upstream.down",
               {{"upstream", server_.name},
                {"pid", static_cast<int64_t>(instance.pid())},
                {"why", end.text},
                {"stderr", end.last_stderr},
                {"detail", end.detail}});
    owner_.health().died(instance.record(), end);
  }
  owner_.schedule_pump();
}

}  // namespace lineward::upstream
