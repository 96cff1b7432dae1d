#include "upstream/circuit_breaker.h"

#include <fmt/format.h>

namespace lineward::upstream {

core::Failure CircuitBreaker::refusal(const std::string& server, milliseconds now) const {
  const int64_t left = std::max<int64_t>(wait(now).count(), 1);
  const int64_t seconds = (left + 999) / 1000;
  core::Failure failure{mcp::EndReason::circuit_open,
                        fmt::format("{} is left alone for another {} s after {} failures in a row "
                                    "(circuitBreaker); the last: {}",
                                    server, seconds, std::max(failures_, 1u), why_)};
  failure.retry_after_ms = left;
  failure.headers = {{"Retry-After", std::to_string(seconds)}};
  return failure;
}

}  // namespace lineward::upstream
