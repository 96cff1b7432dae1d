#include "net/loop.h"

#include <uv.h>

#include "base/check.h"
#include "net/byte_stream.h"
#include "net/handle.h"

namespace lineward::net {

struct Loop::Handles {
  Handle<uv_timer_t> timer;
  Handle<uv_prepare_t> before_poll;
  Handle<uv_check_t> after_poll;
};

Loop::Loop() : loop_(std::make_unique<uv_loop_t>()), handles_(std::make_unique<Handles>()) {
  LW_CHECK(uv_loop_init(loop_.get()) == 0);
  LW_CHECK(handles_->timer.open(this, [&](uv_timer_t* h) { return uv_timer_init(loop_.get(), h); }) == 0);
  LW_CHECK(handles_->before_poll.open(this,
                                      [&](uv_prepare_t* h) { return uv_prepare_init(loop_.get(), h); }) == 0);
  LW_CHECK(handles_->after_poll.open(this, [&](uv_check_t* h) { return uv_check_init(loop_.get(), h); }) ==
           0);
  // Deferred work runs on both sides of the poll: what I/O callbacks deferred runs right after them, what
  // timers and close callbacks deferred runs before the loop may sleep.
  uv_prepare_start(handles_->before_poll.get(), [](uv_prepare_t* h) {
    if (h->data) static_cast<Loop*>(h->data)->run_deferred();
  });
  uv_check_start(handles_->after_poll.get(), [](uv_check_t* h) {
    if (h->data) static_cast<Loop*>(h->data)->run_deferred();
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
  for (ByteStream* stream : std::set<ByteStream*>(std::move(farewells_)))
    ByteStream::abandon(stream);
  farewells_.clear();
  run_deferred();
  handles_->timer.close();
  handles_->before_poll.close();
  handles_->after_poll.close();
  // Everyone closes their own handles before; these turns only deliver the close callbacks.
  for (int turn = 0; turn < 1000 && uv_run(loop_.get(), UV_RUN_NOWAIT) != 0; ++turn) {
  }
  LW_CHECK(uv_loop_close(loop_.get()) == 0);
  closed_ = true;
}

milliseconds Loop::now() const {
  return milliseconds(uv_now(loop_.get()));
}

uint64_t Loop::nanoseconds() {
  return uv_hrtime();
}

void Loop::update_time() {
  uv_update_time(loop_.get());
}

void Loop::defer(std::function<void()> work) {
  deferred_.push_back(std::move(work));
}

void Loop::run_deferred() {
  // Work may defer more work; all of it runs before the loop sleeps.
  while (!deferred_.empty()) {
    std::vector<std::function<void()>> batch;
    batch.swap(deferred_);
    for (auto& work : batch)
      work();
  }
}

void Loop::arm() {
  if (firing_ || closed_ || !handles_->timer) return;
  if (timers_.empty()) {
    uv_timer_stop(handles_->timer.get());
    return;
  }
  uint64_t deadline = timers_.begin()->first.first;
  uint64_t now_ms = uv_now(loop_.get());
  uv_timer_start(
      handles_->timer.get(),
      [](uv_timer_t* h) {
        if (h->data) static_cast<Loop*>(h->data)->fire();
      },
      deadline > now_ms ? deadline - now_ms : 0, 0);
}

void Loop::fire() {
  firing_ = true;
  // Timers started in a callback are due in a later call at the earliest: `limit` keeps a 0 ms timer that
  // restarts itself from holding the loop.
  TimerKey limit{uv_now(loop_.get()), sequence_};
  while (!timers_.empty() && timers_.begin()->first.first <= limit.first &&
         timers_.begin()->first.second <= limit.second) {
    Timer* timer = timers_.begin()->second;
    timers_.erase(timers_.begin());
    timer->running_ = false;
    std::function<void()> due = std::move(timer->due_);
    timer->due_ = nullptr;
    due();  // may destroy the timer
  }
  firing_ = false;
  arm();
}

void Timer::start(milliseconds after, std::function<void()> due) {
  stop();
  uint64_t now_ms = uv_now(loop_.raw());
  uint64_t wait = after.count() > 0 ? static_cast<uint64_t>(after.count()) : 0;
  key_ = {now_ms + wait, ++loop_.sequence_};
  due_ = std::move(due);
  running_ = true;
  bool first = loop_.timers_.empty() || key_ < loop_.timers_.begin()->first;
  loop_.timers_.insert({key_, this});
  if (first) loop_.arm();
}

void Timer::stop() {
  if (!running_) return;
  running_ = false;
  loop_.timers_.erase({key_, this});
  due_ = nullptr;
}

}  // namespace lineward::net
