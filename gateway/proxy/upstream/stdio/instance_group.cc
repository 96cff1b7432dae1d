#include "proxy/upstream/stdio/instance_group.h"

#include <fmt/format.h>

#include <algorithm>

#include "foundation/log/log.h"
#include "protocol/mcp/errors.h"
#include "protocol/mcp/rewrite.h"
#include "proxy/core/gate.h"
#include "proxy/core/identity.h"
#include "proxy/metrics/stats.h"
#include "proxy/upstream/shared/process_end.h"
#include "proxy/upstream/shared/shown_group.h"

namespace lineward::upstream {
namespace {

using mcp::Field;
using mcp::Method;
using std::chrono::milliseconds;

// Expired processes that only listens need: each is needed as soon as its predecessor expires, so without a
// pause they would follow each other as fast as they start.
constexpr milliseconds kMoveAtMostEvery{1000};
// Failed starts in a row before open listens are ended.
constexpr uint32_t kListenRestarts = 6;

// The number of calls from which on a group holds a client's state. A state name must be used twice: a name
// that the client does not send back holds no state.
uint32_t kept_from(const config::Server& server) {
  switch (server.isolation) {
    case config::Isolation::principal: return 1;
    case config::Isolation::session: return 2;
    default: return 0;
  }
}

using Instances = std::vector<std::unique_ptr<StdioInstance>>;

StdioInstance* newest_ready(const Instances& instances) {
  auto found = std::find_if(instances.rbegin(), instances.rend(), [](auto& one) { return one->is_ready(); });
  return found == instances.rend() ? nullptr : found->get();
}

// Processes that take calls now or after their start.
size_t active_of(const Instances& instances) {
  auto active = [](auto& instance) { return !instance->expiry().retires; };
  return static_cast<size_t>(std::count_if(instances.begin(), instances.end(), active));
}

// For a client's own session: stores what the next process must be told.
void remember_own(LegacyFacade& facade, const StdioCall& call) {
  if (call.request.method != Method::initialize) return facade.remember(call.request);
  facade.keep_handshake(std::string(call.request.message.raw(Field::params)), call.request.account());
}

}  // namespace

InstanceGroup::InstanceGroup(net::Loop& loop, process::Spawner& spawner, const config::Server& server,
                             GroupCallbacks& owner, CallerGroup plan)
    : loop_(loop),
      spawner_(spawner),
      server_(server),
      owner_(owner),
      in_flight_(owner.in_flight()),
      plan_(std::move(plan)),
      session_(plan_.era == mcp::Era::legacy && plan_.initialize_params.empty()),
      kept_from_(session_ ? 0 : kept_from(server)) {
  facade_.keep_handshake(std::exchange(plan_.initialize_params, {}));
  key_bytes_.set(2 * plan_.key.size());  // the key is stored in the upstream's table too
}

// ---- calls ----

void InstanceGroup::enqueue(StdioCall& call) {
  call.group = plan_.key;
  // Lineward's own requests do not bind state to a client.
  if (call.request.from && calls_ < kept_from_) ++calls_;
  if (call.request.from && std::exchange(was_abandoned_, false)) comes_back_ = true;
  const bool of_one = of_one_session() || plan_.per_call || kept_from_ > 0 ||
                      (plan_.exclusive && !core::is_anonymous(call.request.scope.principal));
  if (of_one && !caller_) caller_ = Account::caller_of(call.request.account());
  if (!server_.identity.env.empty()) learn_caller(call.request);
  join_by_turn(queue_, call);
  owner_.schedule_pump(*this);
}

// The next process gets what the newest request says of the group's only caller, and nothing that it no
// longer says. Lineward's own requests may say nothing, or what an earlier one said.
void InstanceGroup::learn_caller(const core::UpstreamRequest& request) {
  if (request.from || about_caller_.empty())
    about_caller_ = core::identity_variables(request.headers, server_.identity.env);
}

void InstanceGroup::withdraw(StdioCall& call) {
  std::erase(queue_, &call);
  listens_.close(call);
  // A listen with a process of its own frees it, after any message that is still owed to the server.
  if (!plan_.per_call || !call.is_listen()) return;
  loop_.defer(lifetime_, [this] {
    if (!instances_.empty()) on_instance_free(*instances_.front());
  });
}

bool InstanceGroup::wants_pump() const {
  return !queue_.empty() || replacing_ || ((revive_ || listens_.need_server()) && instances_.empty());
}

bool InstanceGroup::pump(size_t most) {
  const milliseconds waits_since = std::exchange(without_room_since_, milliseconds::max());
  if (replacing_) replace_expired();
  // Listens or subscriptions need a process even without calls.
  if (queue_.empty() && instances_.empty() && (revive_ || listens_.need_server())) {
    if (start_instance(caller_.get()) != nullptr) revive_ = false;
  }
  bool full = false, wants_more = false;
  size_t claimed = 0;
  for (size_t at = 0; at < queue_.size();) {
    StdioCall& call = *queue_[at];
    wants_more = !call.is_listen() && most == 0;
    if (wants_more || (!call.is_listen() && !room_in_flight())) {
      full = true;
      break;
    }
    bool waits_for_place = false;
    room_ = Room::none;
    StdioInstance* instance = pick(call, waits_for_place, claimed);
    if (instance == nullptr) {
      full = full || (waits_for_place && !plan_.exclusive);
      const bool failed = at >= queue_.size() || queue_[at] != &call;  // with the whole queue
      if (waits_for_place && !failed) call.room = room_;
      // Calls behind one that waits for a process of its own may still be sent; behind one that waits for the
      // only process they may not.
      if (!plan_.exclusive || failed) break;
      ++at;
      continue;
    }
    queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(at));
    if (handled_here(*instance, call)) {
      if (plan_.per_call) loop_.defer(lifetime_, [this, instance] { on_instance_free(*instance); });
      continue;
    }
    if (session_) remember_own(facade_, call);
    listens_.asked();
    call.turn.served();
    if (!call.is_listen()) --most;
    instance->send(call);
  }
  const bool at_capacity = without_room_since_ != milliseconds::max();
  if (at_capacity) without_room_since_ = std::min(without_room_since_, waits_since);
  if (queue_.empty()) return false;  // avoids the copy below
  auto first = std::find_if(queue_.begin(), queue_.end(), [](auto* one) { return one->room != Room::there; });
  const Room of_first = first == queue_.end() ? Room::none : (*first)->room;
  for (StdioCall* call : std::deque<StdioCall*>(queue_)) {
    Room room = std::exchange(call->room, Room::there);
    if (room == Room::there && !full) {
      call->phase(core::CallPhase::starting);
    } else if (!at_capacity) {
      call->phase(core::CallPhase::queued);
    } else {
      if (room == Room::there) room = of_first;
      call->phase(room == Room::no_share ? core::CallPhase::no_share : core::CallPhase::at_capacity);
    }
  }
  return wants_more;
}

