// Deaths, proofs of life and what follows from them: the part of StdioUpstream that keeps a server that dies
// at once from eating the machine, and its callers from waiting for it.
#include <fmt/format.h>

#include <algorithm>

#include "upstream/process_end.h"
#include "upstream/stdio_upstream.h"

namespace lineward::upstream {

using std::chrono::milliseconds;

// An open circuit has its own time; a trial does not wait for the pauses between starts as well.
milliseconds StdioUpstream::start_pause(milliseconds not_before) {
  milliseconds now = loop_.now();
  if (!breaker_.closed()) return std::max(budget_.ration(now), breaker_.wait(now));
  return std::max({not_before - now, budget_.wait(now), milliseconds(0)});
}

// A handshake shows that the server is there, not that it lives through its work.
void StdioUpstream::instance_answered(bool of_call) {
  budget_.answered();
  if (of_call ? breaker_.close() : breaker_.close_doubting()) breaker_.tell(server_.name);
}

void StdioUpstream::instance_died(const StdioInstance& instance, const ProcessEnd& end) {
  if (!end.counts) return;
  Proof proof = instance.has_served() ? Proof::served : Proof::answered;
  if (!instance.has_answered() || !instance.was_ready()) proof = Proof::none;
  budget_.died(loop_.now(), proof, loop_.now() - instance.started_at());
  if (!counts_for_circuit(end.reason)) return;
  failed(instance.has_answered() ? end.text : start_failure_text(end, server_));
}

// A sibling's answer proves that the server is there; its silent exit, which may mean the old era, does not.
void StdioUpstream::note_verdict() {
  if (stopping_) return;
  if (verdict_.known && verdict_.failure.text.empty()) return instance_answered(false);
  // Of an exit the process that follows will tell, unless nobody waits for one.
  if (verdict_.known && (breaker_.closed() || !undecided_.empty())) return;
  budget_.died(loop_.now(), Proof::none, milliseconds(0));
  if (counts_for_circuit(verdict_.failure.reason)) {
    failed(start_failure_text(verdict_.failure, server_));
  }
}

void StdioUpstream::failed(std::string why) {
  if (!breaker_.failed(loop_.now(), std::move(why))) return;
  breaker_.tell(server_.name);
  // Those that wait would wait for nothing. Not from here: a group may be on the stack.
  loop_.defer(lifetime_, [this] {
    if (breaker_.closed()) return;
    core::Failure refusal = breaker_.refusal(server_.name, loop_.now());
    std::vector<std::string> keys;
    for (const auto& entry : groups_)
      keys.push_back(entry.first);
    for (const auto& key : keys) {
      auto found = groups_.find(key);
      if (found != groups_.end()) found->second->refuse_waiting(refusal);
    }
  });
}

void StdioUpstream::fill_spares() {
  if (spares_.size() >= server_.pool.prewarm) return;
  size_t running = leaving_.size() + spares_.size();
  for (const auto& entry : groups_)
    running += entry.second->instances();
  spares_.fill(server_.instances > running ? server_.instances - running : 0);
}

// A process that is up is no reason to refuse: only starts are held back.
bool StdioUpstream::refused_by_circuit(const core::CallRequest& request, bool& trial) {
  bool modern = request.client_era == mcp::Era::modern;
  if (!modern || verdict_.known) {
    auto plan = plan_for(request);
    auto found = plan ? groups_.find(plan->key) : groups_.end();
    if (found != groups_.end() && found->second->has_ready()) return false;
  }
  trial = breaker_.try_now(loop_.now());
  return !trial;
}

}  // namespace lineward::upstream
