#include "upstream/stdio_upstream.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "base/log.h"
#include "mcp/errors.h"
#include "mcp/rewrite.h"

namespace lineward::upstream {
namespace {

using config::Isolation;
using mcp::Field;
using mcp::Method;
using std::chrono::milliseconds;

constexpr milliseconds kLegacyVerdictLasts{24ll * 60 * 60 * 1000};
constexpr milliseconds kReapEvery{5000};
// A process that lived this long did start properly: the next start counts as the first again.
constexpr milliseconds kStable{10000};
// So many starts in a row may come to nothing before those who listen are told that it is over.
constexpr uint32_t kListenRestarts = 6;

milliseconds backoff(const config::Restart& restart, uint32_t failures) {
  if (failures == 0) return milliseconds(0);
  auto wait = restart.backoff * (1ll << std::min(failures - 1, 20u));
  wait = std::min<milliseconds>(wait, restart.max_backoff);
  thread_local std::minstd_rand random{std::random_device{}()};
  return wait * std::uniform_int_distribution<int>(80, 120)(random) / 100;
}

}  // namespace

StdioUpstream::StdioUpstream(net::Loop& loop, net::Spawner& spawner, const config::Server& server)
    : loop_(loop), spawner_(spawner), server_(server), reaper_(loop) {
  if (server.protocol_era != config::Era::automatic) {
    verdict_.known = true;
    verdict_.era = server.protocol_era == config::Era::modern ? mcp::Era::modern : mcp::Era::legacy;
    if (verdict_.era == mcp::Era::modern) verdict_.versions = {std::string(mcp::kNewestModern)};
    verdict_until_ = milliseconds::max();
  }
  reaper_.start(kReapEvery, [this] { reap(); });
}

StdioUpstream::~StdioUpstream() { *alive_ = false; }

// ---- the era --------------------------------------------------------------------------------------------------------

void StdioUpstream::warm_up(std::function<void(const Verdict&)> ready) {
  on_ready_ = std::move(ready);
  if (!verdict_.known) return probe();
  loop_.defer([this, alive = alive_] {
    if (*alive && on_ready_) std::exchange(on_ready_, nullptr)(verdict_);
  });
}

void StdioUpstream::probe() {
  if (probe_ || stopping_) return;
  probe_ = std::make_unique<EraProbe>(
      loop_, spawner_, server_, [this](const Verdict& verdict) { on_verdict(verdict); },
      [this] {
        loop_.defer([kept = std::shared_ptr<EraProbe>(std::move(probe_))] {});
        check_stopped();
        if (!undecided_.empty() && !verdict_.known) probe();
      });
}

void StdioUpstream::on_verdict(const Verdict& verdict) {
  verdict_ = verdict;
  verdict_until_ = verdict.era == mcp::Era::legacy ? loop_.now() + kLegacyVerdictLasts : milliseconds::max();
  log::write(verdict.known ? log::Level::info : log::Level::warn, "upstream.era",
             {{"upstream", server_.name},
              {"era", verdict.known ? mcp::name(verdict.era) : std::string_view("unknown")},
              {"server", verdict.server},
              {"why", verdict.failure.text},
              {"stderr", verdict.failure.last_stderr}});
  if (on_ready_) std::exchange(on_ready_, nullptr)(verdict);
  std::deque<StdioCall*> waiting;
  waiting.swap(undecided_);
  for (StdioCall* call : waiting) {
    if (verdict.known) {
      enqueue(*call);
    } else {
      call->fail({verdict.failure.reason, fmt::format("{} {}", server_.name, verdict.failure.text)});
    }
  }
}

std::optional<std::vector<std::string>> StdioUpstream::versions() const {
  if (!verdict_.known) return std::nullopt;
  if (verdict_.era == mcp::Era::modern) return verdict_.versions;
  // In front of a legacy server Lineward speaks the modern era itself, and passes the others.
  std::vector<std::string> all;
  for (const auto& revision : mcp::kRevisions) {
    if (revision.streamable_http) all.emplace_back(revision.name);
  }
  return all;
}

// ---- calls ----------------------------------------------------------------------------------------------------------

Result<std::unique_ptr<core::Call>, core::Failure> StdioUpstream::start(core::CallRequest request,
                                                                       core::CallOwner& owner) {
  if (stopping_) {
    return Unexpected<core::Failure>{{mcp::EndReason::cancelled_drain, "the gateway is stopping"}};
  }
  if (total_queued() >= server_.limits.max_queue) {
    return Unexpected<core::Failure>{{mcp::EndReason::queue_full, fmt::format("{} calls wait for {} already (limits.maxQueue)",
                                                                 server_.limits.max_queue, server_.name)}};
  }
  auto call = std::make_unique<StdioCall>(*this, std::move(request), owner);
  bool needs_verdict = call->request.client_era == mcp::Era::modern;
  if (needs_verdict && (!verdict_.known || loop_.now() > verdict_until_)) {
    undecided_.push_back(call.get());
    loop_.defer([this, alive = alive_] {
      if (!*alive) return;
      for (StdioCall* waiting : undecided_) waiting->phase(core::CallPhase::starting);
      probe();
    });
  } else {
    enqueue(*call);
  }
  return Result<std::unique_ptr<core::Call>, core::Failure>(std::move(call));
}

std::string StdioUpstream::group_key(const core::Scope& scope, mcp::Era client_era) {
  bool legacy = client_era == mcp::Era::legacy;
  switch (server_.isolation) {
    case Isolation::shared: return legacy ? "legacy" : "modern";
    case Isolation::principal: return (legacy ? "legacy:" : "modern:") + scope.principal;
    case Isolation::call: return fmt::format("call:{}", next_group_++);
    case Isolation::automatic:
    case Isolation::session: break;
  }
  return legacy ? "session:" + scope.session : "modern";
}

StdioUpstream::Group& StdioUpstream::group_for(const core::Scope& scope, mcp::Era client_era) {
  std::string key = group_key(scope, client_era);
  auto& slot = groups_[key];
  if (!slot) {
    slot = std::make_unique<Group>(loop_);
    slot->key = key;
    slot->era = client_era == mcp::Era::legacy ? mcp::Era::legacy : verdict_.era;
    slot->per_call = server_.isolation == Isolation::call;
    slot->own_handshake = slot->era == mcp::Era::legacy && key.rfind("session:", 0) != 0;
    if (slot->own_handshake) slot->initialize_params = mcp::bare_initialize_params();
  }
  return *slot;
}

void StdioUpstream::enqueue(StdioCall& call) {
  Group& group = group_for(call.request.scope, call.request.client_era);
  call.group = group.key;
  group.queue.push_back(&call);
  schedule_pump();
}

void StdioUpstream::withdraw(StdioCall& call) {
  std::erase(undecided_, &call);
  auto found = groups_.find(call.group);
  if (found == groups_.end()) return;
  Group& group = *found->second;
  std::erase(group.queue, &call);
  bool ready = group.instance && group.instance->state() == StdioInstance::State::ready;
  group.listens.close(call, ready ? group.instance.get() : nullptr);
}

void StdioUpstream::schedule_pump() {
  if (pump_scheduled_) return;
  pump_scheduled_ = true;
  loop_.defer([this, alive = alive_] {
    if (!*alive) return;
    pump_scheduled_ = false;
    pump();
  });
}

void StdioUpstream::pump() {
  // A call that fails may start others and so add groups: walk a copy of the keys.
  std::vector<std::string> waiting;
  for (auto& [key, group] : groups_) {
    if (!group->queue.empty() || (!group->listens.empty() && !group->instance)) waiting.push_back(key);
  }
  for (const auto& key : waiting) {
    auto found = groups_.find(key);
    if (found != groups_.end()) pump(*found->second);
  }
}

void StdioUpstream::pump(Group& group) {
  bool full = false;
  // Somebody listens: a process is needed even while nobody calls.
  if (group.queue.empty() && !group.instance && !group.listens.empty()) start_instance(group);
  while (!group.queue.empty()) {
    if (!group.instance && !start_instance(group)) break;
    StdioInstance& instance = *group.instance;
    StdioCall& call = *group.queue.front();
    bool initialize = call.request.method == Method::initialize;
    if (instance.state() == StdioInstance::State::ready && handled_here(group, call)) continue;
    if (!instance.takes(call)) {
      full = instance.state() == StdioInstance::State::ready;
      break;
    }
    if (!call.is_listen() && total_in_flight() >= server_.limits.max_in_flight) {
      full = true;
      break;
    }
    group.queue.pop_front();
    if (group.scope != nullptr) {
      // What a restarted process must be told again.
      const mcp::Message& message = call.request.message;
      std::string params(message.raw(Field::params));
      if (initialize) group.initialize_params = params;
      if (call.request.method == Method::logging_set_level) group.level_params = params;
      if (call.request.method == Method::resources_subscribe) group.subscriptions[message.text(Field::params_uri)] = params;
      if (call.request.method == Method::resources_unsubscribe) group.subscriptions.erase(message.text(Field::params_uri));
    }
    instance.send(call);
  }
  for (StdioCall* call : group.queue) call->phase(full ? core::CallPhase::queued : core::CallPhase::starting);
}

// What a ready legacy process need not be asked: who it is, and the listens it does not know.
bool StdioUpstream::handled_here(Group& group, StdioCall& call) {
  if (group.era != mcp::Era::legacy || !group.own_handshake) return false;
  bool modern = call.request.client_era == mcp::Era::modern;
  std::string text;
  if (modern && call.is_listen()) {
    group.queue.pop_front();
    group.listens.open(call, *group.instance);
    return true;
  }
  if (modern && call.request.method == Method::server_discover) {
    text = mcp::discover_answer(group.instance->legacy_server());
  } else if (!modern && call.request.method == Method::initialize) {
    text = fmt::format(R"({{"jsonrpc":"2.0","id":0,"result":{}}})", group.instance->initialize_result());
  } else {
    return false;
  }
  group.queue.pop_front();
  auto answer = mcp::Message::parse(std::move(text));
  if (answer) {
    call.answer(std::move(*answer));
  } else {
    call.fail({mcp::EndReason::upstream_protocol, fmt::format("{} answered initialize with no result", server_.name)});
  }
  return true;
}

// ---- instances ------------------------------------------------------------------------------------------------------

bool StdioUpstream::start_instance(Group& group) {
  if (stopping_) return false;
  if (group.scope != nullptr && group.initialize_params.empty() && !group.queue.empty() &&
      group.queue.front()->request.method != Method::initialize) {
    fail_queue(group, {mcp::EndReason::upstream_protocol, fmt::format("this session was never initialised by {}", server_.name)});
    return false;
  }
  if (loop_.now() < group.not_before) {
    if (!group.timer.running()) group.timer.start(group.not_before - loop_.now(), [this] { schedule_pump(); });
    return false;
  }
  if (instances() >= server_.instances && !make_room()) {
    fail_queue(group, {mcp::EndReason::queue_full,
                       fmt::format("{} runs {} processes and none is idle (instances)", server_.name, server_.instances)});
    return false;
  }
  InstancePlan plan;
  plan.era = group.era;
  if (group.era == mcp::Era::legacy) {
    // A new session's own `initialize` is the handshake; later processes of the session get the same one from us.
    bool own = group.own_handshake || group.queue.empty() || group.queue.front()->request.method != Method::initialize;
    if (own) plan.initialize_params = group.initialize_params;
  }
  group.instance = std::make_unique<StdioInstance>(loop_, spawner_, server_, *this, group.key, std::move(plan));
  group.instance->start();
  return true;
}

size_t StdioUpstream::instances() const {
  return static_cast<size_t>(std::count_if(groups_.begin(), groups_.end(),
                                           [](const auto& entry) { return entry.second->instance != nullptr; }));
}

// Ends the idle instance that was used longest ago.
bool StdioUpstream::make_room() {
  Group* oldest = nullptr;
  for (auto& [key, group] : groups_) {
    if (!group->instance || !group->instance->idle() || !group->queue.empty() || !group->listens.empty()) continue;
    if (oldest == nullptr || group->instance->last_used() < oldest->instance->last_used()) oldest = group.get();
  }
  if (oldest == nullptr) return false;
  log::write(log::Level::info, "upstream.evict", {{"upstream", server_.name}, {"group", oldest->key}});
  oldest->instance->stop({mcp::EndReason::cancelled_drain, "made room for another", {}});
  return true;
}

void StdioUpstream::on_instance_ready(StdioInstance& instance) {
  auto found = groups_.find(instance.group());
  if (found == groups_.end()) return;
  log::write(log::Level::info, "upstream.ready",
             {{"upstream", server_.name},
              {"pid", static_cast<int64_t>(instance.pid())},
              {"era", mcp::name(instance.era())},
              {"group", instance.group()}});
  restore(*found->second);
  schedule_pump();
}

// A process that takes over from one that died is told what its session had asked for.
void StdioUpstream::restore(Group& group) {
  if (!group.listens.empty()) group.listens.restore(*group.instance);
  if (group.scope == nullptr || group.instance->initialize_result().empty()) return;
  group.initialized_sent = true;
  if (!group.level_params.empty()) group.instance->send_own("logging/setLevel", group.level_params);
  for (const auto& [uri, params] : group.subscriptions) group.instance->send_own("resources/subscribe", params);
}

void StdioUpstream::on_instance_free(StdioInstance& instance) {
  auto found = groups_.find(instance.group());
  if (found == groups_.end()) return;
  Group& group = *found->second;
  if (group.per_call && instance.idle() && group.queue.empty()) return close_group(group, "served its one call");
  schedule_pump();
}

void StdioUpstream::on_instance_initialized(StdioInstance& instance, const mcp::Message& answer) {
  auto found = groups_.find(instance.group());
  if (found == groups_.end()) return;
  if (answer.kind() == mcp::MessageKind::error) found->second->initialize_params.clear();
}

void StdioUpstream::on_instance_message(StdioInstance& instance, mcp::Message message, StdioCall* only) {
  auto found = groups_.find(instance.group());
  core::ScopeOwner* scope = found == groups_.end() ? nullptr : found->second->scope;
  if (scope != nullptr) {
    return scope->on_scope_message(std::move(message), only ? std::optional(only->request.tag) : std::nullopt);
  }
  if (message.kind() == mcp::MessageKind::request) {
    std::string answer;
    if (mcp::method_of(message.method()) == Method::roots_list) {
      std::string roots;
      for (const auto& root : server_.roots) {
        roots += fmt::format(R"({}{{"uri":{}}})", roots.empty() ? "" : ",", json::quote(root));
      }
      answer = fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{{"roots":[{}]}}}})", message.raw(Field::id), roots);
    } else {
      answer = mcp::error_message(message.raw(Field::id), mcp::kMethodNotFound,
                                  "no single client stands behind this process");
    }
    return instance.write(std::move(answer));
  }
  if (found != groups_.end() && found->second->listens.notify(message)) return;
  if (only != nullptr && mcp::method_of(message.method()) == Method::message) {
    // A modern call gets the log lines it asked for, at its level.
    auto wanted = mcp::log_level(only->request.message.text(Field::meta_log_level));
    auto level = mcp::log_level(message.text(Field::params_level));
    bool modern = only->request.client_era == mcp::Era::modern;
    if (!modern || (wanted && level && *level >= *wanted)) return only->message(std::move(message));
    return;
  }
  log::write(log::Level::debug, "upstream.dropped", {{"upstream", server_.name}, {"kind", "unscoped"}});
}

