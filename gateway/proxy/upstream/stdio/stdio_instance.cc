#include "proxy/upstream/stdio/stdio_instance.h"

#include <fmt/format.h>

#include <random>

#include "foundation/json/json_splice.h"
#include "foundation/log/log.h"
#include "protocol/mcp/errors.h"
#include "protocol/mcp/rewrite.h"
#include "proxy/upstream/shared/process_end.h"

namespace lineward::upstream {
namespace {

using mcp::Field;
using mcp::Method;

// A request is written only while the pipe is nearly empty: an unwritten one can be withdrawn silently.
constexpr size_t kPipeBacklog = 64 * 1024;
// Maximum unread bytes in answers to its own requests and in clients' notifications.
constexpr size_t kMaxOwed = 4 * 1024 * 1024;
}  // namespace

StdioInstance::StdioInstance(net::Loop& loop, process::Spawner& spawner, const config::Server& server,
                             InstanceCallbacks& owner, std::string group, InstancePlan plan)
    : loop_(loop),
      server_(server),
      owner_(&owner),
      stats_(metrics::upstream_stats(server.name)),
      number_(stats_.take_instance()),
      group_(std::move(group)),
      plan_(std::move(plan)),
      process_(loop, spawner, server, *this),
      lifetime_timer_(loop) {}

void StdioInstance::start() {
  age();
  handshake_.starts();
  process_.start();
}

void StdioInstance::age() {
  if (server_.pool.max_lifetime.count() == 0) return;
  // Processes that were started together should not expire together.
  thread_local std::minstd_rand random{std::random_device{}()};
  auto limit = server_.pool.max_lifetime * std::uniform_int_distribution<int>(90, 100)(random) / 100;
  lifetime_timer_.start(limit, [this] {
    // A server that takes longer to start than pool.maxLifetime would be replaced for ever, and never serve.
    if (handshake_.is_under_way()) return age();
    owner_->on_instance_expired(*this, "reached pool.maxLifetime");
  });
}

void StdioInstance::adopt(InstanceCallbacks& owner, std::string group, InstancePlan plan) {
  owner_ = &owner;
  group_ = std::move(group);
  plan_ = std::move(plan);
  calls_.set_owner(owner);
  handshake_.adopted();
}

void StdioInstance::list(std::vector<core::UpstreamStatus::Process>& out) const {
  if (pid() > 0) out.push_back({pid(), number_});
}

bool StdioInstance::takes(const StdioCall& call) const {
  if (expiry_.retires || process_.backlog() > kPipeBacklog) return false;
  return is_ready() || (call.request.method == Method::initialize && handshake_.awaits_client());
}

void StdioInstance::send(StdioCall& call) {
  PendingCall entry;
  entry.call = &call;
  entry.listen = call.is_listen();
  entry.counts = !entry.listen;
  entry.asks = mcp::may_ask(call.request.method);
  entry.of_gateway = call.request.of_gateway;
  const int64_t id = calls_.add(std::move(entry));
  call.instance = this;
  call.sent_at = loop_.now();
  call.instance_era = plan_.era;
  call.id = id;
  record_.last_used = loop_.now();
  // A listen moves from one process to the next: if it counted, moving the listens alone would use up each
  // new process.
  if (call.request.from && !call.is_listen()) ++sent_;
  if (call.request.method == mcp::Method::logging_set_level) {
    level_.is_set(call.request.message);
  } else if (plan_.era == mcp::Era::legacy) {
    level_.want(call.request, *this);
  }
  write(call.crosses_eras() ? mcp::modern_request_for_legacy(call.request.message, id)
                            : mcp::request_for_upstream(call.request.message, id));
  // Until a process has answered its handshake, its own or a client's, it is starting.
  bool starts = state() == State::handshake;
  call.phase(starts ? core::CallPhase::starting : core::CallPhase::written);
  const uint64_t most = server_.pool.max_requests;
  if (most > 0 && sent_ >= most) owner_->on_instance_expired(*this, "reached pool.maxRequests");
}

bool StdioInstance::write_small(std::string message) {
  // The cancel goes first: otherwise the server gets the refusal of its request before it knows that the call
  // is over.
  if (cancels_.is_owed()) cancels_.write_now();
  if (process_.backlog() + message.size() > kMaxOwed) return false;
  write(std::move(message));
  return true;
}

void StdioInstance::write(std::string message) {
  json::flatten_lines(message);
  process_.write_line(std::move(message));
}

void StdioInstance::answer_server(std::string message) {
  if (write_small(std::move(message))) return;
  stop({mcp::EndReason::upstream_protocol, "asks on and on and does not read the answers", {}});
}

void StdioInstance::cancel(StdioCall& call, std::string_view why) {
  record_.last_used = loop_.now();
  cancels_.cancel(call, why);
}

void StdioInstance::stop(const ProcessEnd& why) {
  if (!is_down()) cancels_.write_now();
  process_.stop(why);
}

// ---- its messages ----

void StdioInstance::on_answer(PendingCall&& entry, mcp::Message&& message) {
  const bool of_client = entry.call != nullptr && entry.call->request.method != Method::initialize;
  on_heard(of_client ? Heard::work : Heard::handshake);
  calls_.note_over(entry);
  record_.has_served = record_.has_served || entry.asks;
  if (entry.own_initialize) return handshake_.take_answer(message);
  if (entry.own_discover) return handshake_.became_ready();  // any answer proves that it runs
  if (entry.call != nullptr) {
    pass_answer(*entry.call, std::move(message));
  } else if (entry.own_answer) {
    entry.own_answer(message);
  } else if (entry.due.count() == 0) {  // otherwise one of Lineward's own, with no callback
    cancels_.late_answer(entry, message);
    if (auto params = mcp::cancel_of_task(message); !params.empty() && plan_.era == mcp::Era::legacy)
      send_own("tasks/cancel", params);
  }
  tell_free();
}

void StdioInstance::pass_answer(StdioCall& call, mcp::Message&& message) {
  call.instance = nullptr;
  cancels_.refuse(call.open_questions.refuse());
  if (handshake_.take_client_answer(call.request.method, message)) {
    owner_->on_instance_initialized(*this, message);
    call.phase(core::CallPhase::written);  // its start is over
  }
  if (call.crosses_eras()) {
    auto modern =
        mcp::Message::parse(mcp::legacy_answer_for_modern(message, call.request.method, legacy_server()));
    if (modern) message = std::move(*modern);
  }
  call.answer(std::move(message));
}

void StdioInstance::on_broken_answer(PendingCall entry, const std::string& why) {
  cancels_.settle(entry, metrics::CancelOutcome::raced);
  calls_.note_over(entry);
  if (entry.own_initialize)
    return stop({mcp::EndReason::upstream_protocol, "answered initialize with a broken message", {}});
  if (entry.own_discover) return handshake_.became_ready();
  if (entry.call == nullptr) return;
  entry.call->instance = nullptr;
  entry.call->fail(
      {mcp::EndReason::upstream_protocol, fmt::format("{} sent a broken answer: {}", server_.name, why)});
}

void StdioInstance::on_heard(Heard what) {
  if (!std::exchange(record_.has_answered, true)) owner_->on_instance_answered(*this, what);
}

// ---- the process ----

void StdioInstance::on_process_down(const ProcessEnd& end) {
  handshake_.process_down();
  requests_.stop();
  pings_.stop();
  lifetime_timer_.stop();
  cancels_.clear();
  InstanceCalls::Table lost = calls_.take_all();
  std::vector<StdioCall*> listens;
  std::string failure_text = record_.has_answered ? end.text : start_failure_text(end, server_);
  if (!record_.was_ready && end.reason != mcp::EndReason::cancelled_drain) ++stats_.starts_failed;
  for (auto& [id, entry] : lost) {
    entry.told = entry.told == metrics::CancelTold::nothing ? metrics::CancelTold::process_ended : entry.told;
    cancels_.settle(entry, metrics::CancelOutcome::stopped);
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
  if (plan_.era == mcp::Era::legacy && record_.was_ready)
    stats_.client_sessions[metrics::revision_slot(handshake_.revision())].observe(loop_.now() -
                                                                                  record_.started_at);
  owner_->on_instance_gone(*this);
}

}  // namespace lineward::upstream
