// The processes of a stdio server: those of its caller groups, its spares, and those that are ending. Finds
// and creates groups, orders those with work, drops unused groups, and keeps ending processes until they have
// exited.
//
// Spares were started ahead and got no request yet (pool.prewarm). The next group that needs a process takes
// one, and sends `initialize`, so a session can use one too.
//
// Belongs to a StdioUpstream. An ending process is kept here while its group may continue; a dropped group
// stays until the last of its processes has exited.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "proxy/upstream/shared/ready_queue.h"
#include "proxy/upstream/stdio/instance_group.h"

namespace lineward::upstream {

class InstanceGroups final : public InstanceCallbacks {
 public:
  InstanceGroups(net::Loop& loop, process::Spawner& spawner, const config::Server& server,
                 GroupCallbacks& owner)
      : loop_(loop), spawner_(spawner), server_(server), owner_(owner) {
    reap_later();
  }
  ~InstanceGroups();

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
  // The only group with work; null: there are several, or none.
  InstanceGroup* only_wanting();
  // All groups with work, in order; after only_wanting().
  std::vector<InstanceGroup*> line();

  // A process is ending.
  void take_leaving(std::unique_ptr<StdioInstance> instance) { leaving_.push_back(std::move(instance)); }
  // Frees an exited process; false: unknown.
  bool free_gone(StdioInstance& instance);
  size_t leaving() const { return leaving_.size(); }
  // The number of processes, without ending ones.
  size_t running() const;
  size_t spares() const { return spares_.size(); }
  // The oldest spare; null if there is none.
  std::unique_ptr<StdioInstance> take_spare();
  // Starts missing spares, at most `room`.
  void fill_spares(size_t room);
  // Ends all spares, and starts no more.
  void retire_spares();
  // Lists all processes.
  void list(std::vector<core::UpstreamStatus::Process>& out) const;

  // InstanceCallbacks, for spares; the others are of processes with a group
  void on_instance_expired(StdioInstance& instance, std::string_view why) override;
  void on_instance_down(StdioInstance& instance, const ProcessEnd& end, std::vector<StdioCall*>) override;
  void on_instance_gone(StdioInstance& instance) override { owner_.instance_gone(instance); }

 private:
  void for_each(const std::function<void(InstanceGroup&)>& work);
  void drop(InstanceGroup& group);
  void free_closed();
  void reap_later();

  net::Loop& loop_;
  process::Spawner& spawner_;
  const config::Server& server_;
  GroupCallbacks& owner_;
  Table groups_;
  ReadyQueue<InstanceGroup> wanting_;  // each group that wants_pump, and some that no longer do
  std::vector<std::unique_ptr<StdioInstance>> leaving_;
  std::vector<std::unique_ptr<InstanceGroup>> closed_;  // until the last of their processes has exited
  net::Timer reaper_{loop_};
  std::vector<std::unique_ptr<StdioInstance>> spares_;
  net::Timer retry_{loop_}, refill_{loop_};
  process::StartLine::Turn turn_;  // among other servers' starts that no call waits for
  net::Timer turn_timer_{loop_};
  size_t started_ = 0;  // in this turn
  bool retired_ = false;
};

}  // namespace lineward::upstream