// The newest one: an older one may be about to be replaced.
bool InstanceGroup::has_ready() const {
  return newest_ready(instances_) != nullptr;
}

StdioInstance* InstanceGroup::pick(const StdioCall& call, bool& full, size_t& claimed) {
  StdioInstance* shared = nullptr;
  StdioInstance* anothers = nullptr;
  size_t coming_up = 0;
  for (const auto& instance : instances_) {
    if (instance->expiry().retires) continue;
    if (asks(call) && (instance->calls().asking() > 0 || keeps_apart(instance->calls().attribution))) {
      full = true;
      continue;
    }
    // Requests on this process may be meant for another recent caller: prefer one without such a caller.
    if (asks(call) && instance->takes(call) && !instance->calls().attribution.asked_by_none_but(call)) {
      if (anothers == nullptr) anothers = instance.get();
      continue;
    }
    if (asks(call) && !instance->acquire_turn()) {
      ++coming_up;  // briefly
      continue;
    }
    if (instance->takes(call)) {
      // Beside another call a server request has no owner: prefer a ready process without other calls.
      const InstanceCalls& there = instance->calls();
      const bool may_meet = plan_.exclusive && !call.is_listen();
      if (!may_meet || !(asks(call) ? there.has_calls() : there.asking() > 0)) return instance.get();
      if (shared == nullptr) shared = instance.get();
      continue;
    }
    if (instance->state() == StdioInstance::State::ready) {
      full = true;  // its pipe is full
    } else {
      ++coming_up;
    }
  }
  if (shared != nullptr) return shared;
  // A call that needs a process for itself gets a new one, even while others are starting.
  bool more = asks(call) ? coming_up <= claimed : coming_up == 0;
  if (more) {
    // A shared process has no owner, except during a call that needs it for itself.
    const Account* whose = caller_ || !asks(call) ? caller_.get() : call.caller();
    // For calls that take turns the limit is ProcessQuota's, which may have to end another caller's process.
    more = (plan_.most > 1 || active_of(instances_) < plan_.most) && start_instance(whose) != nullptr;
    full = full || (!more && without_room_since_ != milliseconds::max());
  }
  if (more) ++coming_up;
  if (asks(call) && coming_up > claimed) {
    ++claimed;
    full = false;
  } else if (anothers != nullptr) {
    without_room_since_ = milliseconds::max();
    full = false;
    return anothers->acquire_turn() ? anothers : nullptr;
  }
  if (more) full = false;
  return nullptr;  // wait until it is up
}

