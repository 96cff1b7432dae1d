// Reports the gateway's state to a service manager: ready, reloading, stopping, and the watchdog
// (docs/systemd.md). Lives on the first worker's loop.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "foundation/net/loop.h"
#include "foundation/net/service_notifier.h"
#include "foundation/net/service_variables.h"

namespace lineward::runtime {

class ServiceReport {
 public:
  // `slowest_beat`: the oldest last beat of all loops (net::Loop::nanoseconds).
  ServiceReport(net::Loop& loop, const net::ServiceVariables& variables,
                std::function<uint64_t()> slowest_beat);

  void ready(std::string status);
  void reloading();
  void reloaded();
  // Reports `left()` once a second, and extends the service manager's timeout until `at_most` has passed.
  void stopping(std::chrono::milliseconds at_most, std::function<std::string()> left);

 private:
  void feed_watchdog();
  void ask_for_time();

  net::Loop& loop_;
  net::ServiceNotifier notifier_;
  const std::chrono::microseconds watchdog_;  // 0: no watchdog
  const std::function<uint64_t()> slowest_beat_;
  std::string serving_;
  std::function<std::string()> left_;
  std::chrono::milliseconds until_{0};
  net::Timer watchdog_timer_;
  net::Timer stop_timer_;
};

}  // namespace lineward::runtime
