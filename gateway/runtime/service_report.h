// How the gateway is, as a service manager hears of it: ready, reloading, stopping, and that its loops turn
// (docs/systemd.md). Lives on the first worker's loop.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "net/loop.h"
#include "net/service_notifier.h"
#include "net/service_variables.h"

namespace lineward {

class ServiceReport {
 public:
  // `slowest_beat`: when that loop last turned which has stood still for the longest
  // (net::Loop::nanoseconds).
  ServiceReport(net::Loop& loop, const net::ServiceVariables& variables,
                std::function<uint64_t()> slowest_beat);

  void ready(std::string status);
  void reloading();
  void reloaded();
  // What is left is asked for once a second, and for so long the service manager is told to wait.
  void stopping(std::chrono::milliseconds at_most, std::function<std::string()> left);

 private:
  void feed_watchdog();
  void ask_for_time();

  net::Loop& loop_;
  net::ServiceNotifier notifier_;
  const std::chrono::microseconds watchdog_;  // 0: nobody waits to hear of us
  const std::function<uint64_t()> slowest_beat_;
  std::string serving_;
  std::function<std::string()> left_;
  std::chrono::milliseconds until_{0};
  net::Timer watchdog_timer_;
  net::Timer stop_timer_;
};

}  // namespace lineward
