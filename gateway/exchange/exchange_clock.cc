// How long an exchange may take: another part of exchange/exchange.h (behaviour.md 4).
#include <fmt/format.h>

#include <algorithm>

#include "config/aggregate.h"
#include "config/call_timeouts.h"
#include "exchange/exchange.h"
#include "exchange/exchange_plugins.h"
#include "route/lists.h"

namespace lineward::exchange {
namespace {

using core::CallPhase;
using mcp::EndReason;
using mcp::Method;
using std::chrono::milliseconds;

// A part of a merged answer cannot take longer (aggregate.partTimeout).
constexpr milliseconds kLongestPart{3600 * 1000};

}  // namespace

void Exchange::set_limits() {
  const std::string& target = routed_ ? routed_->target : target_;
  bool of_tool = arrival_.method == Method::tools_call;
  limits_ = config::timeouts_for(*server_, method_, of_tool ? std::string_view(target) : std::string_view());
  bool merged = config::is_aggregate(server_->name) &&
                (arrival_.method == Method::server_discover || arrival_.method == Method::initialize ||
                 route::list_of(arrival_.method) != nullptr);
  if (merged) {
    // Each part has its server's limits and the client's wish: one that comes late must not end the whole.
    limits_.request = limits_.max_duration = std::max(limits_.max_duration, kLongestPart);
    return;
  }
  // The client's own wish for this request, never above the hard limit.
  if (arrival_.wait) limits_.request = std::min(*arrival_.wait, limits_.max_duration);
}

// At the aggregate: from here on its server's limits count, and it is that server's call by name.
void Exchange::on_call_routed(const core::RoutedPtr& to) {
  if (ended() || (routed_ && routed_->server == to->server)) return;
  use_routed(to);
  set_limits();
  set_clock();
}

void Exchange::use_routed(const core::RoutedPtr& to) {
  routed_ = to;
  server_ = to->server;
  record_.count_for(core::routed_stats(server_->name));
}

// One clock, set anew whenever something it depends on has changed (behaviour.md 4).
void Exchange::set_clock() {
  if (ended() || server_ == nullptr) return;
  const config::Timeouts& t = limits_;
  auto since = [&](milliseconds start, milliseconds limit) { return start + limit - loop_.now(); };
  due_at_ = milliseconds(0);
  auto arm = [&](milliseconds in, EndReason reason, milliseconds limit, std::string_view option) {
    in = std::max(in, milliseconds(0));
    due_at_ = loop_.now() + in;
    due_ = {reason, limit, option};
    // Most limits only move away from one phase to the next: a clock that runs out before looks again then.
    if (clock_.running() && rings_at_ <= due_at_) return;
    rings_at_ = due_at_;
    clock_.start(in, [this] { ring(); });
  };
  if (acknowledged_) return clock_.stop();  // a listen has no limit, also while it is opened again elsewhere
  if (step_ == Step::plugins) {
    return arm(since(phase_since_, server_->limits.queue_timeout), EndReason::timeout_queue,
               server_->limits.queue_timeout, "limits.queueTimeout");
  }
  // Each of the two counts in all, however often a call goes from one to the other.
  switch (phase_) {
    case CallPhase::queued:
      return arm(since(phase_since_ - queued_for_, server_->limits.queue_timeout), EndReason::timeout_queue,
                 server_->limits.queue_timeout, "limits.queueTimeout");
    case CallPhase::no_room:
      return arm(since(phase_since_ - queued_for_, server_->limits.queue_timeout), EndReason::queue_full,
                 server_->limits.queue_timeout, "limits.queueTimeout");
    case CallPhase::starting:
      return arm(since(phase_since_ - starting_for_, t.startup), EndReason::timeout_startup, t.startup,
                 "timeouts.startup");
    case CallPhase::written: break;
  }
  if (is_listen()) {
    return arm(since(written_at_, t.acknowledge), EndReason::timeout_request, t.acknowledge,
               "timeouts.acknowledge");
  }
  if (open_questions_ > 0) {
    return arm(since(question_since_, t.park), EndReason::timeout_park, t.park, "timeouts.park");
  }
  milliseconds request = std::min(t.request, t.max_duration);
  milliseconds left = since(last_progress_, request);
  milliseconds left_total = since(written_at_ + waited_, t.max_duration);
  if (held_) return arm(left_total, EndReason::timeout_max_duration, t.max_duration, "timeouts.maxDuration");
  if (left_total < left ||
      (left_total == left && t.max_duration <= request && last_progress_ != written_at_)) {
    return arm(left_total, EndReason::timeout_max_duration, t.max_duration, "timeouts.maxDuration");
  }
  arm(left, EndReason::timeout_request, request, "timeouts.request");
}

void Exchange::ring() {
  if (loop_.now() >= due_at_) return deadline(due_.reason, due_.limit, due_.option);
  rings_at_ = due_at_;
  clock_.start(due_at_ - loop_.now(), [this] { ring(); });
}

void Exchange::deadline(EndReason reason, milliseconds limit, std::string_view option) {
  if (ended()) return;
  std::string method = method_.substr(0, 100);
  std::string text;
  switch (reason) {
    case EndReason::timeout_queue:
      if (step_ == Step::plugins) {
        text = fmt::format("plugin {} did not decide on {} within {} ms (lineward {})", plugins_->waits_for(),
                           method, limit.count(), option);
        break;
      }
      text = fmt::format("no free place for {} {} within {} ms (lineward {})", server_name(), method,
                         limit.count(), option);
      break;
    case EndReason::queue_full:
      text = fmt::format(
          "{} runs as many processes as it may (instances: {}), and none of them was free within {} ms "
          "(lineward {})",
          server_->name, server_->instances, limit.count(), option);
      retry_after_ms_ = std::max<int64_t>(limit.count(), 1000);
      reply_->add_headers({{"Retry-After", std::to_string((retry_after_ms_ + 999) / 1000)}});
      break;
    case EndReason::timeout_startup:
      text = fmt::format("{} was not ready within {} ms (lineward {})", server_name(), limit.count(), option);
      break;
    default:
      text = fmt::format("{} did not answer {}{}{} within {} ms (lineward {})", server_name(), method,
                         target_.empty() ? "" : " ", target_, limit.count(), option);
      break;
  }
  fail(reason, text, limit.count());
}

}  // namespace lineward::exchange
