#include "proxy/upstream/stdio/stdio_upstream.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "foundation/log/log.h"

namespace lineward::upstream {
namespace {

using std::chrono::milliseconds;
using State = core::UpstreamStatus::State;

// While a group waits for room: a session may have lost its client meanwhile.
constexpr milliseconds kLookForRoom{250};
// A server that crashed on an `initialize` may have had another reason: it is tried again after this time.
constexpr milliseconds kDoubt{10ll * 60 * 1000};

core::Failure stopping_now() {
  return {mcp::EndReason::cancelled_drain, "the gateway is stopping"};
}

// `stopped` is called once no process is left.
void end_if_gone(const InstanceGroups& groups, const StdioEraProber& prober, std::function<void()>& stopped) {
  if (stopped && groups.leaving() == 0 && !prober.is_busy()) std::exchange(stopped, nullptr)();
}

bool has_process_for(const core::UpstreamRequest& request, mcp::Era era, CallerGrouping& grouping,
                     const InstanceGroups& groups) {
  auto plan = grouping.of(request, era);
  const InstanceGroup* group = plan ? groups.find(plan->key) : nullptr;
  return group != nullptr && group->has_ready();
}

}  // namespace

StdioUpstream::StdioUpstream(net::Loop& loop, process::Spawner& spawner, const config::Server& server)
    : Upstream(server.name),
      loop_(loop),
      server_(server),
      prober_(loop, spawner, server, health_, [this] { on_prober_free(); }),
      groups_(loop, spawner, server, *this),
      pump_later_(
          loop, [](void* self) { static_cast<StdioUpstream*>(self)->pump(); }, this) {}

StdioUpstream::~StdioUpstream() {
  lifetime_.end();
}

// ---- the era ----

void StdioUpstream::warm_up(std::function<void(const EraVerdict&)> ready) {
  if (server_.start == config::ServerStart::on_use) return;
  schedule_pump();  // starts the spares
  era_.warm_up(std::move(ready));
}

// If no call waits, the era probe is the half-open probe of an open circuit.
void StdioUpstream::notice(core::UpstreamNotice what) {
  switch (what) {
    case core::UpstreamNotice::reconfigured: return schedule_pump();
    case core::UpstreamNotice::retired: return groups_.retire_spares();
    case core::UpstreamNotice::wake: break;
  }
  const bool back = !health_.circuit_closed() && health_.open_for().count() == 0;
  if (!era_.is_known() || back || health_.doubts(era_.verdict())) era_.ask();
}

// Two failures contradict the era verdict, so that the next call probes again. A process that never got ready
// contradicts a verdict based on an exit alone. A process that does not know `initialize` contradicts any
// legacy verdict, such as one from a modern server's temporary error.
//
// A refused legacy client is served in the other era (ModernBridge). A modern client's call was not sent, and
// waits; but only once, for a server may refuse both.
void StdioUpstream::start_failed(const ProcessEnd& end, std::deque<StdioCall*>& refused) {
  if (end.reason != mcp::EndReason::cancelled_drain) doubt_era();
  const bool no_legacy_one = end.knows_no_initialize && !era_.is_modern() &&
                             !era_.verdict().knows_no_discover &&
                             server_.protocol_era == config::Era::automatic;
  if ((era_.verdict().is_weak() && end.reason != mcp::EndReason::cancelled_drain) || no_legacy_one)
    era_.forget();
  // Another group's process may have contradicted it before.
  const bool certain = era_.is_known() && !era_.is_modern();
  if (stopping_ || certain) return;
  std::deque<StdioCall*> others;  // those for a legacy server only
  core::Failure of_other_era;
  std::erase_if(refused, [&](StdioCall* call) {
    if (call->request.of_session() || std::exchange(call->era_doubted, true)) return false;
    if (!era_.is_modern()) {
      era_.wait(*call);
    } else if (auto other = era_.refusal(call->request)) {
      of_other_era = std::move(*other);
      others.push_back(call);
    } else {
      return !enqueue(*call);
    }
    return true;
  });
  for (StdioCall* call : others)
    call->fail(of_other_era);
}

void StdioUpstream::on_prober_free() {
  end_if_gone(groups_, prober_, stopped_);
  era_.prober_free();
  schedule_pump();
}

// An answer proves that the server runs; a silent exit, which may mean legacy, does not.
void StdioUpstream::on_era_verdict(const EraVerdict& verdict) {
  if (stopping_) return;
  era_is_assumed_ = false;
  if (era_found_) era_found_(verdict);
  // After an exit the next process decides: a call waits for one.
  if (verdict.is_weak()) return;
  verdict.known ? health_.answered(HealthSignal::handshake) : health_.probe_died(verdict.failure);
}

void StdioUpstream::assume_era(const EraVerdict& verdict) {
  if (era_.is_known()) return;
  era_.assume(verdict);
  era_is_assumed_ = era_was_assumed_ = era_.is_known();
}

// The first process of this life shows whether the server is what it was. Calls that waited for it wait for
// a probe.
bool StdioUpstream::is_of_other_era(InstanceGroup& group, const mcp::Message& discovered) {
  // Several processes may have been started under the assumption.
  const bool is_doubtful = era_is_assumed_ || (era_was_assumed_ && !era_.is_modern());
  if (!is_doubtful || stopping_) return false;
  if (verdict_of_discover(discovered).era == mcp::Era::modern) return false;
  if (era_is_assumed_) {
    log::write(log::Level::info, "memory.ignored",
               {{"upstream", server_.name}, {"why", "the server is not of the modern era any more"}});
  }
  doubt_era();
  std::deque<StdioCall*> waiting = group.take_queue();
  groups_.close(group, "its server is of another era");
  for (StdioCall* call : waiting) {
    if (!era_.is_known()) {
      era_.wait(*call);
    } else if (auto refused = enqueue(*call)) {
      call->fail(*refused);
    }
  }
  return true;
}

void StdioUpstream::doubt_era() {
  if (std::exchange(era_is_assumed_, false)) era_.forget();
}

bool StdioUpstream::is_running_for(const core::UpstreamRequest& request) {
  const bool is_led = request.of_session() || era_.is_known();
  return is_led && has_process_for(request, era_for(request.scope), grouping_, groups_);
}

std::optional<mcp::Era> StdioUpstream::known_era_for(const core::Scope& scope) {
  return era_.is_known() ? std::optional(era_for(scope)) : std::nullopt;
}

// A call that waits for the era may be for any group.
bool StdioUpstream::is_awaited(const std::string& group) const {
  const InstanceGroup* found = groups_.find(group);
  const bool has_work = found != nullptr && (found->instances() > 0 || !found->queue().empty());
  return has_work || era_.waiting() > 0;
}

void StdioUpstream::on_era_known(TransportCall& call) {
  auto& waited = static_cast<StdioCall&>(call);
  if (auto refused = enqueue(waited)) waited.fail(*refused);
}

// ---- calls ----

Result<std::unique_ptr<core::Call>, core::Failure> StdioUpstream::start(core::UpstreamRequest&& request,
                                                                        core::CallCallbacks& owner) {
  using Refused = Unexpected<core::Failure>;
  if (stopping_) return Refused{stopping_now()};
  if (auto full = places_.refusal(request, live_calls_)) return Refused{std::move(*full)};
  was_used_ = true;
  // A running process is used even if the circuit is open: only starts are held back.
  const bool is_led = request.of_session() || era_.is_known();  // assigned to a group
  const bool needs_start = !health_.circuit_closed() &&
                           !(is_led && has_process_for(request, era_for(request.scope), grouping_, groups_));
  if (needs_start && !health_.try_now()) return Refused{health_.refusal()};
  auto call = std::make_unique<StdioCall>(*this, std::move(request), owner);
  if (!call->is_listen()) call->place.take(places_.shares(), call->request.account());
  call->turn.take(places_.shares(), call->request.account());
  call->half_open_probe = needs_start;
  const bool needs_verdict = !call->request.of_session();
  if (needs_verdict && !era_.is_current()) {
    era_.wait(*call);
  } else if (auto refused = enqueue(*call)) {
    call->cancel("");
    return Refused{std::move(*refused)};
  }
  return Result<std::unique_ptr<core::Call>, core::Failure>(std::move(call));
}

mcp::Era StdioUpstream::era_for(const core::Scope& scope) {
  const bool may_be_both = era_.is_modern() && server_.protocol_era == config::Era::automatic;
  if (!may_be_both || !grouping_.is_bridged(scope)) return era_.era();
  auto open = bridged_.find(scope.bridged_session);
  if (open == bridged_.end()) return era_.era();
  const bool begins = groups_.of_session(scope) == nullptr;
  if (begins && loop_.now() < modern_only_until_) open->second.is_modern = true;
  return open->second.is_modern ? mcp::Era::modern : mcp::Era::legacy;
}

core::UpstreamParts StdioUpstream::parts(const core::Scope& scope) {
  return {this, nullptr, nullptr, era_.is_modern() && era_for(scope) == mcp::Era::modern};
}

// As for a client's own `initialize` that was refused (ModernBridge).
bool StdioUpstream::serves_as_modern(InstanceGroup& group, const ProcessEnd& end) {
  if (stopping_ || !era_.is_modern()) return false;
  modern_only_until_ = end.knows_no_initialize ? milliseconds::max() : loop_.now() + kDoubt;
  std::deque<StdioCall*> waiting = group.take_queue();
  for (auto& [session, open] : bridged_) {
    if (groups_.find(CallerGrouping::key_of_session({{}, {}, {}, {}, session})) == &group)
      open.is_modern = true;
  }
  log::write(log::Level::debug, "session.bridged", {{"upstream", server_.name}});
  groups_.close(group, "its server refused the old revisions");
  for (StdioCall* call : waiting) {
    if (auto refused = enqueue(*call)) call->fail(*refused);
  }
  return true;
}

std::optional<core::Failure> StdioUpstream::enqueue(StdioCall& call) {
  if (auto other = era_.refusal(call.request)) return other;
  auto plan = grouping_.of(call.request, era_for(call.request.scope));
  if (!plan) return plan.error();
  core::ScopeCallbacks* scope = nullptr;
  if (plan->bridged) {
    auto open = bridged_.find(call.request.scope.bridged_session);
    if (open == bridged_.end()) return core::Failure{mcp::EndReason::cancelled_drain, "its session ended"};
    scope = open->second.owner;
  }
  InstanceGroup& group = groups_.get(std::move(*plan));
  if (scope != nullptr) group.set_scope(scope);
  group.enqueue(call);
  return std::nullopt;
}

void StdioUpstream::withdraw(StdioCall& call) {
  era_.withdraw(call);
  if (InstanceGroup* group = groups_.find(call.group)) group->withdraw(call);
}

void StdioUpstream::schedule_pump(InstanceGroup& group) {
  groups_.want(group);
  schedule_pump();
}

// A failed call may start others and so add groups: they are not in this round. A group closed meanwhile
// lives until the end of the turn, and has nothing left to pump.
void StdioUpstream::pump() {
  room_.count_anew();
  bool without_room = false;
  auto pump = [&](InstanceGroup* group, size_t most) {
    const bool wants_more = group->pump(most);
    without_room = without_room || group->without_room_since() != milliseconds::max();
    return wants_more;
  };
  if (InstanceGroup* only = groups_.only_wanting()) {
    pump(only, std::numeric_limits<size_t>::max());
  } else {
    std::vector<InstanceGroup*> line = groups_.line();
    std::stable_partition(line.begin(), line.end(),
                          [this](const InstanceGroup* group) { return !room_.is_beyond_share(*group); });
    // They take turns.
    while (!line.empty()) {
      const size_t places =
          server_.limits.max_in_flight - std::min<size_t>(server_.limits.max_in_flight, in_flight_);
      const size_t most = std::max<size_t>(1, places / line.size());
      std::erase_if(line, [&](InstanceGroup* group) { return !pump(group, most); });
    }
  }
  if (without_room && !room_timer_.running()) room_timer_.start(kLookForRoom, [this] { schedule_pump(); });
  const bool may_spare = was_used_ || server_.start == config::ServerStart::boot;
  if (may_spare && groups_.spares() < server_.pool.prewarm) groups_.fill_spares(room_.for_spares());
}

// ---- processes ----

void StdioUpstream::instance_gone(StdioInstance& instance) {
  if (!groups_.free_gone(instance)) return;
  schedule_pump();  // it made room
  end_if_gone(groups_, prober_, stopped_);
}

void StdioUpstream::instance_lost() {
  if (lost_ && !stopping_) lost_();
}

// ---- scopes, ends ----

// A bridged session gets its group with its first request, which carries the client's capabilities. A modern
// server's session has no group, since the server keeps no state for it.
void StdioUpstream::open_scope(const core::Scope& scope, core::ScopeCallbacks& owner) {
  if (!scope.bridged_session.empty()) bridged_[scope.bridged_session] = {&owner};
  if (scope.session.empty()) return;
  CallerGroup plan = grouping_.of_legacy(scope);
  if (plan.key == "session:" + scope.session) groups_.get(std::move(plan)).set_scope(&owner);
}

void StdioUpstream::close_scope(const core::Scope& scope) {
  bridged_.erase(scope.bridged_session);
  if (InstanceGroup* group = groups_.of_session(scope)) groups_.close(*group, "its session ended");
  for (const std::string& key : grouping_.keys_of_state(scope)) {
    if (InstanceGroup* group = groups_.find(key)) groups_.close(*group, "its client ended");
  }
}

void StdioUpstream::send(const core::Scope& scope, mcp::Era client_era, const mcp::Message& message,
                         const core::HeaderFields&) {
  if (server_.isolation == config::Isolation::call) return;
  // A legacy server does not know any notification of modern clients.
  const bool modern = client_era == mcp::Era::modern;
  if (modern && !era_.is_modern()) return;
  InstanceGroup* group = modern                          ? groups_.find(grouping_.key_of_modern(scope))
                         : scope.bridged_session.empty() ? groups_.find(grouping_.of_legacy(scope).key)
                                                         : groups_.of_session(scope);
  if (group != nullptr) group->forward(message);
}

void StdioUpstream::stop(std::function<void()> done) {
  stopping_ = true;
  stopped_ = std::move(done);
  groups_.stop();
  groups_.retire_spares();
  for (TransportCall* call : era_.stop())
    call->fail(stopping_now());
  groups_.close_all("the gateway is stopping");
  prober_.stop();
  loop_.defer(lifetime_, [this] { end_if_gone(groups_, prober_, stopped_); });
}

// ---- status ----

bool StdioUpstream::is_idle(const core::UpstreamStatus& status) const {
  const bool failed = prober_.has_ended() && (!era_.is_known() || health_.doubts(era_.verdict()));
  return server_.start == config::ServerStart::on_use && status.processes.empty() && !prober_.is_busy() &&
         era_.waiting() == 0 && !failed;
}

core::UpstreamStatus StdioUpstream::status() const {
  core::UpstreamStatus status;
  status.server = era_.verdict().server;
  status.versions = era_.versions();
  bool ready = false;
  milliseconds pause{0};
  for (const auto& [key, group] : groups_.all()) {
    ready = ready || group->has_ready();
    if (group->pause() <= pause) continue;
    pause = group->pause();
    status.why = group->last_end();
  }
  groups_.list(status.processes);
  if (stopping_) {
    status.state = State::draining;
  } else if (!health_.circuit_closed() && !ready) {
    status.state = State::open;
    status.limit = health_.open_for();
    status.why = health_.why();
    return status;
  } else if (ready) {
    status.state = State::ready;
  } else if (pause.count() > 0) {
    status.state = State::backoff;
    status.limit = pause;
  } else if (is_idle(status)) {
    status.state = State::idle;
    status.why = "a client's message starts it (start: onUse)";
    return status;
  } else if (era_.is_known() && !health_.doubts(era_.verdict())) {
    status.state = State::ready;  // a call starts a process
  } else if (prober_.has_ended()) {
    status.limit = prober_.pause();
    status.state = status.limit.count() > 0 ? State::backoff : State::failed;
  } else {
    status.state = State::starting;
    status.limit = server_.timeouts.startup;
  }
  if (!era_.is_known() || health_.doubts(era_.verdict()))
    status.why = start_failure_text(era_.verdict().failure, server_);
  if (status.state == State::ready) status.why.clear();
  return status;
}

}  // namespace lineward::upstream
