// Decides when gathered log lines are written. If lines are rare, at the end of the loop turn; if they are
// frequent, 100 ms after the previous write, in one system call. Reports the number of dropped lines once a
// second.
#pragma once

#include <chrono>

#include "foundation/log/log.h"
#include "foundation/log/peer_rates.h"
#include "foundation/net/loop.h"

namespace lineward::runtime {

class LogFlusher {
 public:
  explicit LogFlusher(net::Loop& loop)
      : loop_(loop),
        now_(
            loop, [](void* self) { static_cast<LogFlusher*>(self)->flush(); }, this),
        soon_(loop),
        counts_(loop) {}

  // For log::when_left_out.
  void left_out() {
    counts_.start(kCounts, [] { log::tell_left_out(); });
  }
  void stop() {
    counts_.stop();
    log::tell_left_out();
    log::when_left_out(nullptr);
  }

  // For log::gather.
  void wanted(bool urgent) {
    if (now_.scheduled()) return;
    const auto due = last_ + kApart;
    if (urgent || loop_.now() >= due) return now_.schedule();
    soon_.start(due - loop_.now(), [this] { flush(); });
  }

 private:
  static constexpr std::chrono::milliseconds kApart{100};
  static constexpr std::chrono::milliseconds kCounts{1000};

  void flush() {
    soon_.stop();
    last_ = loop_.now();
    log::flush();
  }

  net::Loop& loop_;
  net::Deferred now_;
  net::Timer soon_, counts_;
  std::chrono::milliseconds last_ = -kApart;
};

}  // namespace lineward::runtime
