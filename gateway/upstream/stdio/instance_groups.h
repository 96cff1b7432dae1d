// The groups of callers of a stdio server, and the processes of those that are ending: finds and makes
// groups, says which of them want something and in what order, lets go of those that nobody uses, and keeps
// what is ending until it is gone.
//
// Belongs to a StdioUpstream. A process that ends is here while its group may go on; a group that was dropped
// stays until the last of its processes is gone.
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "upstream/shared/wait_line.h"
#include "upstream/stdio/instance_group.h"

namespace lineward::upstream {

class InstanceGroups {
 public:
  InstanceGroups(net::Loop& loop, net::Spawner& spawner, const config::Server& server, GroupOwner& owner);
  ~InstanceGroups();
  InstanceGroups(const InstanceGroups&) = delete;
  InstanceGroups& operator=(const InstanceGroups&) = delete;

  using Table = std::unordered_map<std::string, std::unique_ptr<InstanceGroup>>;
  const Table& all() const { return groups_; }
  InstanceGroup* find(const std::string& key) const;
  // Made if it is not there.
  InstanceGroup& get(CallerGroup plan);
  // A legacy client's own.
  InstanceGroup* of_session(const core::Scope& scope) const { return find("session:" + scope.session); }
  // Ends what the group has under way, and lets go of it.
  void close(InstanceGroup& group, std::string_view why);
  void close_all(std::string_view why);
  // Ends the calls in all of them that wait for a process.
  void refuse_waiting(const core::Failure& refusal);
  // No group is looked after for being idle any more.
  void stop() { reaper_.stop(); }

  // This one wants something.
  void want(InstanceGroup& group) { wanting_.add(group); }
  // Each of those that do, in the order in which they get it; who comes to want something meanwhile is not
  // among them. `comes_last`: this one's caller has more than its share. `places()` calls may go on their
  // way; several groups take turns with them: `pump(group, most)` sends so many at most, and says whether the
  // group would send more.
  template <class ComesLast, class Places, class Pump>
  void pump_wanting(ComesLast&& comes_last, Places&& places, Pump&& pump) {
    leave_line();
    if (wanting_.size() == 1) {
      pump(**wanting_.begin(), std::numeric_limits<size_t>::max());
      return;
    }
    std::vector<InstanceGroup*> groups = line();
    std::stable_partition(groups.begin(), groups.end(),
                          [&](const InstanceGroup* group) { return !comes_last(*group); });
    while (!groups.empty()) {
      const size_t most = std::max<size_t>(1, places() / groups.size());
      std::erase_if(groups, [&](InstanceGroup* group) { return !pump(*group, most); });
    }
  }

  // A process is ending.
  void take_leaving(std::unique_ptr<StdioInstance> instance) { leaving_.push_back(std::move(instance)); }
  // It is gone; false: it is not here.
  bool free_gone(StdioInstance& instance);
  size_t leaving() const { return leaving_.size(); }
  // Processes, without those that are ending.
  size_t running() const;
  void list_leaving(std::vector<core::UpstreamStatus::Process>& out) const;

 private:
  // Those that want nothing any more leave.
  void leave_line();
  std::vector<InstanceGroup*> line() const;
  void drop(const std::string& key);
  void free_closed();
  void reap();

  net::Loop& loop_;
  net::Spawner& spawner_;
  const config::Server& server_;
  GroupOwner& owner_;
  Table groups_;
  WaitLine<InstanceGroup> wanting_;  // each that wants_pump, and some that no longer do
  std::vector<std::unique_ptr<StdioInstance>> leaving_;
  std::vector<std::unique_ptr<InstanceGroup>> closed_;  // until the last of their processes is gone
  net::Timer reaper_;
};

}  // namespace lineward::upstream