void StdioUpstream::on_instance_down(StdioInstance& instance, const ProcessEnd& end, std::vector<StdioCall*> listens) {
  auto found = groups_.find(instance.group());
  if (found == groups_.end() || found->second->instance.get() != &instance) return;
  Group& group = *found->second;
  bool was_ready = group.instance->was_ready();
  milliseconds lived = loop_.now() - group.instance->started_at();
  leaving_.push_back(std::move(group.instance));
  group.listens.lost();
  if (group.scope != nullptr) group.scope->on_scope_reset();
  bool by_itself = end.reason != mcp::EndReason::cancelled_drain;
  if (by_itself) {
    group.failures = lived > kStable && was_ready ? 1 : group.failures + 1;
    group.not_before = loop_.now() + backoff(server_.restart, group.failures);
    log::write(log::Level::warn, "upstream.down",
               {{"upstream", server_.name},
                {"pid", static_cast<int64_t>(instance.pid())},
                {"why", end.text},
                {"stderr", end.last_stderr},
                {"next_start_ms", (group.not_before - loop_.now()).count()}});
    // A start that came to nothing is the answer to all who waited for it; the next call tries again. Listens stay:
    // they are opened again, until the budget for that is used up.
    core::Failure failure{end.reason, fmt::format("{} {}", server_.name, end.text)};
    if (!was_ready) fail_queue(group, failure);
    if (group.failures > kListenRestarts) {
      for (StdioCall* call : group.listens.calls()) {
        group.listens.close(*call, nullptr);
        call->fail(failure);
      }
      for (StdioCall* call : listens) call->fail(failure);
      listens.clear();
    }
    if (lost_ && !stopping_) lost_();
  }
  for (StdioCall* call : listens) {
    if (stopping_) {
      call->fail({mcp::EndReason::cancelled_drain, "the gateway is stopping"});
    } else {
      group.queue.push_back(call);
    }
  }
  schedule_pump();
}