// Requests that Lineward answers for a ready legacy process: server information, and listens that it does not
// know.
bool InstanceGroup::handled_here(StdioInstance& instance, StdioCall& call) {
  if (!own_handshake()) return false;
  if (call.request.client_era == mcp::Era::modern && call.is_listen()) {
    listens_.open(call, instance);
    return true;
  }
  auto answer =
      facade_.answer(call.request, instance.legacy_server(), instance.initialize_result(), instance.level());
  if (!answer) return false;
  *answer ? call.answer(std::move(**answer)) : call.fail(answer->error());
  return true;
}

void InstanceGroup::forward(const mcp::Message& message) {
  StdioInstance* instance = newest_ready(instances_);
  if (instance == nullptr) return;
  // A shared process gets no client notifications. A legacy client's would change the state of all, and a
  // modern client's are unknown to a legacy server.
  if (own_handshake() && !plan_.bridged) {
    log::write(log::Level::debug, "client.dropped", {{"upstream", server_.name}, {"kind", "notification"}});
    return;
  }
  if (mcp::method_of(message.method()) == Method::initialized && std::exchange(initialized_sent_, true))
    return;
  if (!instance->write_small(plan_.era == mcp::Era::modern ? mcp::with_envelope(message) : message.bytes())) {
    log::write(log::Level::warn, "client.dropped", {{"upstream", server_.name}, {"kind", "backlog"}});
  }
}

// ---- processes ----

StdioInstance* InstanceGroup::start_instance(const Account* whose) {
  if (owner_.stopping()) return nullptr;
  bool clients_own = session_ && !queue_.empty() && queue_.front()->request.method == Method::initialize;
  if (session_ && !clients_own && !facade_.has_handshake()) {
    fail_queue({mcp::EndReason::upstream_protocol,
                fmt::format("this session was never initialised by {}", server_.name)});
    return nullptr;
  }
  InstancePlan plan;
  plan.era = plan_.era;
  // A new session's own `initialize` is the handshake; Lineward repeats it for later processes of the
  // session.
  if (plan_.era == mcp::Era::legacy && !clients_own) plan.initialize_params = facade_.handshake();
  plan.about_caller = about_caller_;
  plan.settles = plan_.exclusive;
  plan.takes_turns = plan_.exclusive && !plan_.per_call;
  if (auto spare = owner_.take_spare(*this, whose)) {
    instances_.push_back(std::move(spare));
    instances_.back()->adopt(*this, plan_.key, std::move(plan));
    return instances_.back().get();
  }
  milliseconds pause = owner_.health().start_pause(not_before_);
  if (pause.count() > 0) {
    if (!backoff_.running()) backoff_.start(pause, [this] { owner_.schedule_pump(*this); });
    return nullptr;
  }
  room_ = owner_.room_for_instance(*this, whose);
  if (room_ != Room::there) {
    without_room_since_ = loop_.now();
    return nullptr;
  }
  instances_.push_back(std::make_unique<StdioInstance>(loop_, spawner_, server_, *this, in_flight_, plan_.key,
                                                       std::move(plan)));
  owner_.health().start_begun();
  instances_.back()->start();
  return instances_.back().get();
}

