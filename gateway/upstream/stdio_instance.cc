#include "upstream/stdio_instance.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "base/json_splice.h"
#include "base/log.h"
#include "mcp/errors.h"
#include "mcp/rewrite.h"
#include "upstream/own_limits.h"
#include "upstream/process_end.h"

namespace lineward::upstream {
namespace {

using mcp::Field;
using mcp::Method;

// A request is written only while the pipe is nearly empty: what is still ours can be taken back without a
// word.
constexpr size_t kPipeBacklog = 64 * 1024;
// What a server that does not read makes us owe it: answers to its own requests and notifications of clients.
constexpr size_t kMostOwed = 4 * 1024 * 1024;
// A server that does not answer pings is asked to work all the same.
constexpr std::chrono::milliseconds kPingPatience{1000};
// Of a client's words to the server about its cancel.
constexpr size_t kLongestReason = 1024;

}  // namespace

StdioInstance::StdioInstance(net::Loop& loop, net::Spawner& spawner, const config::Server& server,
                             InstanceOwner& owner, std::string group, InstancePlan plan)
    : loop_(loop),
      server_(server),
      owner_(&owner),
      stats_(core::upstream_stats(server.name)),
      number_(stats_.take_instance()),
      group_(std::move(group)),
      plan_(std::move(plan)),
      process_(loop, spawner, server, *this),
      last_used_(loop.now()),
      started_at_(loop.now()),
      cancel_later_(
          loop, [](void* self) { static_cast<StdioInstance*>(self)->write_cancels(); }, this),
      cancel_timer_(loop),
      own_timer_(loop),
      startup_timer_(loop),
      lifetime_timer_(loop),
      settle_timer_(loop) {}

void StdioInstance::start() {
  if (server_.pool.max_lifetime.count() > 0) {
    // Those that were started together are not to end together.
    thread_local std::minstd_rand random{std::random_device{}()};
    auto limit = server_.pool.max_lifetime * std::uniform_int_distribution<int>(90, 100)(random) / 100;
    lifetime_timer_.start(limit, [this] { owner_->on_instance_worn(*this, "reached pool.maxLifetime"); });
  }
  if (!plan_.spare) limit_startup();
  process_.start();
}

void StdioInstance::adopt(InstanceOwner& owner, std::string group, InstancePlan plan) {
  owner_ = &owner;
  group_ = std::move(group);
  plan_ = std::move(plan);
  last_used_ = started_at_ = loop_.now();
  limit_startup();
  if (!process_up_) return;
  // Not from here: whoever takes it has not put it into its list yet.
  settle_timer_.start(std::chrono::milliseconds(0), [this] { on_process_started(); });
}

void StdioInstance::limit_startup() {
  // However its callers' clocks run: a process that never gets ready must make room for another.
  startup_timer_.start(server_.timeouts.startup, [this] {
    stop({mcp::EndReason::timeout_startup,
          fmt::format("was not ready within {} ms (lineward timeouts.startup)",
                      server_.timeouts.startup.count()),
          {}});
  });
}

bool StdioInstance::idle() const {
  return std::all_of(pending_.begin(), pending_.end(), [](const auto& one) {
    return one.second.listen && one.second.call != nullptr && one.second.call->request.of_gateway;
  });
}

bool StdioInstance::has_listens() const {
  return std::any_of(pending_.begin(), pending_.end(), [](const auto& one) {
    return one.second.listen && one.second.call != nullptr && !one.second.call->request.of_gateway;
  });
}

bool StdioInstance::has_calls() const {
  return std::any_of(pending_.begin(), pending_.end(),
                     [](const auto& one) { return !one.second.listen && !one.second.own; });
}

bool StdioInstance::takes(const StdioCall& call) const {
  if (retiring_ || process_.backlog() > kPipeBacklog) return false;
  if (state_ == State::handshake)
    return plan_.era == mcp::Era::legacy && plan_.initialize_params.empty() &&
           call.request.method == Method::initialize;
  return state_ == State::ready;
}

void StdioInstance::send(StdioCall& call) {
  int64_t id = next_id_++;
  Pending entry;
  entry.call = &call;
  entry.listen = call.is_listen();
  entry.counts = !entry.listen;
  entry.asks = mcp::may_ask(call.request.method);
  entry.of_gateway = call.request.of_gateway;
  pending_.emplace(id, entry);
  if (entry.counts) count(1);
  call.instance = this;
  call.instance_era = plan_.era;
  call.id = id;
  last_used_ = loop_.now();
  ++served_;
  if (call.crosses_eras()) {
    want_level(call);
    write(mcp::modern_request_for_legacy(call.request.message, id));
  } else {
    write(mcp::request_for_upstream(call.request.message, id));
  }
  // Until a process has answered its handshake it is being started, whoever's handshake it is.
  bool starts = state_ == State::handshake;
  call.phase(starts ? core::CallPhase::starting : core::CallPhase::written);
  const uint64_t most = server_.pool.max_requests;
  if (most > 0 && served_ >= most) owner_->on_instance_worn(*this, "reached pool.maxRequests");
}

// A legacy server has one level for all: the lowest that any modern call wanted. Each call's own is applied
// on the way back.
void StdioInstance::want_level(const StdioCall& call) {
  auto wanted = mcp::log_level(call.request.message.text(Field::meta_log_level));
  if (!wanted || *wanted >= level_ || !legacy_server_.logging) return;
  level_ = *wanted;
  send_own("logging/setLevel",
           fmt::format(R"({{"level":{}}})", call.request.message.raw(Field::meta_log_level)));
}

void StdioInstance::send_own(std::string_view method, std::string_view params, OwnAnswer answered) {
  int64_t id = next_id_++;
  Pending entry;
  entry.own = true;
  entry.own_answer = std::move(answered);
  const std::chrono::milliseconds limit = own_limit(server_, method);
  entry.due = loop_.now() + limit;
  pending_.emplace(id, std::move(entry));
  limit_own(limit);
  write(
      fmt::format(R"({{"jsonrpc":"2.0","id":{},"method":{},"params":{}}})", id, json::quote(method), params));
}

bool StdioInstance::write_small(std::string message) {
  // The refusal of a question says less to a server that does not know yet that the call is over.
  if (!cancels_.empty()) write_cancels();
  if (process_.backlog() + message.size() > kMostOwed) return false;
  write(std::move(message));
  return true;
}

void StdioInstance::write(std::string message) {
  json::flatten_lines(message);
  process_.write_line(std::move(message));
}

void StdioInstance::cancel(StdioCall& call, std::string_view why) {
  auto entry = pending_.find(call.id);
  if (entry == pending_.end()) return;
  entry->second.call = nullptr;
  // Its place in flight is free; only the id is remembered, to swallow a late answer.
  if (std::exchange(entry->second.counts, false)) count(-1);
  last_used_ = loop_.now();
  entry->second.cancelled = true;
  entry->second.cancelled_at = loop_.now();
  entry->second.tag = call.request.tag;
  if (call.request.method != Method::initialize && server_.cancel != config::CancelMode::never) {
    cancels_.push_back({call.id, std::string(why.substr(0, kLongestReason)), call.open_questions.refuse()});
    cancel_later_.schedule();
  } else {
    refuse_open(call.open_questions.refuse());
  }
  remember_cancelled(call.id);
}

void StdioInstance::remember_cancelled(int64_t id) {
  cancelled_.emplace_back(loop_.now() + server_.timeouts.cancel_grace, id);
  if (!cancel_timer_.running())
    cancel_timer_.start(server_.timeouts.cancel_grace, [this] { sweep_cancelled(); });
}

// What is over is not cancelled: an answer that came in the same turn was read by now.
void StdioInstance::write_cancels() {
  std::vector<Cancel> cancels;
  cancels.swap(cancels_);
  for (Cancel& cancel : cancels) {
    auto entry = pending_.find(cancel.id);
    if (entry != pending_.end()) {
      write(mcp::cancel_notification(cancel.id, cancel.why, plan_.era));
      entry->second.told = core::CancelTold::notification;
      log::write(log::Level::debug, "call.cancel",
                 {{"upstream", server_.name}, {"upstream_id", cancel.id}, {"why", cancel.why}});
    }
    refuse_open(std::move(cancel.refusals));
  }
}

void StdioInstance::stop(const ProcessEnd& why) {
  if (state_ != State::down) write_cancels();
  process_.stop(why);
}

void StdioInstance::sweep_cancelled() {
  // A cancel that is still in our own queue is not forgotten.
  if (process_.backlog() > 0) {
    cancel_timer_.start(server_.timeouts.cancel_grace, [this] { sweep_cancelled(); });
    return;
  }
  while (!cancelled_.empty() && cancelled_.front().first <= loop_.now()) {
    auto entry = pending_.find(cancelled_.front().second);
    cancelled_.pop_front();
    if (entry == pending_.end()) continue;  // it was answered after all
    log::write(log::Level::debug, "call.cancel_ignored",
               {{"upstream", server_.name}, {"upstream_id", entry->first}});
    settle(entry->second, core::CancelOutcome::ignored);
    entry->second.cancelled = false;
    // Clients' calls do not end for one of Lineward's own.
    if (server_.cancel == config::CancelMode::kill && !entry->second.own) {
      ProcessEnd why{mcp::EndReason::upstream_exited, "was ended because it ignored a cancellation", {}};
      why.counts = false;
      return stop(why);
    }
    forget(entry);
  }
  if (!cancelled_.empty()) {
    cancel_timer_.start(cancelled_.front().first - loop_.now(), [this] { sweep_cancelled(); });
  }
  owner_->on_instance_free(*this);
}

void StdioInstance::settle(const Pending& entry, core::CancelOutcome outcome) {
  if (!entry.cancelled) return;
  stats_.cancel_settled(entry.tag, {outcome, entry.told, loop_.now() - entry.cancelled_at});
}

// Once for each process that became ready.
void StdioInstance::count_start() {
  ++stats_.starts_ok;
  stats_.start_duration.observe(loop_.now() - started_at_);
}

// Between two calls that may ask: what the server says before it answers this belongs to neither of them. One
// that does not answer is not asked again.
bool StdioInstance::settle_turn() {
  if (!plan_.takes_turns || !answers_pings_ || !unsettled_ || loop_.now() >= asked_until_) return true;
  if (settling_ || state_ != State::ready) return false;
  settling_ = true;
  settle_timer_.start(kPingPatience, [this] {
    answers_pings_ = settling_ = false;
    owner_->on_instance_free(*this);
  });
  send_own("ping", "{}", [this](const mcp::Message&) {
    if (!std::exchange(settling_, false)) return;
    unsettled_ = false;
    settle_timer_.stop();
  });
  return false;
}

void StdioInstance::forget(Table::iterator entry) {
  if (entry->second.counts) count(-1);
  pending_.erase(entry);
}

// ---- the process ----

void StdioInstance::on_process_started() {
  process_up_ = true;
  if (state_ == State::down || plan_.spare) return;
  state_ = State::handshake;
  const bool modern = plan_.era == mcp::Era::modern;
  if (!modern && plan_.initialize_params.empty())
    return owner_->on_instance_free(*this);  // the client's own is waiting
  // That a process runs does not mean that it reads: its first answer ends its start. A modern one, which has
  // no handshake, is asked for what every one must answer.
  int64_t id = next_id_++;
  Pending entry;
  entry.own = true;
  entry.own_initialize = !modern;
  entry.own_discover = modern;
  pending_.emplace(id, std::move(entry));
  write(modern ? mcp::discover_request(id) : mcp::initialize_request(id, plan_.initialize_params));
}

void StdioInstance::became_ready() {
  state_ = State::ready;
  was_ready_ = true;
  plan_.initialize_params = {};  // the next process gets them from the group
  count_start();
  startup_timer_.stop();
  owner_->on_instance_ready(*this);
}

void StdioInstance::handshake_answer(const mcp::Message& message) {
  if (message.kind() == mcp::MessageKind::error) {
    return stop(
        {mcp::EndReason::upstream_protocol, "refused initialize: " + message.text(Field::error_message), {}});
  }
  initialize_result_.keep(std::string(message.raw(Field::result)));
  revision_ = message.text(Field::result_protocol_version);
  legacy_server_ = mcp::read_initialize_result(initialize_result_.text());
  legacy_server_bytes_.set(mcp::bytes_of(legacy_server_));
  write(std::string(mcp::kInitialized));
  if (!plan_.settles) return became_ready();
  auto settled = [this] {
    settle_timer_.stop();
    if (state_ == State::handshake) became_ready();
  };
  settle_timer_.start(kPingPatience, settled);
  send_own("ping", "{}", [settled](const mcp::Message&) { settled(); });
}

void StdioInstance::on_process_down(const ProcessEnd& end) {
  state_ = State::down;
  cancel_timer_.stop();
  own_timer_.stop();
  startup_timer_.stop();
  settle_timer_.stop();
  lifetime_timer_.stop();
  cancelled_.clear();
  cancels_.clear();
  cancel_later_.cancel();
  settling_ = false;
  Table lost(pending_.get_allocator());
  lost.swap(pending_);
  count(-static_cast<int64_t>(in_flight_));
  std::vector<StdioCall*> listens;
  std::string failure_text = has_answered_ ? end.text : start_failure_text(end, server_);
  if (!was_ready_ && end.reason != mcp::EndReason::cancelled_drain) ++stats_.starts_failed;
  for (auto& [id, entry] : lost) {
    entry.told = entry.told == core::CancelTold::nothing ? core::CancelTold::process_ended : entry.told;
    settle(entry, core::CancelOutcome::stopped);
    if (entry.call == nullptr) continue;
    if (entry.listen) {
      entry.call->instance = nullptr;
      listens.push_back(entry.call);
      continue;
    }
    core::Failure failure{end.reason, fmt::format("{} {}", server_.name, failure_text)};
    entry.call->instance = nullptr;
    entry.call->fail(failure);
  }
  owner_->on_instance_down(*this, end, std::move(listens));
}

void StdioInstance::on_process_gone() {
  ++stats_.exits[static_cast<size_t>(process_.exit_cause())];
  if (plan_.era == mcp::Era::legacy && was_ready_)
    stats_.client_sessions[core::revision_slot(revision_)].observe(loop_.now() - started_at_);
  owner_->on_instance_gone(*this);
}

}  // namespace lineward::upstream
