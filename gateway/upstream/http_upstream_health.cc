// What the ends of its calls say about an HTTP server: the part of HttpUpstream around its circuit breaker.
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
  breaker_.tell(server_.name);
}

void HttpUpstream::circuit_closed() {
  if (breaker_.close()) breaker_.tell(server_.name);
}

}  // namespace lineward::upstream
