// foundation/net/loop.h over the world's events: no libuv loop turns here. The order within a turn is
// libuv's: timers, what was deferred, what the poll brought, what that deferred.
#include "foundation/net/loop.h"

#include <uv.h>

#include <algorithm>

#include "foundation/base/check.h"
#include "foundation/net/byte_stream.h"
#include "foundation/net/handle.h"
#include "world.h"

// Handles of libuv are here only what says that something is open (foundation/net/handle.h): nothing in them
// is used.
extern "C" void uv_close(uv_handle_t* handle, uv_close_cb closed) {
  if (lineward::sim::has_world()) --lineward::sim::world().open_handles;
  closed(handle);
}

namespace lineward::net {

using sim::world;

struct Loop::Handles {
  bool stopped = false;
};

Loop::Loop()
    : loop_(std::make_unique<uv_loop_t>()), time_(&loop_->time), handles_(std::make_unique<Handles>()) {
  loop_->time = static_cast<uint64_t>(world().now() / sim::kMillisecond);
}

Loop::~Loop() {
  close_all();
}

void Loop::run() {
  handles_->stopped = false;
  while (!handles_->stopped) {
    loop_->time = static_cast<uint64_t>(world().now() / sim::kMillisecond);
    if (timers_.next() <= loop_->time) fire();
    turn_.store(turn() + 1, std::memory_order_relaxed);
    deferred_.run();
    if (handles_->stopped) break;
    const uint64_t next = timers_.next();
    // As in the real one: what comes finds the time at which it came.
    world().poll(next == TimerWheel::kNever
                     ? INT64_MAX
                     : std::max(static_cast<sim::Time>(next) * sim::kMillisecond, world().now()),
                 [this] { loop_->time = static_cast<uint64_t>(world().now() / sim::kMillisecond); });
    settled_ = true;
    deferred_.run();
    settled_ = false;
  }
}

void Loop::stop() {
  handles_->stopped = true;
}

void Loop::close_all() {
  if (closed_) return;
  last_writers_.clear();
  deferred_.run();
  closed_ = true;
}

uint64_t Loop::nanoseconds() {
  return static_cast<uint64_t>(world().now()) * 1000 + 1;
}

// No timer to set: run() looks at the wheel in each turn.
void Loop::arm() {}

void Loop::fire() {
  // As in the real one: a loop that stood still polls once before limits are judged.
  constexpr uint64_t kStoodStill = 50;
  const uint64_t now = loop_->time;
  if (!catching_up_ && now > timers_.next() + kStoodStill && now > armed_for_) {
    catching_up_ = true;
    return;
  }
  catching_up_ = false;
  timers_.advance(now, [](TimerWheel::Entry& entry) {
    std::function<void()> due = std::exchange(static_cast<Timer&>(entry).due_, nullptr);
    due();
  });
}

void Timer::start(milliseconds after, std::function<void()> due) {
  stop();
  const uint64_t wait = after.count() > 0 ? static_cast<uint64_t>(after.count()) : 0;
  due_ = std::move(due);
  loop_.timers_.start(*this, *loop_.time_ + wait);
}

void Timer::stop() {
  if (!running()) return;
  TimerWheel::stop(*this);
  due_ = nullptr;
}

}  // namespace lineward::net
