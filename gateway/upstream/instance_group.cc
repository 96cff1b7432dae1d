#include "upstream/instance_group.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "core/gate.h"
#include "mcp/errors.h"
#include "mcp/rewrite.h"
#include "mcp/targets.h"
#include "upstream/process_end.h"
#include "upstream/spawn_budget.h"

namespace lineward::upstream {
namespace {

using mcp::Field;
using mcp::Method;
using std::chrono::milliseconds;

// So many starts in a row may come to nothing before those who listen are told that it is over.
constexpr uint32_t kListenRestarts = 6;

}  // namespace

InstanceGroup::InstanceGroup(net::Loop& loop, net::Spawner& spawner, const config::Server& server,
                             GroupHome& home, GroupPlan plan)
    : loop_(loop),
      spawner_(spawner),
      server_(server),
      home_(home),
      plan_(std::move(plan)),
      session_(plan_.era == mcp::Era::legacy && plan_.initialize_params.empty()),
      backoff_(loop),
      apart_timer_(loop) {
  initialize_params_.keep(std::exchange(plan_.initialize_params, {}));
  key_bytes_.set(2 * plan_.key.size());  // its name is in the upstream's table too
}

InstanceGroup::~InstanceGroup() = default;

// ---- calls ----

void InstanceGroup::enqueue(StdioCall& call) {
  call.group = plan_.key;
  if (calls_ < plan_.kept_from) ++calls_;
  const bool of_one = session_ || plan_.per_call || plan_.kept_from > 0 ||
                      (plan_.exclusive && call.request.scope.principal != core::kAnonymous);
  if (of_one && !caller_) caller_ = Account::caller_of(call.request.account());
  queue_.push_back(&call);
  home_.schedule_pump(*this);
}

void InstanceGroup::withdraw(StdioCall& call) {
  std::erase(queue_, &call);
  listens_.close(call);
}

bool InstanceGroup::wants_pump() const {
  return !queue_.empty() || replacing_ || ((revive_ || !listens_.empty()) && instances_.empty());
}

size_t InstanceGroup::in_flight() const {
  size_t sum = 0;
  for (const auto& instance : instances_)
    sum += instance->in_flight();
  return sum;
}

void InstanceGroup::pump() {
  const milliseconds waits_since = std::exchange(without_room_since_, milliseconds::max());
  if (replacing_) replace_worn();
  // Somebody listens: a process is needed even while nobody calls.
  if (queue_.empty() && instances_.empty() && (revive_ || !listens_.empty())) {
    if (start_instance() != nullptr) revive_ = false;
  }
  bool full = false;
  size_t claimed = 0;
  std::vector<StdioCall*> without_place;
  for (size_t at = 0; at < queue_.size();) {
    StdioCall& call = *queue_[at];
    if (!call.is_listen() && !home_.room_in_flight()) {
      full = true;
      break;
    }
    bool waits_for_place = false;
    StdioInstance* instance = pick(call, waits_for_place, claimed);
    if (instance == nullptr) {
      full = full || (waits_for_place && !plan_.exclusive);
      if (waits_for_place) without_place.push_back(&call);
      // Behind a call that waits for a process of its own, others may go on; behind one that waits for the
      // only process they cannot.
      if (!plan_.exclusive || queue_.empty()) break;
      ++at;
      continue;
    }
    queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(at));
    if (handled_here(*instance, call)) {
      if (plan_.per_call) loop_.defer(lifetime_, [this, instance] { on_instance_free(*instance); });
      continue;
    }
    remember(call);
    listens_.asked();
    instance->send(call);
  }
  const bool no_room = without_room_since_ != milliseconds::max();
  if (no_room) without_room_since_ = std::min(without_room_since_, waits_since);
  if (queue_.empty()) return;  // the copy costs
  const core::CallPhase waiting = no_room ? core::CallPhase::no_room : core::CallPhase::queued;
  for (StdioCall* call : std::deque<StdioCall*>(queue_)) {
    bool queued = full || std::find(without_place.begin(), without_place.end(), call) != without_place.end();
    call->phase(queued ? waiting : core::CallPhase::starting);
  }
}

// The newest: an older one may be about to be replaced.
StdioInstance* InstanceGroup::ready_instance() const {
  for (auto instance = instances_.rbegin(); instance != instances_.rend(); ++instance) {
    if ((*instance)->state() == StdioInstance::State::ready) return instance->get();
  }
  return nullptr;
}

