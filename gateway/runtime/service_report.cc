#include "runtime/service_report.h"

#include <algorithm>
#include <utility>

#include "foundation/log/log.h"

namespace lineward::runtime {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// Twice per interval, as sd_watchdog_enabled(3) recommends, but never in a busy loop.
milliseconds pause_of(microseconds watchdog) {
  return std::max(std::chrono::duration_cast<milliseconds>(watchdog / 2), milliseconds(1));
}

// Beats come every second (Worker::beat): a loop with a younger beat counts as alive.
constexpr milliseconds kFreshBeat{3000};
constexpr milliseconds kStopStep{1000};
// Length of an extension: the next one is in time even on a slow machine.
constexpr milliseconds kStopExtension{10'000};

}  // namespace

ServiceReport::ServiceReport(net::Loop& loop, const net::ServiceVariables& variables,
                             std::function<uint64_t()> slowest_beat)
    : loop_(loop),
      watchdog_(net::watchdog_of(variables)),
      slowest_beat_(std::move(slowest_beat)),
      watchdog_timer_(loop),
      stop_timer_(loop) {
  auto opened = net::ServiceNotifier::open(variables.notify_socket);
  if (opened) {
    notifier_ = std::move(*opened);
  } else {
    log::write(log::Level::warn, "notify.failed", {{"why", opened.error().text}});
  }
}

void ServiceReport::ready(std::string status) {
  if (!notifier_.is_heard()) return;
  serving_ = std::move(status);
  notifier_.ready(serving_);
  if (watchdog_.count() > 0) feed_watchdog();
}

void ServiceReport::reloading() {
  notifier_.reloading();
}

void ServiceReport::reloaded() {
  if (notifier_.is_heard()) notifier_.ready(serving_);
}

void ServiceReport::stopping(milliseconds at_most, std::function<std::string()> left) {
  if (!notifier_.is_heard()) return;
  until_ = loop_.now() + at_most;
  left_ = std::move(left);
  notifier_.stopping(left_());
  ask_for_time();
}

// A single stalled loop withholds the watchdog ping: its servers answer no call.
void ServiceReport::feed_watchdog() {
  const uint64_t now = net::Loop::nanoseconds();
  const uint64_t beat = slowest_beat_();
  const std::chrono::nanoseconds still(now > beat ? now - beat : 0);
  if (still <= std::max<std::chrono::nanoseconds>(watchdog_, kFreshBeat)) notifier_.alive();
  watchdog_timer_.start(pause_of(watchdog_), [this] { feed_watchdog(); });
}

// In small steps: a gateway that hangs meanwhile gets no further extension.
void ServiceReport::ask_for_time() {
  notifier_.status(left_());
  const milliseconds rest = until_ - loop_.now();
  if (rest.count() <= 0) return;
  notifier_.extend_timeout(std::min(rest + kStopStep, kStopExtension));
  stop_timer_.start(kStopStep, [this] { ask_for_time(); });
}

}  // namespace lineward::runtime