void StdioUpstream::on_instance_gone(StdioInstance& instance) {
  auto found = std::find_if(leaving_.begin(), leaving_.end(), [&](const auto& i) { return i.get() == &instance; });
  if (found == leaving_.end()) return;
  retire(std::move(*found));
  leaving_.erase(found);
  check_stopped();
}

void StdioUpstream::retire(std::unique_ptr<StdioInstance> instance) {
  loop_.defer([kept = std::shared_ptr<StdioInstance>(std::move(instance))] {});
}

void StdioUpstream::fail_queue(Group& group, const core::Failure& failure) {
  std::deque<StdioCall*> queue;
  queue.swap(group.queue);
  for (StdioCall* call : queue) call->fail(failure);
}

// ---- scopes, ends ---------------------------------------------------------------------------------------------------

void StdioUpstream::open_scope(const core::Scope& scope, core::ScopeOwner& owner) {
  if (server_.isolation != Isolation::automatic && server_.isolation != Isolation::session) return;
  group_for(scope, mcp::Era::legacy).scope = &owner;
}

void StdioUpstream::close_scope(const core::Scope& scope) {
  if (server_.isolation != Isolation::automatic && server_.isolation != Isolation::session) return;
  auto found = groups_.find(group_key(scope, mcp::Era::legacy));
  if (found == groups_.end()) return;
  found->second->scope = nullptr;
  close_group(*found->second, "its session ended");
}