StdioInstance* InstanceGroup::pick(const StdioCall& call, bool& full, size_t& claimed) {
  size_t coming_up = 0;
  for (const auto& instance : instances_) {
    if (instance->retiring()) continue;
    if (asks(call) && (instance->asking() > 0 || kept_apart(*instance))) {
      full = true;
      continue;
    }
    if (asks(call) && !instance->settle_turn()) {
      ++coming_up;  // for a moment
      continue;
    }
    if (instance->takes(call)) return instance.get();
    if (instance->state() == StdioInstance::State::ready) {
      full = true;  // its pipe is full
    } else {
      ++coming_up;
    }
  }
  // A call that needs a process for itself has one started for it, also while others come up.
  bool more = asks(call) ? coming_up <= claimed : coming_up == 0;
  if (more) {
    more = active() < plan_.most_instances && start_instance() != nullptr;
    full = full || (!more && without_room_since_ != milliseconds::max());
  }
  if (more) ++coming_up;
  if (asks(call) && coming_up > claimed) {
    ++claimed;
    full = false;
  }
  if (more) full = false;
  return nullptr;  // not before it is up
}

// What the server must be told again by a process that takes over.
void InstanceGroup::remember(const StdioCall& call) {
  if (!session_) return;
  const mcp::Message& message = call.request.message;
  const AccountPtr& whose = call.request.account();
  switch (call.request.method) {
    case Method::initialize: initialize_params_.keep(std::string(message.raw(Field::params)), whose); break;
    case Method::logging_set_level: level_params_ = mcp::level_params(message); break;
    case Method::resources_subscribe:
      if (subscriptions_.size() < mcp::kMostSubscriptions)
        subscriptions_.insert(message.text(Field::params_uri), whose);
      break;
    case Method::resources_unsubscribe: subscriptions_.erase(message.text(Field::params_uri)); break;
    default: break;
  }
}

// What a ready legacy process need not be asked: who it is, and the listens it does not know.
bool InstanceGroup::handled_here(StdioInstance& instance, StdioCall& call) {
  if (!own_handshake()) return false;
  bool modern = call.request.client_era == mcp::Era::modern;
  std::string text;
  if (modern && call.is_listen()) {
    listens_.open(call, instance);
    return true;
  }
  if (modern) {
    text = mcp::answer_in_its_place(call.request.method, instance.legacy_server());
  } else if (call.request.method == Method::initialize) {
    text = fmt::format(R"({{"jsonrpc":"2.0","id":0,"result":{}}})", instance.initialize_result());
  }
  if (text.empty()) return false;
  auto answer = mcp::Message::parse(std::move(text));
  if (answer) {
    call.answer(std::move(*answer));
  } else {
    call.fail({mcp::EndReason::upstream_protocol,
               fmt::format("{} answered initialize with no result", server_.name)});
  }
  return true;
}