void InstanceGroup::end_idle(milliseconds longer_than) {
  std::vector<StdioInstance*> idle;
  bool keep_one = listens_.need_server();
  for (const auto& instance : instances_) {
    if (!instance->calls().is_idle() || loop_.now() - instance->record().last_used <= longer_than) continue;
    if (keep_one && instance->state() == StdioInstance::State::ready) {
      keep_one = false;
      continue;
    }
    idle.push_back(instance.get());
  }
  for (StdioInstance* instance : idle)
    instance->stop({mcp::EndReason::cancelled_drain, "was idle", {}});
}

void InstanceGroup::end_abandoned(milliseconds after) {
  const bool may_be = after.count() > 0 && !comes_back_ && scope_ != nullptr && !instances_.empty();
  if (!may_be || !queue_.empty() || listens_.need_server()) return;
  const auto gone = scope_->abandoned_for();
  if (!gone || *gone < after) return;
  std::vector<StdioInstance*> idle;
  for (const auto& instance : instances_) {
    if (instance->calls().is_idle()) idle.push_back(instance.get());
  }
  for (StdioInstance* instance : idle) {
    was_abandoned_ = true;
    ++metrics::upstream_stats(server_.name).abandoned;
    log::write(log::Level::info, "upstream.evict",
               {{"upstream", server_.name},
                {"group", shown_group(plan_.key)},
                {"pid", static_cast<int64_t>(instance->pid())},
                {"why", fmt::format("its client closed its connections {} ms ago (sessionAbandoned)",
                                    gone->count())}});
    instance->stop({mcp::EndReason::cancelled_drain, "its session was abandoned", {}});
  }
}

void InstanceGroup::on_instance_ready(StdioInstance& instance) {
  log::write(log::Level::info, "upstream.ready",
             {{"upstream", server_.name},
              {"pid", static_cast<int64_t>(instance.pid())},
              {"era", mcp::name(instance.era())},
              {"group", shown_group(plan_.key)}});
  restore(instance);
  owner_.schedule_pump(*this);
}

void InstanceGroup::on_instance_free(StdioInstance& instance) {
  if (plan_.per_call && instance.calls().is_idle() && queue_.empty() && listens_.empty())
    return owner_.group_served(*this);
  owner_.schedule_pump(*this);
}

void InstanceGroup::on_instance_initialized(const mcp::Message& answer) {
  if (answer.kind() != mcp::MessageKind::error) return;
  facade_.forget_handshake();
  std::deque<StdioCall*> nobody;
  ProcessEnd end{mcp::EndReason::upstream_protocol, "refused initialize", {}};
  end.knows_no_initialize = mcp::error_code(answer) == mcp::kMethodNotFound;
  owner_.start_failed(end, nobody);
}

