#include "proxy/upstream/shared/circuit_breaker.h"

#include <fmt/format.h>

#include <utility>

#include "foundation/log/log.h"

namespace lineward::upstream {

using std::chrono::milliseconds;
using Lock = std::lock_guard<std::mutex>;

milliseconds CircuitBreaker::wait(milliseconds now) const {
  if (closed()) return milliseconds(0);
  const Lock lock(state_->mutex);
  return !closed() && now < state_->until ? state_->until - now : milliseconds(0);
}

bool CircuitBreaker::try_now(milliseconds now) {
  if (closed()) return true;
  const Lock lock(state_->mutex);
  if (closed()) return true;
  if (state_->probing || now < state_->until) return false;
  state_->probing = true;
  return true;
}

void CircuitBreaker::withdrawn() {
  const Lock lock(state_->mutex);
  state_->probing = false;
}

bool CircuitBreaker::was_over(milliseconds then) const {
  if (closed()) return false;
  const Lock lock(state_->mutex);
  return !closed() && then >= state_->until;
}

bool CircuitBreaker::close(uint32_t failures) {
  const Lock lock(state_->mutex);
  state_->failures = failures;
  state_->probing = false;
  return state_->open.exchange(false);
}

bool CircuitBreaker::close() {
  return close(0);
}

bool CircuitBreaker::close_doubting() {
  return !closed() && close(limits_.consecutive_failures - 1);
}

bool CircuitBreaker::failed(milliseconds now, std::string why) {
  if (limits_.consecutive_failures == 0) return false;
  const Lock lock(state_->mutex);
  state_->why = std::move(why);
  if (state_->open) {
    // Several failures within one open time count as one.
    if (now < state_->until) return false;
  } else if (++state_->failures < limits_.consecutive_failures) {
    return false;
  }
  state_->open = true;
  state_->probing = false;
  state_->until = now + limits_.open_for;
  return true;
}

std::string CircuitBreaker::why() const {
  const Lock lock(state_->mutex);
  return state_->why;
}

void CircuitBreaker::tell(const std::string& server) const {
  if (closed()) {
    return log::write(log::Level::info, "upstream.circuit", {{"upstream", server}, {"state", "closed"}});
  }
  log::write(log::Level::warn, "upstream.circuit",
             {{"upstream", server},
              {"state", "open"},
              {"failures", int64_t{failures()}},
              {"why", why()},
              {"open_ms", limits_.open_for.count()}});
}

core::Failure CircuitBreaker::refusal(const std::string& server, milliseconds now) const {
  const int64_t left = std::max<int64_t>(wait(now).count(), 1);
  const int64_t seconds = (left + 999) / 1000;
  core::Failure failure{mcp::EndReason::circuit_open,
                        fmt::format("{} is left alone for another {} s after {} failures in a row "
                                    "(circuitBreaker); the last: {}",
                                    server, seconds, std::max(failures(), 1u), why())};
  failure.retry_after_ms = left;
  failure.headers = {{"Retry-After", std::to_string(seconds)}};
  return failure;
}

}  // namespace lineward::upstream