void StdioUpstream::close_group(Group& group, std::string_view why) {
  group.scope = nullptr;
  core::Failure failure{mcp::EndReason::cancelled_drain, std::string(why)};
  fail_queue(group, failure);
  for (StdioCall* call : group.listens.calls()) {
    group.listens.close(*call, nullptr);
    call->fail(failure);
  }
  if (group.instance) group.instance->stop({mcp::EndReason::cancelled_drain, std::string(why), {}});
  auto found = groups_.find(group.key);
  if (found == groups_.end()) return;
  loop_.defer([kept = std::shared_ptr<Group>(std::move(found->second))] {});
  groups_.erase(found);
}

void StdioUpstream::forward(const core::Scope& scope, mcp::Era client_era, const mcp::Message& message) {
  if (server_.isolation == Isolation::call) return;
  auto found = groups_.find(group_key(scope, client_era));
  if (found == groups_.end()) return;
  Group& group = *found->second;
  if (!group.instance || group.instance->state() != StdioInstance::State::ready) return;
  if (group.own_handshake && group.scope == nullptr && client_era == mcp::Era::legacy) return;  // nobody's own process
  if (mcp::method_of(message.method()) == Method::initialized) {
    if (std::exchange(group.initialized_sent, true)) return;
  }
  group.instance->write(group.era == mcp::Era::modern ? mcp::with_envelope(message) : message.bytes());
}