void InstanceGroup::on_instance_down(StdioInstance& instance, const ProcessEnd& end,
                                     std::vector<StdioCall*> listens) {
  auto found =
      std::find_if(instances_.begin(), instances_.end(), [&](const auto& i) { return i.get() == &instance; });
  if (found == instances_.end()) return;
  bool lost = false;
  bool was_ready = instance.record().was_ready;
  milliseconds lived = loop_.now() - instance.record().started_at;
  bool may_revive = instance.expiry().is_expired() || end.reason != mcp::EndReason::cancelled_drain;
  owner_.take_leaving(std::move(*found));
  instances_.erase(found);
  listens_.lost(&instance);
  if (scope_ != nullptr) scope_->on_scope_reset();
  const bool refused_it = plan_.bridged && !has_served_ && end.reason != mcp::EndReason::cancelled_drain;
  if (refused_it && owner_.serves_as_modern(*this, end)) return;
  if (end.reason != mcp::EndReason::cancelled_drain) {
    last_end_ = end.text;
    // Several failures within one pause count as one.
    bool well = was_ready && (lived > SpawnBudget::kStable || instance.record().has_served);
    if (loop_.now() >= not_before_) failures_ = well ? 1 : failures_ + 1;
    not_before_ = loop_.now() + backoff_after(server_.restart, failures_);
    log::write(log::Level::warn, "upstream.down",
               {{"upstream", server_.name},
                {"pid", static_cast<int64_t>(instance.pid())},
                {"why", end.text},
                {"stderr", end.last_stderr},
                {"detail", end.detail},
                {"next_start_ms", (not_before_ - loop_.now()).count()}});
    // A failed start fails all calls that waited for it; the next call tries again. Listens stay: they are
    // reopened until kListenRestarts is reached.
    std::string text = instance.record().has_answered ? end.text : start_failure_text(end, server_);
    core::Failure failure{end.reason, fmt::format("{} {}", server_.name, text)};
    if (!was_ready) {
      const bool refused = own_handshake() && instance.record().has_answered && !has_ready() &&
                           end.reason == mcp::EndReason::upstream_protocol;
      std::deque<StdioCall*> nobody;
      owner_.start_failed(end, refused ? queue_ : nobody);
    }
    if ((!was_ready || !instance.record().has_answered) && instances_.empty()) refuse_waiting(failure);
    if (failures_ > kListenRestarts) {
      listens_.fail_all(failure);
      for (StdioCall* call : listens)
        call->fail(failure);
      listens.clear();
    }
    lost = true;
    owner_.health().died(instance.record(), end);
  }
  revive_ = session_ && may_revive && facade_.has_subscriptions() && failures_ <= kListenRestarts;
  for (StdioCall* call : listens) {
    if (!call->live()) continue;
    if (owner_.stopping()) {
      call->fail({mcp::EndReason::cancelled_drain, "the gateway is stopping"});
    } else if (call->request.of_gateway) {  // it is no reason to start another process
      call->fail({end.reason, fmt::format("{} {}", server_.name, end.text)});
    } else {
      join_by_turn(queue_, *call);
    }
  }
  owner_.schedule_pump(*this);
  // Deferred and last: it may stop the whole gateway.
  if (lost) loop_.defer(lifetime_, [this] { owner_.instance_lost(); });
}

// ---- replacing a process ----

void InstanceGroup::on_instance_expired(StdioInstance& instance, std::string_view why) {
  if (instance.expiry().is_expired()) return;
  log::write(log::Level::info, "upstream.replace",
             {{"upstream", server_.name},
              {"pid", static_cast<int64_t>(instance.pid())},
              {"group", shown_group(plan_.key)},
              {"why", why}});
  // A session's answers to server requests name no process, so it has only one at a time. That one is ended
  // as soon as it is idle.
  instance.expiry() = {std::string(why), !of_one_session()};
  replacing_ = true;
  owner_.schedule_pump(*this);
}

// If there are listens, the new process starts first; the old one ends when its calls are answered.
void InstanceGroup::replace_expired() {
  std::vector<StdioInstance*> expired;
  for (const auto& instance : instances_) {
    if (instance->expiry().is_expired()) expired.push_back(instance.get());
  }
  replacing_ = !expired.empty();
  for (StdioInstance* old : expired) {
    StdioInstance* next = newest_ready(instances_);
    if (next != nullptr && next->expiry().is_expired()) next = nullptr;
    bool listened = (!listens_.empty() && listens_.served_by(old)) || old->calls().has_listens();
    if (listened && next == nullptr && !of_one_session()) {
      if (active_of(instances_) > 0) continue;
      if (const milliseconds pause = next_move_ - loop_.now(); pause.count() > 0) {
        if (!move_timer_.running()) move_timer_.start(pause, [this] { owner_.schedule_pump(*this); });
        continue;
      }
      if (start_instance(caller_.get()) != nullptr) {
        next_move_ = loop_.now() + kMoveAtMostEvery;
        continue;
      }
      // If no second process may run, the old one makes room.
      if (owner_.capacity_pending()) continue;
    }
    if (next != nullptr && listens_.served_by(old)) {
      listens_.lost(old);
      listens_.tell_changes();
    }
    if (old->calls().has_calls()) continue;
    old->stop({mcp::EndReason::cancelled_drain, old->expiry().why, {}});
  }
}

