#include "upstream/stdio_upstream.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "mcp/rewrite.h"
#include "upstream/process_end.h"
#include "upstream/translated_plan.h"

namespace lineward::upstream {
namespace {

using config::Isolation;
using std::chrono::milliseconds;

constexpr milliseconds kLegacyVerdictLasts{24ll * 60 * 60 * 1000};
constexpr milliseconds kReapEvery{5000};
// While somebody waits for room: a session may have lost its client meanwhile.
constexpr milliseconds kLookForRoom{250};

// From which call on the state of a group is somebody's. A name has to come back: one that was given to a
// client that does not keep it is nobody's.
uint32_t kept_from(const config::Server& server) {
  switch (server.isolation) {
    case Isolation::principal: return 1;
    case Isolation::session: return 2;
    default: return 0;
  }
}

}  // namespace

StdioUpstream::StdioUpstream(net::Loop& loop, net::Spawner& spawner, const config::Server& server)
    : loop_(loop),
      spawner_(spawner),
      server_(server),
      probe_timer_(loop),
      reaper_(loop),
      room_timer_(loop),
      pump_later_(
          loop, [](void* self) { static_cast<StdioUpstream*>(self)->pump(); }, this) {
  if (server.protocol_era != config::Era::automatic) {
    verdict_.known = true;
    verdict_.era = server.protocol_era == config::Era::modern ? mcp::Era::modern : mcp::Era::legacy;
    if (verdict_.era == mcp::Era::modern) verdict_.versions = {std::string(mcp::kNewestModern)};
    verdict_until_ = milliseconds::max();
  }
  reaper_.start(kReapEvery, [this] { reap(); });
}

StdioUpstream::~StdioUpstream() {
  lifetime_.end();
  leaving_.clear();  // before the groups they know
}

// ---- the era ----

void StdioUpstream::warm_up(std::function<void(const Verdict&)> ready) {
  on_ready_ = std::move(ready);
  schedule_pump();  // for what is to be started ahead
  if (!verdict_.known) return probe();
  loop_.defer(lifetime_, [this] {
    if (on_ready_) std::exchange(on_ready_, nullptr)(verdict_);
  });
}

void StdioUpstream::probe() {
  if (probe_ || stopping_) return;
  milliseconds pause = start_pause(probe_not_before_);
  if (pause.count() > 0) {
    if (!probe_timer_.running()) probe_timer_.start(pause, [this] { probe(); });
    return;
  }
  start_begun();
  probe_ = std::make_unique<EraProbe>(
      loop_, spawner_, server_, [this](const Verdict& verdict) { on_verdict(verdict); },
      [this] {
        loop_.retire(std::move(probe_));
        check_stopped();
        if (!undecided_.empty() && !verdict_.known) probe();
      });
}

// A process that never got ready contradicts a verdict that rests on an exit alone: the next call asks anew.
void StdioUpstream::start_failed(const ProcessEnd& end) {
  if (!verdict_from_exit_ || end.reason == mcp::EndReason::cancelled_drain) return;
  verdict_.known = false;
  verdict_from_exit_ = false;
}

void StdioUpstream::on_verdict(const Verdict& verdict) {
  verdict_ = verdict;
  verdict_from_exit_ = verdict.known && !verdict.failure.text.empty();
  failed_probes_ = verdict.known ? 0 : failed_probes_ + 1;
  auto wait = server_.restart.backoff * (1ll << std::min(failed_probes_, 20u)) / 2;
  probe_not_before_ = verdict.known ? milliseconds(0)
                                    : loop_.now() + std::min<milliseconds>(wait, server_.restart.max_backoff);
  verdict_until_ = verdict.era == mcp::Era::legacy ? loop_.now() + kLegacyVerdictLasts : milliseconds::max();
  // A probe that was ended because everything ends is no news.
  bool expected = verdict.known || stopping_;
  note_verdict();
  if (stopping_) on_ready_ = nullptr;
  log::write(expected ? log::Level::info : log::Level::warn, "upstream.era",
             {{"upstream", server_.name},
              {"era", verdict.known ? mcp::name(verdict.era) : std::string_view("unknown")},
              {"server", verdict.server},
              {"why", verdict.failure.text},
              {"stderr", verdict.failure.last_stderr},
              {"detail", verdict.failure.detail}});
  if (on_ready_) std::exchange(on_ready_, nullptr)(verdict);
  std::deque<StdioCall*> waiting;
  waiting.swap(undecided_);
  for (StdioCall* call : waiting) {
    if (!verdict.known) {
      call->fail({verdict.failure.reason,
                  fmt::format("{} {}", server_.name, start_failure_text(verdict.failure, server_))});
      continue;
    }
    auto plan = plan_for(call->request);
    if (plan) {
      group_for(std::move(*plan)).enqueue(*call);
    } else {
      call->fail(plan.error());
    }
  }
}

std::optional<mcp::Era> StdioUpstream::era() const {
  return verdict_.known ? std::optional(verdict_.era) : std::nullopt;
}

std::optional<std::vector<std::string>> StdioUpstream::versions() const {
  if (!verdict_.known) return std::nullopt;
  if (verdict_.era == mcp::Era::modern) return verdict_.versions;
  // In front of a legacy server Lineward speaks the modern era itself, and passes the others.
  std::vector<std::string> all;
  for (const auto& revision : mcp::kRevisions)
    all.emplace_back(revision.name);
  return all;
}

// ---- calls ----

Result<std::unique_ptr<core::Call>, core::Failure> StdioUpstream::start(core::CallRequest&& request,
                                                                        core::CallOwner& owner) {
  if (stopping_) {
    return Unexpected<core::Failure>{{mcp::EndReason::cancelled_drain, "the gateway is stopping"}};
  }
  if (live_calls_ >= uint64_t{server_.limits.max_in_flight} + server_.limits.max_queue) {
    return Unexpected<core::Failure>{
        {mcp::EndReason::queue_full, fmt::format("{} calls wait for {} already (limits.maxQueue)",
                                                 server_.limits.max_queue, server_.name)}};
  }
  if (auto full = shares_.refusal(request, server_)) return Unexpected<core::Failure>{std::move(*full)};
  bool trial = false;
  if (!breaker_.closed() && refused_by_circuit(request, trial))
    return Unexpected<core::Failure>{breaker_.refusal(server_.name, loop_.now())};
  auto call = std::make_unique<StdioCall>(*this, std::move(request), owner);
  call->trial = trial;
  bool needs_verdict = call->request.client_era == mcp::Era::modern;
  if (needs_verdict && (!verdict_.known || loop_.now() > verdict_until_)) {
    undecided_.push_back(call.get());
    loop_.defer(lifetime_, [this] {
      for (StdioCall* waiting : std::deque<StdioCall*>(undecided_))
        waiting->phase(core::CallPhase::starting);
      probe();
    });
  } else {
    auto plan = plan_for(call->request);
    if (!plan) {
      call->cancel("");
      return Unexpected<core::Failure>{plan.error()};
    }
    group_for(std::move(*plan)).enqueue(*call);
  }
  return Result<std::unique_ptr<core::Call>, core::Failure>(std::move(call));
}

GroupPlan StdioUpstream::plan_for(const core::Scope& scope) {
  GroupPlan plan;
  plan.era = mcp::Era::legacy;
  if (server_.isolation == Isolation::automatic || server_.isolation == Isolation::session) {
    plan.key = "session:" + scope.session;
    return plan;  // initialised by its own client
  }
  plan.key = "legacy";
  if (server_.isolation == Isolation::principal) plan.key += ":" + scope.principal;
  plan.kept_from = kept_from(server_);
  if (server_.isolation == Isolation::call) plan.key = fmt::format("call:{}", next_group_++);
  plan.per_call = server_.isolation == Isolation::call;
  plan.initialize_params = mcp::bare_initialize_params();
  return plan;
}

std::string StdioUpstream::modern_key(const core::Scope& scope) const {
  if (server_.isolation == Isolation::principal) return "modern:" + scope.principal;
  if (server_.isolation == Isolation::session) return "modern:" + scope.principal + "/" + scope.affinity;
  return "modern";
}

// The era is part of the key: a verdict may change, a group made for the old one must not serve the new.
Result<GroupPlan, core::Failure> StdioUpstream::plan_for(const core::CallRequest& request) {
  if (request.client_era == mcp::Era::legacy) return plan_for(request.scope);
  GroupPlan plan;
  plan.era = verdict_.era;
  plan.per_call = server_.isolation == Isolation::call;
  plan.kept_from = kept_from(server_);
  uint64_t call_number = plan.per_call ? next_group_++ : 0;
  if (plan.era == mcp::Era::modern) {
    plan.key = modern_key(request.scope);
    if (plan.per_call) plan.key = fmt::format("call:{}", call_number);
    return plan;
  }
  auto translated = translated_plan(server_, request, call_number);
  if (!translated) return Unexpected<core::Failure>{translated.error()};
  plan.key = translated->key;
  plan.initialize_params = translated->initialize_params;
  plan.exclusive = translated->exclusive;
  plan.most_instances = translated->most;
  return plan;
}

InstanceGroup& StdioUpstream::group_for(GroupPlan plan) {
  auto& slot = groups_[plan.key];
  if (!slot) slot = std::make_unique<InstanceGroup>(loop_, spawner_, server_, *this, std::move(plan));
  return *slot;
}

void StdioUpstream::withdraw(StdioCall& call) {
  std::erase(undecided_, &call);
  auto found = groups_.find(call.group);
  if (found != groups_.end()) found->second->withdraw(call);
}

void StdioUpstream::pump() {
  // A call that fails may start others and so add groups: walk a copy. One that is closed meanwhile lives
  // until the end of the turn, and has nothing left to pump.
  std::vector<InstanceGroup*> waiting;
  wanting_.keep_if([](const InstanceGroup& group) { return group.wants_pump(); });
  for (InstanceGroup* group : wanting_)
    waiting.push_back(group);
  // Who has lost a process comes before newcomers, and these come in the order in which they began to wait.
  room_.reset();
  std::stable_sort(waiting.begin(), waiting.end(), [](const InstanceGroup* a, const InstanceGroup* b) {
    return std::pair(!a->is_lived_in(), a->without_room_since()) <
           std::pair(!b->is_lived_in(), b->without_room_since());
  });
  bool without_room = false;
  for (InstanceGroup* group : waiting) {
    group->pump();
    without_room = without_room || group->without_room_since() != milliseconds::max();
  }
  if (without_room && !room_timer_.running()) room_timer_.start(kLookForRoom, [this] { schedule_pump(); });
  fill_spares();
}

// ---- processes ----

void StdioUpstream::instance_gone(StdioInstance& instance) {
  auto found =
      std::find_if(leaving_.begin(), leaving_.end(), [&](const auto& i) { return i.get() == &instance; });
  if (found == leaving_.end()) return;
  loop_.retire(std::move(*found));
  leaving_.erase(found);
  free_closed_groups();
  schedule_pump();  // it made room
  check_stopped();
}

void StdioUpstream::instance_lost() {
  if (lost_ && !stopping_) lost_();
}

void StdioUpstream::reap() {
  reaper_.start(kReapEvery, [this] { reap(); });
  std::vector<std::string> unused;
  for (auto& [key, group] : groups_) {
    LW_DEBUG_CHECK(group->in_line || !group->wants_pump());
    group->end_idle(server_.instance_idle);
    if (group->unused()) unused.push_back(key);
  }
  for (const auto& key : unused)
    drop_group(key);
}

// ---- scopes, ends ----

InstanceGroup* StdioUpstream::session_group(const core::Scope& scope) {
  auto found = groups_.find("session:" + scope.session);
  return found == groups_.end() ? nullptr : found->second.get();
}

void StdioUpstream::open_scope(const core::Scope& scope, core::ScopeOwner& owner) {
  GroupPlan plan = plan_for(scope);
  if (plan.key == "session:" + scope.session) group_for(std::move(plan)).set_scope(&owner);
}

void StdioUpstream::close_scope(const core::Scope& scope) {
  if (InstanceGroup* group = session_group(scope)) close_group(*group, "its session ended");
}

void StdioUpstream::close_group(InstanceGroup& group, std::string_view why) {
  group.close(why);
  drop_group(group.key());
}

void StdioUpstream::drop_group(const std::string& key) {
  auto found = groups_.find(key);
  if (found == groups_.end()) return;
  found->second->set_scope(nullptr);
  wanting_.remove(*found->second);
  closed_groups_.push_back(std::move(found->second));
  groups_.erase(found);
  free_closed_groups();
}

void StdioUpstream::free_closed_groups() {
  for (auto group = closed_groups_.begin(); group != closed_groups_.end();) {
    bool needed = std::any_of(leaving_.begin(), leaving_.end(),
                              [&](const auto& instance) { return &instance->owner() == group->get(); });
    if (needed) {
      ++group;
      continue;
    }
    loop_.retire(std::move(*group));
    group = closed_groups_.erase(group);
  }
}

void StdioUpstream::forward(const core::Scope& scope, mcp::Era client_era, const mcp::Message& message) {
  if (server_.isolation == Isolation::call) return;
  // Of modern clients' notifications a legacy server would understand none.
  bool modern = client_era == mcp::Era::modern;
  if (modern && (!verdict_.known || verdict_.era == mcp::Era::legacy)) return;
  auto found = groups_.find(modern ? modern_key(scope) : plan_for(scope).key);
  if (found != groups_.end()) found->second->forward(message);
}

void StdioUpstream::stop(std::function<void()> done) {
  stopping_ = true;
  stopped_ = std::move(done);
  reaper_.stop();
  spares_.stop_all();
  std::deque<StdioCall*> waiting;
  waiting.swap(undecided_);
  for (StdioCall* call : waiting)
    call->fail({mcp::EndReason::cancelled_drain, "the gateway is stopping"});
  std::vector<std::string> keys;
  for (auto& entry : groups_)
    keys.push_back(entry.first);
  for (const auto& key : keys) {
    auto found = groups_.find(key);
    if (found != groups_.end()) close_group(*found->second, "the gateway is stopping");
  }
  if (probe_) probe_->stop();
  loop_.defer(lifetime_, [this] { check_stopped(); });
}

void StdioUpstream::check_stopped() {
  if (stopped_ && leaving_.empty() && !probe_) std::exchange(stopped_, nullptr)();
}

}  // namespace lineward::upstream
