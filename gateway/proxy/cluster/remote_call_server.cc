#include "proxy/cluster/remote_call_server.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "proxy/cluster/remote_upstream.h"
#include "proxy/core/remote_tag.h"
#include "proxy/metrics/stats.h"

namespace lineward::cluster {
namespace {

using mcp::EndReason;
using mcp::MessageKind;

// Per call, about the capacity of a socket: above it the server is paused until half of it was taken.
constexpr size_t kMaxUnderWay = 256 * 1024;
// The limit for a server that cannot be paused without blocking other calls.
constexpr size_t kFarTooMuch = 64 * 1024 * 1024;
// An answer of a session's worker about its client counts this long. Servers ask every 5 s.
constexpr std::chrono::seconds kAnswerCounts{10};
// A client that finds a full server makes it ask about this many sessions.
constexpr size_t kAskedAtOnce = 16;

}  // namespace

RemoteCallServer::RemoteCallServer(net::Loop& loop, core::Upstream& server, std::shared_ptr<void> lease,
                                   size_t caller)
    : loop_(loop),
      server_(server),
      lease_(std::move(lease)),
      caller_(caller),
      ask_later_(
          loop, [](void* self) { static_cast<RemoteCallServer*>(self)->ask_some(); }, this) {}

RemoteCallServer::~RemoteCallServer() {
  for (auto& [number, one] : calls_) {
    if (one->call && one->call->live()) one->call->cancel("the gateway is stopping");
    fail(number, {EndReason::cancelled_drain, "the gateway is stopping"});
  }
  for (auto& [id, one] : scopes_)
    server_.close_scope(one->scope);
}

void RemoteCallServer::tell_state() {
  table_.tell(
      [state = state_of(server_)](RemoteCallTable& table) mutable { table.on_state(std::move(state)); });
}

void RemoteCallServer::tell_described() {
  table_.tell([](RemoteCallTable& table) { table.on_described(); });
}

RemoteCallServer::InboundCall* RemoteCallServer::find(uint64_t number) {
  auto found = calls_.find(number);
  return found == calls_.end() ? nullptr : found->second.get();
}

void RemoteCallServer::over(uint64_t number) {
  auto found = calls_.find(number);
  if (found == calls_.end()) return;
  loop_.retire(std::move(found->second));
  calls_.erase(found);
}

void RemoteCallServer::fail(uint64_t number, core::Failure failure) {
  table_.tell([number, failure = std::move(failure), era = server_.era()](RemoteCallTable& table) {
    table.on_failed(number, failure, era);
  });
}

// ---- from the other worker ----

void RemoteCallServer::start(uint64_t number, core::UpstreamRequest request) {
  auto one = std::make_unique<InboundCall>(*this, number);
  client_came(request.scope);
  request.tag = core::remote_tag(request.tag, caller_);
  auto call = server_.start(std::move(request), *one);
  if (!call) return fail(number, std::move(call.error()));
  one->call = std::move(*call);
  calls_[number] = std::move(one);
}

void RemoteCallServer::cancel(uint64_t number, uint64_t tag, core::CancelCause why) {
  InboundCall* one = find(number);
  if (one == nullptr || !one->call->live()) {  // its end was already posted
    metrics::CancelReport report;
    report.outcome = metrics::CancelOutcome::raced;
    report.told = metrics::CancelTold::nothing;
    return metrics::upstream_stats(server_.name()).cancel_settled(core::remote_tag(tag, caller_), report);
  }
  one->call->cancel(why);
  over(number);
}

void RemoteCallServer::reply(uint64_t number, std::string message) {
  if (InboundCall* one = find(number)) one->call->reply(std::move(message));
}

void RemoteCallServer::pause(uint64_t number) {
  InboundCall* one = find(number);
  if (one == nullptr) return;
  one->paused = true;
  one->hold();
}

void RemoteCallServer::resume(uint64_t number) {
  InboundCall* one = find(number);
  if (one == nullptr) return;
  one->paused = false;
  one->hold();
}

void RemoteCallServer::hand_over(uint64_t number, core::Handover how) {
  InboundCall* one = find(number);
  if (one == nullptr) return;
  one->paused = false;  // the new owner has not paused it
  one->call->hand_over(*one, how);
  one->hold();
}

void RemoteCallServer::retried(uint64_t number, mcp::Message request) {
  if (InboundCall* one = find(number)) one->call->retried(std::move(request));
}

void RemoteCallServer::taken(uint64_t number, size_t bytes) {
  InboundCall* one = find(number);
  if (one == nullptr) return;
  one->under_way -= std::min(bytes, one->under_way);
  if (!one->held || one->under_way > kMaxUnderWay / 2) return;
  one->held = false;
  one->hold();
}

void RemoteCallServer::open_scope(const core::Scope& scope) {
  auto& one = scopes_[scope.bridged_session];
  one = std::make_unique<InboundScope>(*this, scope);
  one->place = ++places_;
  server_.open_scope(scope, *one);
}

void RemoteCallServer::close_scope(const core::Scope& scope) {
  auto found = scopes_.find(scope.bridged_session);
  if (found == scopes_.end()) return;
  server_.close_scope(scope);
  loop_.retire(std::move(found->second));
  scopes_.erase(found);
}

// ---- from the server ----

// The other worker knows the call by the number that it assigned.
void RemoteCallServer::InboundScope::on_scope_message(mcp::Message message,
                                                      std::optional<uint64_t> only_call) {
  RemoteMessage told;
  told.held = std::make_unique<MemoryCharge>(Held::calls);
  told.held->set(message.bytes().size());
  told.message = std::move(message);
  if (only_call) only_call = core::own_tag(*only_call);
  call_server.table_.tell(
      [id = scope.bridged_session, told = std::move(told), only_call](RemoteCallTable& table) mutable {
        table.on_scope_message(id, std::move(told), only_call);
      });
}

bool RemoteCallServer::InboundScope::is_answer_new() const {
  return call_server.loop_.now() - told_at <= kAnswerCounts;
}

// No answer is older than a message that its client sent later: both come in order.
std::optional<std::chrono::milliseconds> RemoteCallServer::InboundScope::once(
    std::optional<std::chrono::milliseconds>& told) const {
  const auto answer = std::exchange(told, std::nullopt);
  return is_answer_new() ? answer : std::nullopt;
}

void RemoteCallServer::InboundScope::ask() const {
  if (is_asked) return;
  place = ++call_server.places_;
  is_asked = call_server.table_.tell(
      [id = scope.bridged_session](RemoteCallTable& table) { table.on_scope_presence(id); });
}

std::optional<std::chrono::milliseconds> RemoteCallServer::InboundScope::unused_for() const {
  wants_answer = true;
  call_server.ask_later_.schedule();
  return once(presence.unused);
}

std::optional<std::chrono::milliseconds> RemoteCallServer::InboundScope::abandoned_for() const {
  ask();
  return once(presence.abandoned);
}

// Sessions with the longest silence of their clients come first, and then the others in turn.
void RemoteCallServer::ask_some() {
  std::vector<const InboundScope*> wanted;
  for (const auto& [id, one] : scopes_) {
    if (std::exchange(one->wants_answer, false) && !one->is_asked) wanted.push_back(one.get());
  }
  const size_t some = std::min(wanted.size(), kAskedAtOnce);
  std::partial_sort(wanted.begin(), wanted.begin() + static_cast<std::ptrdiff_t>(some), wanted.end(),
                    [](const auto* a, const auto* b) { return a->place < b->place; });
  for (size_t i = 0; i < some; ++i)
    wanted[i]->ask();
}

void RemoteCallServer::told_presence(const std::string& session, const Presence& presence) {
  auto found = scopes_.find(session);
  if (found == scopes_.end()) return;
  found->second->presence = presence;
  found->second->told_at = loop_.now();
  found->second->is_asked = false;
}

void RemoteCallServer::client_came(const core::Scope& scope) {
  auto found = scopes_.find(scope.bridged_session);
  if (found == scopes_.end()) return;
  found->second->presence = {};
  found->second->place = ++places_;
}

void RemoteCallServer::InboundScope::on_scope_reset() {
  call_server.table_.tell([id = scope.bridged_session](RemoteCallTable& table) { table.on_scope_reset(id); });
}

void RemoteCallServer::InboundCall::on_call_phase(core::CallPhase phase) {
  call_server.table_.tell([at = number, phase](RemoteCallTable& table) { table.on_phase(at, phase); });
}

void RemoteCallServer::InboundCall::on_call_message(mcp::Message&& message) {
  const MessageKind kind = message.kind();
  RemoteMessage told;
  told.last = kind == MessageKind::result || kind == MessageKind::error || !call->live();
  told.era = call_server.server_.era();
  const core::CallFacts facts = call->call_facts();
  told.of_legacy_server = facts.of_legacy_server;
  if (kind != MessageKind::notification) told.server_info = facts.server_info;
  if (told.last) {
    told.has_session = facts.has_session;
    told.is_from_server = facts.is_from_server;
  } else {
    under_way += message.bytes().size();
    const bool now = !held && under_way > kMaxUnderWay;
    held = held || now;
    if (now || !can_pause) hold();
    told.can_pause = can_pause;
  }
  const bool last = told.last;  // a listen may end with a notification
  const bool too_much = !told.last && !told.can_pause && under_way > kFarTooMuch;
  told.held = std::make_unique<MemoryCharge>(Held::calls);
  told.held->set(message.bytes().size());
  told.message = std::move(message);
  call_server.table_.tell([at = number, told = std::move(told)](RemoteCallTable& table) mutable {
    table.on_message(at, std::move(told));
  });
  if (last) return call_server.over(number);
  if (!too_much) return;
  call->cancel("too much of it waits for its client");
  call_server.fail(number, {EndReason::client_too_slow, "more came for this call than was taken"});
  call_server.over(number);
}

void RemoteCallServer::InboundCall::on_call_repeated() {
  call_server.table_.tell([at = number](RemoteCallTable& table) { table.on_repeated(at); });
}

void RemoteCallServer::InboundCall::on_call_request(core::Coalesced coalesced) {
  call_server.table_.tell(
      [at = number, coalesced](RemoteCallTable& table) { table.on_request(at, coalesced); });
}

void RemoteCallServer::InboundCall::on_call_failed(const core::Failure& failure) {
  call_server.fail(number, failure);
  call_server.over(number);
}

}  // namespace lineward::cluster
