#include "proxy/exchange/park_table.h"

#include <fmt/format.h>

#include <utility>

#include "foundation/log/excerpt.h"
#include "foundation/log/log.h"
#include "protocol/mcp/client_capabilities.h"
#include "protocol/mcp/errors.h"
#include "protocol/mcp/legacy_server.h"
#include "proxy/audit/audit.h"
#include "proxy/metrics/limits.h"

namespace lineward::exchange {
namespace {

using mcp::EndReason;
using mcp::Field;
using mcp::Method;
using std::chrono::milliseconds;

// Maximum number of ended calls that are remembered.
constexpr size_t kMaxPast = 4096;

std::string_view text_of(StateFault fault) {
  switch (fault) {
    case StateFault::tampered: return "requestState was not made here, or was changed";
    case StateFault::foreign: return "requestState belongs to another caller or server";
    case StateFault::other_call: return "requestState belongs to a call with another method or other params";
    case StateFault::expired: return "requestState has expired: the client came back too late";
    case StateFault::used: return "requestState was used before";
    default: return "the call of this requestState is gone";
  }
}

}  // namespace

// A parked call, as the owner of its core::Call.
class ParkTable::Parked final : public core::CallCallbacks {
 public:
  Parked(ParkTable& table, std::string name, ParkedCall what, const config::Server& whose)
      : table_(table),
        id(std::move(name)),
        call(std::move(what)),
        server(whose),
        since(table.loop_.now()),
        timer(table.loop_) {
    held.charge(call.from->account);
    if (call.from->account) caller = Account::caller_of(call.from->account);
  }

  ParkTable& table_;
  const std::string id;
  ParkedCall call;
  const config::Server& server;
  const milliseconds since;
  net::Timer timer;
  AccountPtr caller;                // null: the gateway's only caller
  size_t bytes = 0;                 // counted in the table
  MemoryCharge held{Held::parked};  // `bytes` and those of its request
  // Bytes of the server's messages.
  size_t said() const {
    size_t sum = call.questions.bytes() + (call.answer ? call.answer->bytes().size() : 0);
    for (const mcp::Message& message : call.unheard)
      sum += message.bytes().size();
    return sum;
  }
  std::string_view route() const {
    return call.routed ? std::string_view(call.from->upstream) : std::string_view();
  }

