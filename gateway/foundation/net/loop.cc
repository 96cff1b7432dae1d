#include "foundation/net/loop.h"

#include <uv.h>

#include <algorithm>

#include "foundation/base/check.h"
#include "foundation/net/byte_stream.h"
#include "foundation/net/handle.h"

namespace lineward::net {
namespace {

constexpr uint64_t kStoodStill = 50;  // ms

}  // namespace

struct Loop::Handles {
  Handle<uv_timer_t> timer;
  Handle<uv_prepare_t> before_poll;
  Handle<uv_check_t> after_poll;
};

Loop::Loop()
    : loop_(std::make_unique<uv_loop_t>()), time_(&loop_->time), handles_(std::make_unique<Handles>()) {
  LW_CHECK(uv_loop_init(loop_.get()) == 0);
  LW_CHECK(handles_->timer.open(this, [&](uv_timer_t* h) { return uv_timer_init(loop_.get(), h); }) == 0);
  LW_CHECK(handles_->before_poll.open(this,
                                      [&](uv_prepare_t* h) { return uv_prepare_init(loop_.get(), h); }) == 0);
  LW_CHECK(handles_->after_poll.open(this, [&](uv_check_t* h) { return uv_check_init(loop_.get(), h); }) ==
           0);
  // Deferred work runs on both sides of the poll: work of I/O callbacks right after them, work of timers and
  // close callbacks before the loop may sleep.
  uv_prepare_start(handles_->before_poll.get(), [](uv_prepare_t* h) {
    if (h->data == nullptr) return;
    auto* loop = static_cast<Loop*>(h->data);
    // Before the poll: handles that become idle in its callbacks were not polled in it. No other thread
    // writes it.
    loop->turn_.store(loop->turn() + 1, std::memory_order_relaxed);
    loop->note_turn();
    loop->deferred_.run();
  });
  uv_check_start(handles_->after_poll.get(), [](uv_check_t* h) {
    if (h->data == nullptr) return;
    auto* loop = static_cast<Loop*>(h->data);
    loop->settled_ = true;
    loop->polled_at_ = *loop->time_;  // libuv read its clock after the poll, before the callbacks
    loop->deferred_.run();
    loop->settled_ = false;
  });
}

Loop::~Loop() {
  close_all();
}

void Loop::run() {
  uv_run(loop_.get(), UV_RUN_DEFAULT);
}

void Loop::stop() {
  uv_stop(loop_.get());
}

void Loop::close_all() {
  if (closed_) return;
  last_writers_.clear();
  deferred_.run();
  handles_->timer.close();
  handles_->before_poll.close();
  handles_->after_poll.close();
  // All owners have closed their handles; these turns only deliver the close callbacks.
  for (int turn = 0; turn < 1000 && uv_run(loop_.get(), UV_RUN_NOWAIT) != 0; ++turn) {
  }
  LW_CHECK(uv_loop_close(loop_.get()) == 0);
  closed_ = true;
}

uint64_t Loop::nanoseconds() {
  return uv_hrtime();
}

void Loop::note_turn() {
  const uint64_t took = polled_at_ == 0 ? 0 : *time_ - polled_at_;
  if (took == 0) return;
  const auto& up_to = SlowTurns::kUpTo;
  ++slow_turns_
        .counts[static_cast<size_t>(std::lower_bound(up_to.begin(), up_to.end(), took) - up_to.begin())];
  slow_turns_.sum += took;
  slow_turns_.longest = std::max(slow_turns_.longest, took);
}

void Loop::arm() {
  if (closed_ || timers_.advancing() || !handles_->timer) return;
  const uint64_t now_ms = uv_now(loop_.get());
  // The wheel may name a past moment after it was idle for a while.
  const uint64_t deadline = std::max(timers_.next(), now_ms);
  if (deadline >= armed_for_) return;
  armed_for_ = deadline;
  uv_timer_start(
      handles_->timer.get(),
      [](uv_timer_t* h) {
        if (h->data) static_cast<Loop*>(h->data)->fire();
      },
      deadline - now_ms, 0);
}

void Loop::fire() {
  // After a stall (a stopped process, a blocked loop) pending input is read before limits are judged: the
  // loop polls first once. 1 ms from now, since libuv would run a timer of 0 ms again at once.
  if (!catching_up_ && uv_now(loop_.get()) > armed_for_ + kStoodStill) {
    catching_up_ = true;
    uv_timer_start(
        handles_->timer.get(),
        [](uv_timer_t* h) {
          if (h->data) static_cast<Loop*>(h->data)->fire();
        },
        1, 0);
    return;
  }
  catching_up_ = false;
  armed_for_ = TimerWheel::kNever;
  timers_.advance(uv_now(loop_.get()), [](TimerWheel::Entry& entry) {
    std::function<void()> due = std::exchange(static_cast<Timer&>(entry).due_, nullptr);
    due();  // may destroy the timer
  });
  arm();
}

void Timer::start(milliseconds after, std::function<void()> due) {
  stop();
  const uint64_t wait = after.count() > 0 ? static_cast<uint64_t>(after.count()) : 0;
  due_ = std::move(due);
  loop_.timers_.start(*this, uv_now(loop_.raw()) + wait);
  if (loop_.timers_.next() < loop_.armed_for_) loop_.arm();
}

void Timer::stop() {
  if (!running()) return;
  TimerWheel::stop(*this);
  due_ = nullptr;
}

}  // namespace lineward::net
