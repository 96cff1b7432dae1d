// The gateways of a world: one, on the world's own thread, or several replicas, each on a thread of its own.
// There it may begin again after its end.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "config/config.h"
#include "joint.h"
#include "ledger.h"
#include "plan.h"
#include "proxy/metrics/stats.h"
#include "runtime/gateway.h"
#include "world.h"

namespace lineward::sim {

// Reports the counts that this thread has not reported yet: MemoryCharge keeps small sums to itself, and
// threads end here.
uint64_t held_bytes();

class Gateways {
 public:
  Gateways(World& world, Ledger& ledger, const Plan& plan);

  // From beginning to end; `begin` is called when the first is there and nothing has happened yet.
  void run(const std::function<void()>& begin);
  // The file that a reload reads.
  config::Config& configured() { return configured_; }
  // At all that there are.
  void raise(const char* name, int signal);
  void stop();
  // In order, or as two signals do it: now.
  enum class How : uint8_t { in_order, now };
  void end(size_t replica, How how);
  void open(size_t replica);
  // At that time, on the thread of each gateway that lives then, while its loop does not turn.
  void look(Time when, const std::function<void(runtime::Worker& worker)>& at);
  // At once, and so of one of them only what it may show to other threads while its own stands still.
  bool any(const std::function<bool(runtime::Worker& worker)>& of) const;
  // The metrics count what the log has.
  void check_metrics();

 private:
  // Ends of calls by reason.
  using Ends = std::map<std::string, uint64_t, std::less<>>;
  struct Site {
    std::unique_ptr<runtime::Gateway> gateway;
    std::thread thread;
    int home = 0;
    bool is_up = false, done = true;
    int exit_code = 0;  // that it should end with
  };
  static Ends counted_ends();
  Ends logged_ends() const;
  config::Config config_of(size_t replica) const;
  std::unique_ptr<runtime::Gateway> make(size_t replica) const;
  void run_alone(const std::function<void()>& begin);
  void run_replicas(const std::function<void()>& begin);
  void live(size_t replica);
  void join(std::shared_ptr<Link> from, size_t replica);

  World& world_;
  Ledger& ledger_;
  const Plan& plan_;
  config::Config configured_;
  std::vector<Site> sites_;
  // The first workers of all gateways count in one place, the process's: the numbers of a world are what it
  // adds, over all replicas.
  Ends before_;
  std::vector<std::shared_ptr<Joint>> joints_;
  bool stopping_ = false;
};

}  // namespace lineward::sim