// Restores clients' state in a new process: the listens on a shared one, the state of its predecessor for a
// session.
void InstanceGroup::restore(StdioInstance& instance) {
  if (own_handshake()) listens_.join(instance);
  if (plan_.bridged && std::exchange(has_served_, true)) facade_.tell_restarted(scope_);
  if (!session_ || instance.initialize_result().empty()) return;
  initialized_sent_ = true;
  facade_.replay(instance);
  facade_.tell_state_is_gone(instance.legacy_server(), scope_);
}

// ---- server messages that name no single call ----

// List changes and URI updates go to listens, unless the client has the process for itself.
void InstanceGroup::on_instance_message(StdioInstance& instance, mcp::Message message) {
  const bool asks = message.kind() == mcp::MessageKind::request;
  if (!asks && (plan_.bridged || scope_ == nullptr) && listens_.notify(instance, message, loop_.now()))
    return;
  const MessageOrigin from{
      .pipe = true, .bridged = plan_.bridged, .scoped = scope_ != nullptr, .exclusive = plan_.exclusive};
  const InstanceCalls& calls = instance.calls();
  const Addressee to = calls.attribution.of(message, from, calls.possible(&message));
  // If a server sends requests after its answers, one ping between two calls cannot tell their owners apart.
  // From here on its processes are kept apart after each call, as after a cancelled one.
  if (to.asks_late && !std::exchange(asks_late_, true)) {
    log::write(log::Level::info, "upstream.asks_late",
               {{"upstream", server_.name}, {"group", shown_group(plan_.key)}});
  }
  switch (to.kind) {
    case Addressee::Kind::call: return to.call->message(std::move(message));
    case Addressee::Kind::session: return scope_->on_scope_message(std::move(message), to.tag());
    case Addressee::Kind::roots: return instance.answer_server(facade_.roots(message));
    case Addressee::Kind::refused:
      return instance.answer_server(LegacyFacade::nobody_to_ask(message, "process"));
    case Addressee::Kind::unwanted: return;
    case Addressee::Kind::none: break;
  }
  const bool is_progress = !plan_.bridged && mcp::method_of(message.method()) == Method::progress;
  log::write(is_progress || plan_.bridged ? log::Level::info : log::Level::debug, "upstream.dropped",
             {{"upstream", server_.name}, {"kind", is_progress ? "unknown_token" : "unscoped"}});
  if (!plan_.bridged) instance.note_useless();
}

bool InstanceGroup::keeps_apart(const Attribution& after) {
  const milliseconds left = after.asked_until() - loop_.now();
  if (!asks_late_ || left.count() <= 0) return false;
  if (!apart_timer_.running()) apart_timer_.start(left, [this] { owner_.schedule_pump(*this); });
  return true;
}

// ---- the end ----

void InstanceGroup::fail_queue(const core::Failure& failure) {
  std::deque<StdioCall*> queue;
  queue.swap(queue_);
  for (StdioCall* call : queue)
    call->fail(failure);
}

void InstanceGroup::refuse_waiting(const core::Failure& failure) {
  if (has_ready()) return;
  auto ends = [](const StdioCall* call) { return !call->is_listen() || !call->acknowledged; };
  std::vector<StdioCall*> calls;
  std::copy_if(queue_.begin(), queue_.end(), std::back_inserter(calls), ends);
  std::erase_if(queue_, ends);
  for (StdioCall* call : calls)
    call->fail(failure);
}

void InstanceGroup::close(std::string_view why) {
  facade_.forget_subscriptions();  // it lives until its processes are gone
  facade_.forget_handshake();
  scope_ = nullptr;
  core::Failure failure{mcp::EndReason::cancelled_drain, std::string(why)};
  fail_queue(failure);
  listens_.fail_all(failure);
  std::vector<StdioInstance*> all;
  for (const auto& instance : instances_)
    all.push_back(instance.get());
  for (StdioInstance* instance : all)
    instance->stop({mcp::EndReason::cancelled_drain, std::string(why), {}});
}

}  // namespace lineward::upstream
