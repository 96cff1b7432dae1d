// Processes of a stdio server that were started ahead and got no request yet (pool.prewarm). The next group
// that needs a process takes one. The group that takes it sends `initialize`, so a session can use one too.
//
// Owned by a StdioUpstream. A spare leaves through take(), or ends like any process through its upstream.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "proxy/upstream/stdio/instance_group.h"

namespace lineward::upstream {

class SparePool final : public InstanceCallbacks {
 public:
  SparePool(net::Loop& loop, process::Spawner& spawner, const config::Server& server, GroupCallbacks& owner)
      : loop_(loop), spawner_(spawner), server_(server), owner_(owner), retry_(loop), turn_timer_(loop) {}

  size_t size() const { return spares_.size(); }
  // The oldest one; null if there is none.
  std::unique_ptr<StdioInstance> take();
  // Starts missing spares, at most `room`.
  void fill(size_t room);
  // The upstream retires: ends all, and starts no more.
  void retire();
  void list(std::vector<core::UpstreamStatus::Process>& out) const;

  // InstanceCallbacks; the others are of processes with a group
  void on_instance_expired(StdioInstance& instance, std::string_view why) override;
  void on_instance_down(StdioInstance& instance, const ProcessEnd& end, std::vector<StdioCall*>) override;
  void on_instance_gone(StdioInstance& instance) override { owner_.instance_gone(instance); }

 private:
  net::Loop& loop_;
  process::Spawner& spawner_;
  const config::Server& server_;
  GroupCallbacks& owner_;
  std::vector<std::unique_ptr<StdioInstance>> spares_;
  net::Timer retry_;
  process::StartLine::Turn turn_;  // among other servers' starts that no call waits for
  net::Timer turn_timer_;
  size_t started_ = 0;  // in this turn
  bool retired_ = false;
};

}  // namespace lineward::upstream