void InstanceGroup::forward(const mcp::Message& message) {
  StdioInstance* instance = ready_instance();
  if (instance == nullptr) return;
  // A shared process hears no single client: legacy ones would take its session's state apart, and modern
  // ones have no notification that an old server knows.
  if (own_handshake()) {
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

StdioInstance* InstanceGroup::start_instance() {
  if (home_.stopping()) return nullptr;
  bool clients_own = session_ && !queue_.empty() && queue_.front()->request.method == Method::initialize;
  if (session_ && !clients_own && initialize_params_.empty()) {
    fail_queue({mcp::EndReason::upstream_protocol,
                fmt::format("this session was never initialised by {}", server_.name)});
    return nullptr;
  }
  InstancePlan plan;
  plan.era = plan_.era;
  // A new session's own `initialize` is the handshake; later processes of the session get the same one from
  // us.
  if (plan_.era == mcp::Era::legacy && !clients_own) plan.initialize_params = initialize_params_.text();
  plan.settles = plan_.exclusive;
  plan.takes_turns = plan_.exclusive && !plan_.per_call;
  if (auto spare = home_.take_spare()) {
    instances_.push_back(std::move(spare));
    instances_.back()->adopt(*this, plan_.key, std::move(plan));
    return instances_.back().get();
  }
  milliseconds pause = home_.start_pause(not_before_);
  if (pause.count() > 0) {
    if (!backoff_.running()) backoff_.start(pause, [this] { home_.schedule_pump(*this); });
    return nullptr;
  }
  if (!home_.room_for_instance(*this)) {
    without_room_since_ = loop_.now();
    return nullptr;
  }
  instances_.push_back(
      std::make_unique<StdioInstance>(loop_, spawner_, server_, *this, plan_.key, std::move(plan)));
  home_.start_begun();
  instances_.back()->start();
  return instances_.back().get();
}

StdioInstance* InstanceGroup::oldest_idle() const {
  StdioInstance* oldest = nullptr;
  if (!queue_.empty() || !listens_.empty() || is_lived_in()) return nullptr;
  for (const auto& instance : instances_) {
    if (!instance->idle()) continue;
    if (oldest == nullptr || instance->last_used() < oldest->last_used()) oldest = instance.get();
  }
  return oldest;
}

void InstanceGroup::end_idle(milliseconds longer_than) {
  std::vector<StdioInstance*> idle;
  bool keep_one = !listens_.empty();
  for (const auto& instance : instances_) {
    if (!instance->idle() || loop_.now() - instance->last_used() <= longer_than) continue;
    if (keep_one && instance->state() == StdioInstance::State::ready) {
      keep_one = false;
      continue;
    }
    idle.push_back(instance.get());
  }
  for (StdioInstance* instance : idle)
    instance->stop({mcp::EndReason::cancelled_drain, "was idle", {}});
}

void InstanceGroup::on_instance_ready(StdioInstance& instance) {
  log::write(log::Level::info, "upstream.ready",
             {{"upstream", server_.name},
              {"pid", static_cast<int64_t>(instance.pid())},
              {"era", mcp::name(instance.era())},
              {"group", plan_.key.substr(0, 64)}});
  restore(instance);
  home_.schedule_pump(*this);
}

void InstanceGroup::on_instance_free(StdioInstance& instance) {
  if (plan_.per_call && instance.idle() && queue_.empty()) return home_.group_served(*this);
  home_.schedule_pump(*this);
}

void InstanceGroup::on_instance_initialized(StdioInstance&, const mcp::Message& answer) {
  if (answer.kind() == mcp::MessageKind::error) initialize_params_.clear();
}

void InstanceGroup::on_instance_down(StdioInstance& instance, const ProcessEnd& end,
                                     std::vector<StdioCall*> listens) {
  auto found =
      std::find_if(instances_.begin(), instances_.end(), [&](const auto& i) { return i.get() == &instance; });
  if (found == instances_.end()) return;
  bool lost = false;
  bool was_ready = instance.was_ready();
  milliseconds lived = loop_.now() - instance.started_at();
  bool may_revive = instance.worn() || end.reason != mcp::EndReason::cancelled_drain;
  home_.take_leaving(std::move(*found));
  instances_.erase(found);
  listens_.lost(&instance);
  if (scope_ != nullptr) scope_->on_scope_reset();
  if (end.reason != mcp::EndReason::cancelled_drain) {
    last_end_ = end.text;
    // Several that fail together failed once.
    bool well = was_ready && (lived > SpawnBudget::kStable || instance.has_served());
    if (loop_.now() >= not_before_) failures_ = well ? 1 : failures_ + 1;
    not_before_ = loop_.now() + backoff_after(server_.restart, failures_);
    log::write(log::Level::warn, "upstream.down",
               {{"upstream", server_.name},
                {"pid", static_cast<int64_t>(instance.pid())},
                {"why", end.text},
                {"stderr", end.last_stderr},
                {"detail", end.detail},
                {"next_start_ms", (not_before_ - loop_.now()).count()}});
    // A start that came to nothing is the answer to all who waited for it; the next call tries again. Listens
    // stay: they are opened again, until the budget for that is used up.
    std::string text = instance.has_answered() ? end.text : start_failure_text(end, server_);
    core::Failure failure{end.reason, fmt::format("{} {}", server_.name, text)};
    if (!was_ready) home_.start_failed(end);
    if ((!was_ready || !instance.has_answered()) && instances_.empty()) refuse_waiting(failure);
    if (failures_ > kListenRestarts) {
      listens_.fail_all(failure);
      for (StdioCall* call : listens)
        call->fail(failure);
      listens.clear();
    }
    lost = true;
    home_.instance_died(instance, end);
  }
  revive_ = session_ && may_revive && !subscriptions_.empty() && failures_ <= kListenRestarts;
  for (StdioCall* call : listens) {
    if (!call->live()) continue;
    if (home_.stopping()) {
      call->fail({mcp::EndReason::cancelled_drain, "the gateway is stopping"});
    } else if (call->request.of_gateway) {  // no reason to start another
      call->fail({end.reason, fmt::format("{} {}", server_.name, end.text)});
    } else {
      queue_.push_back(call);
    }
  }
  home_.schedule_pump(*this);
  // Last, and not from here: it may end the whole gateway.
  if (lost) loop_.defer(lifetime_, [this] { home_.instance_lost(); });
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
  subscriptions_.clear();  // it lives until its processes are gone
  initialize_params_.clear();
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
