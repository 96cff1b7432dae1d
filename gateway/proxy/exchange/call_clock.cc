#include "proxy/exchange/call_clock.h"

#include <algorithm>
#include <utility>

namespace lineward::exchange {

using core::CallPhase;
using mcp::EndReason;
using std::chrono::milliseconds;

namespace {

constexpr CallStep step_of(CallPhase phase) {
  switch (phase) {
    case CallPhase::queued: return CallStep::queued;
    case CallPhase::at_capacity:
    case CallPhase::no_share: return CallStep::at_capacity;
    case CallPhase::starting: return CallStep::starting;
    case CallPhase::written: break;
  }
  return CallStep::sent;
}

}  // namespace

CallClock::CallClock(net::Loop& loop, mcp::Method method, Rings rings)
    : loop_(loop),
      is_listen_(method == mcp::Method::subscriptions_listen),
      rings_(std::move(rings)),
      timer_(loop),
      started_(loop.now()),
      phase_since_(loop.now()) {
  mark(CallStep::arrived);
}

void CallClock::use_limits(const config::Timeouts& limits, const config::Server& server) {
  limits_ = limits;
  server_ = &server;
}

void CallClock::stop() {
  stopped_ = true;
  due_at_ = milliseconds(0);
  timer_.stop();
}

// ---- what happens to the call ----

void CallClock::plugins_decide() {
  plugins_decide_ = true;
  mark(CallStep::judging);
  rearm();
}

void CallClock::plugins_decided() {
  plugins_decide_ = false;
  mark(CallStep::judged);
  phase_since_ = loop_.now();
}

bool CallClock::enter(CallPhase phase) {
  if (phase == phase_) return false;
  mark(step_of(phase));
  const bool in_line = core::waits_in_line(phase_);
  if (in_line && core::waits_in_line(phase)) {  // queued for something else now; the limit continues
    phase_ = phase;
    rearm();
    return true;
  }
  if (in_line) queued_for_ += loop_.now() - phase_since_;
  if (phase_ == CallPhase::starting) starting_for_ += loop_.now() - phase_since_;
  phase_ = phase;
  phase_since_ = loop_.now();
  if (phase == CallPhase::written) {
    request_since_ = loop_.now();
    if (written_at_.count() == 0) written_at_ = loop_.now();
  }
  rearm();
  return true;
}

void CallClock::go_on(milliseconds spent) {
  phase_ = CallPhase::written;
  phase_since_ = request_since_ = loop_.now();
  written_at_ = loop_.now() - spent;
}

void CallClock::progressed() {
  mark(CallStep::progress);
  progressed_at_ = loop_.now();
  if (!limits_.progress_resets) return;
  request_since_ = loop_.now();
  rearm();
}

void CallClock::asked() {
  mark(CallStep::asked);
  if (open_questions_++ == 0) question_since_ = loop_.now();
  rearm();
}

void CallClock::answered() {
  if (open_questions_ == 0) return;
  mark(CallStep::answered);
  if (--open_questions_ == 0) {
    waited_ += loop_.now() - question_since_;
    request_since_ = loop_.now();
  }
  rearm();
}

void CallClock::server_is_done() {
  server_done_ = true;
  rearm();
}

void CallClock::hold() {
  held_ = true;
  mark(CallStep::held);
  held_since_ = loop_.now();
  rearm();
}

bool CallClock::release() {
  if (!std::exchange(held_, false)) return false;
  // Messages of the server meanwhile have restarted the request clock.
  request_since_ += loop_.now() - std::max(held_since_, request_since_);
  mark(CallStep::released);
  rearm();
  return true;
}

// ---- the timer ----

void CallClock::arm(milliseconds in, const Due& due) {
  in = std::max(in, milliseconds(0));
  due_at_ = loop_.now() + in;
  due_ = due;
  // Most phase changes only move the limit later: a timer that fires early is started again.
  if (timer_.running() && rings_at_ <= due_at_) return;
  rings_at_ = due_at_;
  timer_.start(in, [this] { ring(); });
}

void CallClock::ring() {
  if (loop_.now() >= due_at_) return rings_(Due(due_));
  rings_at_ = due_at_;
  timer_.start(due_at_ - loop_.now(), [this] { ring(); });
}

void CallClock::rearm() {
  if (stopped_ || server_ == nullptr) return;
  const milliseconds queue_timeout = server_->limits.queue_timeout;
  due_at_ = milliseconds(0);
  // Limits over several stays in a phase: subtracts the time spent in it before.
  auto left = [&](milliseconds before, milliseconds limit) {
    return phase_since_ - before + limit - loop_.now();
  };
  if (plugins_decide_) {
    return arm(left(milliseconds(0), queue_timeout),
               {EndReason::timeout_queue, queue_timeout, "limits.queueTimeout"});
  }
  switch (phase_) {
    case CallPhase::queued:
      return arm(left(queued_for_, queue_timeout),
                 {EndReason::timeout_queue, queue_timeout, "limits.queueTimeout"});
    case CallPhase::at_capacity:
    case CallPhase::no_share:
      return arm(left(queued_for_, queue_timeout),
                 {EndReason::queue_full, queue_timeout, "limits.queueTimeout", phase_});
    case CallPhase::starting:
      return arm(left(starting_for_, limits_.startup),
                 {EndReason::timeout_startup, limits_.startup, "timeouts.startup"});
    case CallPhase::written: return arm_written();
  }
}

void CallClock::arm_written() {
  const config::Timeouts& t = limits_;
  auto since = [&](milliseconds start, milliseconds limit) { return start + limit - loop_.now(); };
  if (is_listen_) {
    return arm(since(written_at_, t.acknowledge),
               {EndReason::timeout_request, t.acknowledge, "timeouts.acknowledge"});
  }
  if (open_questions_ > 0)
    return arm(since(question_since_, t.park), {EndReason::timeout_park, t.park, "timeouts.park"});
  const milliseconds request = std::min(t.request, t.max_duration);
  const milliseconds left = since(request_since_, request);
  const milliseconds left_total = since(written_at_ + waited_, t.max_duration);
  // If two limits expire together, the shorter one is named. If they are equal it is timeouts.request, unless
  // progress has restarted that one.
  const bool total_first =
      left_total < left ||
      (left_total == left &&
       (t.max_duration < t.request || (t.max_duration == t.request && request_since_ != written_at_)));
  if (held_ || server_done_ || total_first) {
    return arm(left_total, {EndReason::timeout_max_duration, t.max_duration, "timeouts.maxDuration"});
  }
  arm(left, {EndReason::timeout_request, request, "timeouts.request"});
}

// ---- queries ----

std::optional<milliseconds> CallClock::at_server() const {
  return is_written() ? std::optional(loop_.now() - written_at_) : std::nullopt;
}

std::optional<milliseconds> CallClock::sent_after() const {
  return is_written() ? std::optional(written_at_ - started_) : std::nullopt;
}

void CallClock::show(CallView& view) const {
  view.age = elapsed();
  if (due_at_.count() > 0 && due_.limit < kMaxPart) {
    view.left = std::max(due_at_ - loop_.now(), milliseconds(0));
    view.limit = due_.option;
  }
  view.queued_for = queued_for_;
  switch (phase_) {
    case CallPhase::queued:
    case CallPhase::at_capacity:
    case CallPhase::no_share:
      view.state = CallState::queued;
      view.queued_for += loop_.now() - phase_since_;
      break;
    case CallPhase::starting: view.state = CallState::starting; break;
    case CallPhase::written: view.state = CallState::running; break;
  }
  view.sent_after = sent_after();
  if (open_questions_ > 0) view.state = CallState::input;
  view.questions = open_questions_;
  view.timeline = timeline_;
}

}  // namespace lineward::exchange
