// How stdio servers are, for people and probes: a small part of StdioUpstream.
#include "upstream/stdio_upstream.h"

namespace lineward::upstream {

using State = core::UpstreamStatus::State;

void InstanceGroup::list(std::vector<core::UpstreamStatus::Process>& out) const {
  for (const auto& instance : instances_) {
    if (instance->pid() > 0) out.push_back({instance->pid(), instance->number()});
  }
}

core::UpstreamStatus StdioUpstream::status() const {
  core::UpstreamStatus status;
  status.server = verdict_.server;
  bool ready = false;
  std::chrono::milliseconds pause{0};
  for (const auto& [key, group] : groups_) {
    group->list(status.processes);
    ready = ready || group->has_ready();
    if (group->pause() <= pause) continue;
    pause = group->pause();
    status.why = group->last_end();
  }
  spares_.list(status.processes);
  for (const auto& instance : leaving_) {
    if (instance->pid() > 0) status.processes.push_back({instance->pid(), instance->number()});
  }
  if (stopping_) {
    status.state = State::draining;
  } else if (!breaker_.closed() && !ready) {
    status.state = State::open;
    status.limit = breaker_.wait(loop_.now());
    status.why = breaker_.why();
    return status;
  } else if (ready) {
    status.state = State::ready;
  } else if (pause.count() > 0) {
    status.state = State::backoff;
    status.limit = pause;
  } else if (verdict_.known) {
    status.state = State::ready;  // a process is started when somebody calls
  } else if (!probe_ && failed_probes_ > 0) {
    bool waits = loop_.now() < probe_not_before_;
    status.state = waits ? State::backoff : State::failed;
    if (waits) status.limit = probe_not_before_ - loop_.now();
  } else {
    status.state = State::starting;
    status.limit = server_.timeouts.startup;
  }
  if (!verdict_.known) status.why = verdict_.failure.text;
  if (status.state == State::ready) status.why.clear();
  return status;
}

// Where nobody calls, the probe is the trial of an open circuit.
void StdioUpstream::wake() {
  bool back = !breaker_.closed() && breaker_.wait(loop_.now()).count() == 0;
  if (!verdict_.known || back) probe();
}

}  // namespace lineward::upstream
