// The caller groups of a stdio server, and the processes that are ending. Finds and creates groups, orders
// those with work, drops unused groups, and keeps ending processes until they have exited.
//
// Belongs to a StdioUpstream. An ending process is kept here while its group may continue; a dropped group
// stays until the last of its processes has exited.
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "proxy/upstream/shared/ready_queue.h"
#include "proxy/upstream/stdio/instance_group.h"

namespace lineward::upstream {

class InstanceGroups {
 public:
  InstanceGroups(net::Loop& loop, process::Spawner& spawner, const config::Server& server,
                 GroupCallbacks& owner);
  ~InstanceGroups();
  InstanceGroups(const InstanceGroups&) = delete;
  InstanceGroups& operator=(const InstanceGroups&) = delete;

  using Table = std::unordered_map<std::string, std::unique_ptr<InstanceGroup>>;
  const Table& all() const { return groups_; }
  InstanceGroup* find(const std::string& key) const;
  // Creates the group if it does not exist.
  InstanceGroup& get(CallerGroup plan);
  // The group of a legacy client's session.
  InstanceGroup* of_session(const core::Scope& scope) const {
    return find(CallerGrouping::key_of_session(scope));
  }
  // Ends the group's calls and processes, and drops it.
  void close(InstanceGroup& group, std::string_view why);
  void close_all(std::string_view why);
  // Fails the calls in all groups that wait for a process.
  void refuse_waiting(const core::Failure& refusal);
  // Stops the removal of idle groups.
  void stop() { reaper_.stop(); }

  // Adds a group with work.
  void want(InstanceGroup& group) { wanting_.add(group); }
  // Pumps each group with work, in order; groups added meanwhile are not included. `comes_last`: the group's
  // caller exceeds its share. `places()`: how many calls may be sent. Several groups take turns: `pump(group,
  // most)` sends at most `most` calls, and returns whether the group would send more.
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
  // Frees an exited process; false: unknown.
  bool free_gone(StdioInstance& instance);
  size_t leaving() const { return leaving_.size(); }
  // The number of processes, without ending ones.
  size_t running() const;
  void list_leaving(std::vector<core::UpstreamStatus::Process>& out) const;

 private:
  // Removes groups without work.
  void leave_line();
  std::vector<InstanceGroup*> line() const;
  void drop(const std::string& key);
  void free_closed();
  void reap();

  net::Loop& loop_;
  process::Spawner& spawner_;
  const config::Server& server_;
  GroupCallbacks& owner_;
  Table groups_;
  ReadyQueue<InstanceGroup> wanting_;  // each group that wants_pump, and some that no longer do
  std::vector<std::unique_ptr<StdioInstance>> leaving_;
  std::vector<std::unique_ptr<InstanceGroup>> closed_;  // until the last of their processes has exited
  net::Timer reaper_;
};

}  // namespace lineward::upstream
