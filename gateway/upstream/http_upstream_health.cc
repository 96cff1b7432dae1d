// What the ends of its calls say about an HTTP server: the part of HttpUpstream around its circuit breaker.
#include "base/log.h"
#include "upstream/http_upstream.h"

namespace lineward::upstream {

// Whatever the server says proves that it is there; what its caller or Lineward decided proves nothing.
void HttpUpstream::note_failure(const HttpCall& call, const core::Failure& failure) {
  if (stopping_) return;
  if (!counts_for_circuit(failure.reason)) {
    bool answered = failure.server_status > 0 && failure.server_status < 500;
    if (answered) return note_answer();
    if (call.trial) breaker_.withdrawn();
    return;
  }
  // One that was under way when the circuit opened tells nothing new.
  if (!breaker_.closed() && !call.trial) return;
  if (!breaker_.failed(loop_.now(), failure.text)) return;
  log::write(log::Level::warn, "upstream.circuit",
             {{"upstream", server_.name},
              {"state", "open"},
              {"failures", int64_t{breaker_.failures()}},
              {"why", breaker_.why()},
              {"open_ms", server_.circuit_breaker.open_for.count()}});
}

void HttpUpstream::circuit_closed() {
  if (!breaker_.close()) return;
  log::write(log::Level::info, "upstream.circuit", {{"upstream", server_.name}, {"state", "closed"}});
}

}  // namespace lineward::upstream