void StdioUpstream::reap() {
  reaper_.start(kReapEvery, [this] { reap(); });
  std::vector<Group*> idle;
  for (auto& [key, group] : groups_) {
    if (group->instance && group->instance->idle() && group->queue.empty() && group->listens.empty() &&
        loop_.now() - group->instance->last_used() > server_.instance_idle) {
      idle.push_back(group.get());
    }
  }
  for (Group* group : idle) group->instance->stop({mcp::EndReason::cancelled_drain, "was idle", {}});
}

size_t StdioUpstream::total_in_flight() const {
  size_t sum = 0;
  for (const auto& [key, group] : groups_) sum += group->instance ? group->instance->in_flight() : 0;
  return sum;
}

size_t StdioUpstream::total_queued() const {
  size_t sum = undecided_.size();
  for (const auto& [key, group] : groups_) sum += group->queue.size();
  return sum;
}

void StdioUpstream::stop(std::function<void()> done) {
  stopping_ = true;
  stopped_ = std::move(done);
  reaper_.stop();
  std::deque<StdioCall*> waiting;
  waiting.swap(undecided_);
  for (StdioCall* call : waiting) call->fail({mcp::EndReason::cancelled_drain, "the gateway is stopping"});
  std::vector<std::string> keys;
  for (auto& entry : groups_) keys.push_back(entry.first);
  for (const auto& key : keys) {
    auto found = groups_.find(key);
    if (found != groups_.end()) close_group(*found->second, "the gateway is stopping");
  }
  if (probe_) probe_->stop();
  loop_.defer([this, alive = alive_] {
    if (*alive) check_stopped();
  });
}

void StdioUpstream::check_stopped() {
  if (stopped_ && leaving_.empty() && !probe_) std::exchange(stopped_, nullptr)();
}

}  // namespace lineward::upstream