 private:
  void on_call_phase(core::CallPhase) override {}
  void on_call_failed(const core::Failure& failure) override {
    // The transport ended it as its own limit would have (limits.maxParkedPerCaller).
    if (failure.reason == EndReason::timeout_park) {
      ++call.stats->park_timeouts;
      table_.on_cancel_(call, metrics::initiator_of(failure.reason));
      return table_.end(*this, failure.reason, StateFault::expired, failure.text);
    }
    table_.end(*this, failure.reason, StateFault::lost, "the call is gone: " + failure.text);
  }
  void on_call_message(mcp::Message&& message) override {
    switch (message.kind()) {
      case mcp::MessageKind::request: return question(std::move(message));
      case mcp::MessageKind::notification:
        if (mcp::method_of(message.method()) == Method::cancelled) return withdraw(message);
        return log::write(log::Level::info, "park.dropped",
                          {{"upstream", server.name},
                           {"route", route()},
                           {"call", call.from->call_id},
                           {"kind", "notification"}});
      default: return keep(std::move(message));
    }
  }
  void withdraw(const mcp::Message& cancelled) {
    call.questions.withdraw(cancelled);
    const std::string wanted = mcp::canonical_id(cancelled.raw(Field::params_request_id));
    std::erase_if(call.unheard,
                  [&](const mcp::Message& one) { return mcp::canonical_id(one.raw(Field::id)) == wanted; });
    table_.note_bytes(*this);
  }
  // Keeps the request for the next round, or refuses it if the client cannot answer it.
  void question(mcp::Message&& message) {
    auto needed = mcp::capability_for(message);
    const bool declared = needed && mcp::declares(call.from->capabilities, message);
    const bool room =
        call.questions.size() + call.unheard.size() < kMaxOpenQuestions &&
        table_.sums_[server.name].bytes + message.bytes().size() <= server.limits.max_parked_bytes;
    if (declared && room) {
      call.unheard.push_back(std::move(message));
      return table_.note_bytes(*this);
    }
    call.call->reply(
        mcp::error_message(message.raw(Field::id), declared ? mcp::kInternalError : mcp::kMethodNotFound,
                           declared ? "too many questions are open" : "this client cannot be asked"));
    if (!needed || declared) return;
    call.call->cancel("the client lacks the capability " + needed->name);
    auto error = mcp::Message::parse(mcp::missing_capability("0", *needed));
    if (error) keep(std::move(*error));
  }
  void keep(mcp::Message message) {
    if (table_.sums_[server.name].bytes + message.bytes().size() > server.limits.max_parked_bytes) {
      metrics::limit_reached(metrics::Limit::parked_bytes);
      return table_.end(
          *this, EndReason::ok, StateFault::lost,
          fmt::format("the call is over, and its result was too large to be kept: {} bytes for all "
                      "parked calls (limits.maxParkedBytes)",
                      server.limits.max_parked_bytes));
    }
    call.answer = std::move(message);
    table_.note_bytes(*this);
  }
};

ParkTable::ParkTable(net::Loop& loop, OnCancel on_cancel) : loop_(loop), on_cancel_(std::move(on_cancel)) {}

ParkTable::~ParkTable() = default;

std::optional<core::Failure> ParkTable::refuses(const config::Server& server, const ParkedCall& call) const {
  if (closed_) return core::Failure{EndReason::cancelled_drain, "the gateway is stopping"};
  auto found = sums_.find(server.name);
  static const Sum none;
  const Sum& sum = found == sums_.end() ? none : found->second;
  if (sum.calls >= server.limits.max_parked) {
    metrics::limit_reached(metrics::Limit::parked);
    return core::Failure{
        EndReason::queue_full,
        fmt::format("{} calls of {} wait for their clients' answers already (limits.maxParked)",
                    server.limits.max_parked, server.name)};
  }
  if (call.from->account) {
    const size_t most = Account::share_of(server.limits.max_parked);
    auto its = sum.callers.find(Account::caller_of(call.from->account).get());
    if (its != sum.callers.end() && its->second >= most) {
      metrics::limit_reached(metrics::Limit::max_principal_percent);
      return core::Failure{
          EndReason::queue_full,
          fmt::format("{} calls of this caller at {} wait for its answers already, its share "
                      "of limits.maxParked (listen.maxPrincipalPercent)",
                      most, server.name)};
    }
  }
  if (sum.bytes + call.questions.bytes() > server.limits.max_parked_bytes) {
    metrics::limit_reached(metrics::Limit::parked_bytes);
    return core::Failure{EndReason::queue_full,
                         fmt::format("what {} asked takes more than {} bytes (limits.maxParkedBytes)",
                                     server.name, server.limits.max_parked_bytes)};
  }
  return std::nullopt;
}

std::string ParkTable::park(ParkedCall call, const config::Server& server, milliseconds limit) {
  auto params = [&call] { return AskedWith(call.call->request_message(), call.asked_with).params(); };
  auto state = states_.make({call.from->principal, call.from->upstream, call.from->method_name, params},
                            loop_.now() + limit);
  auto parked = std::make_unique<Parked>(*this, state.id, std::move(call), server);
  Parked& one = *parked;
  one.call.call->hand_over(one, core::Handover::parked);
  one.timer.start(limit, [this, &one, limit] {
    ++one.call.stats->park_timeouts;
    cancel(one, EndReason::timeout_park, "its client did not come back with an answer");
    end(one, EndReason::timeout_park, StateFault::expired,
        fmt::format("the client did not come back within {} ms (lineward timeouts.park)", limit.count()));
  });
  Sum& sum = sums_[server.name];
  ++sum.calls;
  if (one.caller) ++sum.callers[one.caller.get()];
  note_bytes(one);
  parked_.emplace(state.id, std::move(parked));
  return state.text;
}

void ParkTable::cancel(Parked& parked, EndReason reason, std::string_view why) {
  if (!parked.call.call->live()) return;
  on_cancel_(parked.call, metrics::initiator_of(reason));
  parked.call.call->cancel({why, reason});
}

void ParkTable::note_bytes(Parked& parked) {
  const size_t before = std::exchange(parked.bytes, parked.said());
  sums_[parked.server.name].bytes += parked.bytes - before;
  parked.held.set(parked.bytes + parked.call.call->request_message().bytes().size() +
                  core::bytes_of(*parked.call.from));
}

std::unique_ptr<ParkTable::Parked> ParkTable::remove(const std::string& id) {
  auto found = parked_.find(id);
  if (found == parked_.end()) return nullptr;
  auto parked = std::move(found->second);
  parked_.erase(found);
  parked->timer.stop();
  Sum& sum = sums_[parked->server.name];
  --sum.calls;
  if (const Account* caller = parked->caller.get(); caller != nullptr && --sum.callers[caller] == 0)
    sum.callers.erase(caller);
  sum.bytes -= parked->bytes;
  return parked;
}

const ParkedCall* ParkTable::find(std::string_view state, std::string_view principal,
                                  const std::string& upstream, const AskedWith& retry) const {
  auto params = [&retry] { return retry.params(); };
  auto read = states_.read(state, {principal, upstream, retry.message.method(), params}, loop_.now());
  auto found = read.fault == StateFault::none ? parked_.find(read.id) : parked_.end();
  return found == parked_.end() ? nullptr : &found->second->call;
}

Result<ParkedCall, PastCall> ParkTable::take(std::string_view state, std::string_view principal,
                                             const std::string& upstream, const AskedWith& retry) {
  using Refused = Unexpected<PastCall>;
  auto params = [&retry] { return retry.params(); };
  auto read = states_.read(state, {principal, upstream, retry.message.method(), params}, loop_.now());
  if (read.fault == StateFault::none || read.fault == StateFault::expired) {
    auto past = past_.find(read.id);
    if (past != past_.end()) return Refused{past->second};
    if (read.fault == StateFault::none && parked_.count(read.id) == 0) read.fault = StateFault::lost;
  }
  if (read.fault != StateFault::none) return Refused{{read.fault, std::string(text_of(read.fault))}};
  auto parked = remove(read.id);
  ParkedCall call = std::move(parked->call);
  remember(read.id, {StateFault::used, std::string(text_of(StateFault::used)), parked->server.name});
  loop_.retire(std::move(parked));
  return Result<ParkedCall, PastCall>(std::move(call));
}

bool ParkTable::made(std::string_view state, std::string_view principal, const std::string& upstream,
                     const AskedWith& retry) const {
  auto params = [&retry] { return retry.params(); };
  auto read = states_.read(state, {principal, upstream, retry.message.method(), params}, loop_.now());
  return read.fault != StateFault::tampered && read.fault != StateFault::lost;
}

std::string ParkTable::digest_of(std::string_view principal, const std::string& upstream,
                                 const mcp::Message& retry) const {
  std::string digest;
  states_.read(
      retry.text(mcp::Field::params_request_state),
      {principal, upstream, retry.method(), [&] { return digest = RequestStates::digest_of(retry); }},
      loop_.now());
  return digest;
}

void ParkTable::end(Parked& parked, EndReason reason, StateFault fault, std::string why) {
  auto ended = remove(parked.id);
  if (!ended) return;
  log::write(log::Level::warn, "park.end",
             {{"upstream", ended->server.name},
              {"route", ended->route()},
              {"call", ended->call.from->call_id},
              {"method", log::Excerpt(ended->call.from->method_name, 100)},
              {"target", log::Excerpt(ended->call.from->target, 200)},
              {"reason", mcp::name(reason)},
              {"rounds", static_cast<int64_t>(ended->call.rounds)},
              {"parked_ms", (loop_.now() - ended->since).count()}});
  const core::ClientRequest& from = *ended->call.from;
  audit::record(audit::Kind::call,
                {{"call", from.call_id},
                 {"who", from.caller ? std::string_view(from.caller->name) : core::kAnonymous},
                 {"principal", from.caller ? std::string_view(from.caller->principal) : std::string_view()},
                 {"from", from.peer},
                 {"server", ended->server.name},
                 {"route", ended->route()},
                 {"method", from.method_name},
                 {"target", from.target},
                 {"era", mcp::name(from.era)},
                 {"end", mcp::name(reason)},
                 {"why", why},
                 {"sent", "yes"},
                 {"dur_ms", (loop_.now() - ended->since).count()}});
  remember(ended->id, {fault, std::move(why), ended->server.name});
  loop_.retire(std::move(ended));
}

void ParkTable::remember(const std::string& id, PastCall why) {
  if (past_order_.size() >= kMaxPast) {
    past_.erase(past_order_.front());
    past_order_.pop_front();
  }
  past_order_.push_back(id);
  past_[id] = std::move(why);
}

void ParkTable::close(std::string_view why) {
  closed_ = true;
  while (!parked_.empty()) {
    Parked& one = *parked_.begin()->second;
    cancel(one, EndReason::cancelled_drain, why);
    end(one, EndReason::cancelled_drain, StateFault::lost, std::string(why));
  }
}

size_t ParkTable::count_of(const core::Upstream& upstream) const {
  size_t count = 0;
  for (const auto& [id, parked] : parked_)
    count += parked->call.lease && &parked->call.lease.upstream() == &upstream ? 1 : 0;
  return count;
}

size_t ParkTable::count_routed_to(const std::string& server) const {
  size_t count = 0;
  for (const auto& [id, parked] : parked_)
    count += parked->call.routed && parked->server.name == server ? 1 : 0;
  return count;
}

void ParkTable::end_of(const ServerVersion& served, std::string_view why) {
  std::vector<Parked*> all;
  for (auto& [id, parked] : parked_) {
    if (parked->call.lease.get() == &served) all.push_back(parked.get());
  }
  end_all(all, EndReason::cancelled_drain, why);
}

void ParkTable::end_at(const std::string& server, std::string_view why) {
  std::vector<Parked*> all;
  for (auto& [id, parked] : parked_) {
    if (parked->server.name == server) all.push_back(parked.get());
  }
  end_all(all, EndReason::cancelled_operator, why);
}

void ParkTable::end_of_lease(const std::string& lease, std::string_view why) {
  std::vector<Parked*> all;
  for (auto& [id, parked] : parked_) {
    if (parked->call.from->lease == lease) all.push_back(parked.get());
  }
  end_all(all, EndReason::cancelled_client, why);
}

std::set<std::string> ParkTable::leases() const {
  std::set<std::string> out;
  for (const auto& [id, parked] : parked_) {
    if (!parked->call.from->lease.empty()) out.insert(parked->call.from->lease);
  }
  return out;
}

void ParkTable::end_all(const std::vector<Parked*>& all, EndReason reason, std::string_view why) {
  for (Parked* one : all) {
    cancel(*one, reason, why);
    end(*one, reason, StateFault::lost, std::string(why));
  }
}

// ---- views ----

std::vector<CallView> ParkTable::views() const {
  std::vector<CallView> out;
  for (const auto& [id, parked] : parked_) {
    CallView view;
    view.id = parked->call.from->call_id;
    view.upstream = parked->server.name;
    view.route = parked->route();
    view.method = parked->call.from->method_name;
    view.target = log::Excerpt(parked->call.from->target, 200).string();
    view.era = mcp::Era::modern;
    view.state = CallState::input;
    view.age = loop_.now() - parked->since;
    out.push_back(std::move(view));
  }
  return out;
}

bool ParkTable::cancel(const std::string& call_id, std::string_view why) {
  Parked* wanted = nullptr;
  for (const auto& [id, parked] : parked_) {
    if (parked->call.from->call_id == call_id) wanted = parked.get();
  }
  if (wanted == nullptr) return false;
  cancel(*wanted, EndReason::cancelled_operator, why);
  end(*wanted, EndReason::cancelled_operator, StateFault::lost, std::string(why));
  return true;
}

}  // namespace lineward::exchange
