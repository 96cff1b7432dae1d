#include "proxy/upstream/shared/circuit_breaker.h"

#include <fmt/format.h>

#include "foundation/log/log.h"

namespace lineward::upstream {

void CircuitBreaker::tell(const std::string& server) const {
  if (!open_) {
    return log::write(log::Level::info, "upstream.circuit", {{"upstream", server}, {"state", "closed"}});
  }
  log::write(log::Level::warn, "upstream.circuit",
             {{"upstream", server},
              {"state", "open"},
              {"failures", int64_t{failures_}},
              {"why", why_},
              {"open_ms", limits_.open_for.count()}});
}

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
