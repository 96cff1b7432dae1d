#include "proxy/upstream/stdio/stdio_health.h"

#include <algorithm>
#include <utility>

namespace lineward::upstream {

using std::chrono::milliseconds;

// An open circuit has its own time; a half-open probe does not wait for start pauses too.
milliseconds StdioHealth::start_pause(milliseconds not_before) {
  const milliseconds now = loop_.now();
  if (!breaker_.closed()) return std::max(budget_.ration(now), breaker_.wait(now));
  return std::max({not_before - now, budget_.wait(now), milliseconds(0)});
}

// A handshake shows that the server runs, not that it survives its work.
void StdioHealth::answered(HealthSignal what) {
  proven_ = true;
  budget_.answered();
  const bool was_open = what == HealthSignal::work ? breaker_.close() : breaker_.close_doubting();
  if (was_open) breaker_.tell(server_.name);
}

// A process that was up keeps serving while the circuit is open. A call sent after the open time proves as
// much as a handshake, so no call is refused because a half-open probe is pending.
void StdioHealth::call_answered(milliseconds sent_at) {
  breaker_.was_over(sent_at) ? answered(HealthSignal::handshake) : breaker_.succeeded();
}

// A process that was up may have closed the circuit meanwhile, and deaths may have opened it again: this
// probe was sent before that.
void StdioHealth::probe_answered(milliseconds sent_at) {
  if (!breaker_.closed() && !breaker_.was_over(sent_at)) return breaker_.succeeded();
  answered(HealthSignal::work);
}

void StdioHealth::died(const InstanceRecord& process, const ProcessEnd& end) {
  if (!end.counts) return;
  Proof proof = process.has_served ? Proof::served : Proof::answered;
  if (!process.has_answered || !process.was_ready) proof = Proof::none;
  proven_ = proof != Proof::none;
  budget_.died(loop_.now(), proof, loop_.now() - process.started_at);
  if (!counts_for_circuit(end.reason)) return;
  failed(process.has_answered ? end.text : start_failure_text(end, server_));
}

void StdioHealth::probe_died(const ProcessEnd& end) {
  proven_ = false;
  budget_.died(loop_.now(), Proof::none, milliseconds(0));
  if (counts_for_circuit(end.reason)) failed(start_failure_text(end, server_));
}

void StdioHealth::failed(std::string why) {
  if (!breaker_.failed(loop_.now(), std::move(why))) return;
  breaker_.tell(server_.name);
  // Deferred: a group may be on the stack.
  loop_.defer(lifetime_, [this] {
    if (!breaker_.closed()) refused_(refusal());
  });
}

}  // namespace lineward::upstream
