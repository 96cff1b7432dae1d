// Parked calls: calls of modern clients in which a legacy server waits for an answer. The client sends the
// answer with its retry (behaviour.md 9). The table owns parked calls, and ends a call if its client does not
// retry in time.
//
// There is one per worker, owned by the exchange table. Bounded in calls and bytes per server.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "config/config.h"
#include "foundation/base/memory_charge.h"
#include "foundation/base/result.h"
#include "foundation/net/loop.h"
#include "proxy/core/upstream.h"
#include "proxy/exchange/call_log.h"
#include "proxy/exchange/question_round.h"
#include "proxy/exchange/request_state.h"
#include "proxy/exchange/server_directory.h"

namespace lineward::exchange {

// A call between two of its requests.
struct ParkedCall {
  ServerRef lease;  // outlives the call
  std::unique_ptr<core::Call> call;
  QuestionRound questions;             // open
  std::vector<mcp::Message> unheard;   // sent while no client request was open: no plugin has judged it yet
  std::optional<mcp::Message> answer;  // the server's answer, if the call ended meanwhile
  uint32_t rounds = 0;                 // input-required results so far that had new requests
  uint32_t repeats = 0;                // results since the last of these that only repeat unanswered requests
  std::chrono::milliseconds spent{0};  // of maxDuration
  core::ClientRequestPtr from;         // the request that was answered with the state
  core::RoutedPtr routed;              // at an aggregate: the member it goes to
  std::string asked_with;              // as AskedWith::digest
  metrics::UpstreamStats* stats = nullptr;
  uint64_t tag = 0;  // UpstreamRequest::tag at its upstream
};

// A client request, compared by its parameters with a parked call.
struct AskedWith {
  // NOLINTNEXTLINE(google-explicit-constructor): the message alone, if it is unchanged
  AskedWith(const mcp::Message& request, std::string_view before_plugins = {})
      : message(request), digest(before_plugins) {}
  // RequestStates::digest_of of the original request.
  std::string params() const {
    return digest.empty() ? RequestStates::digest_of(message) : std::string(digest);
  }

  const mcp::Message& message;
  std::string_view digest;  // of the client's parameters, if plugins may have changed them
};

// A parked call that a retry cannot continue, and why.
struct PastCall {
  StateFault fault = StateFault::none;
  std::string text;
  std::string server = {};  // of the call, if still known
};

class ParkTable {
 public:
  // `on_cancel` is called before each cancel by the table, for the call log and metrics.
  using OnCancel = std::function<void(const ParkedCall& call, metrics::CancelInitiator initiator)>;
  ParkTable(net::Loop& loop, OnCancel on_cancel);
  ~ParkTable();

  // Nullopt, or why no further call of this server can be parked.
  std::optional<core::Failure> refuses(const config::Server& server, const ParkedCall& call) const;
  // Takes ownership of the call and returns the state for its client. Call `refuses` first. `limit`: how long
  // the call waits.
  std::string park(ParkedCall call, const config::Server& server, std::chrono::milliseconds limit);
  // The parked call of this retry; null: none. Valid until the next call of the table.
  const ParkedCall* find(std::string_view state, std::string_view principal, const std::string& upstream,
                         const AskedWith& retry) const;
  // Hands the call over to its retry, once. The caller becomes the call's owner (Call::hand_over).
  Result<ParkedCall, PastCall> take(std::string_view state, std::string_view principal,
                                    const std::string& upstream, const AskedWith& retry);
  // Whether this state was made here, even if it is no longer valid.
  bool made(std::string_view state, std::string_view principal, const std::string& upstream,
            const AskedWith& retry) const;
  // AskedWith::digest of a retry if its state was made here for that principal and server; else empty.
  std::string digest_of(std::string_view principal, const std::string& upstream,
                        const mcp::Message& retry) const;
  // All workers of a process share these keys, so that each can recognise another's state.
  void use_states(const RequestStates& states) { states_ = states; }
  // Makes states that other replicas can attribute. Null: states are local to this process.
  void share_states(const std::shared_ptr<const SealKeys>& keys, std::string_view replica) {
    states_.share(keys, replica);
  }
  // Ends all; no call is parked from here on.
  void close(std::string_view why);
  // Ends the calls of a server version that is no longer served.
  void end_of(const ServerVersion& served, std::string_view why);
  // Ends the calls with this server, whatever their path: an operator stops it.
  void end_at(const std::string& server, std::string_view why);
  // Ends the calls of a shared gateway's client, which is gone.
  void end_of_lease(const std::string& lease, std::string_view why);
  // The clients of parked calls at a shared gateway (ClientRequest::lease).
  std::set<std::string> leases() const;
  size_t size() const { return parked_.size(); }
  size_t count_of(const core::Upstream& upstream) const;
  // The calls that an aggregate routed to this server.
  size_t count_routed_to(const std::string& server) const;
  // For operators: all parked calls, and the cancel of one. False if there is none with this call id.
  std::vector<CallView> views() const;
  bool cancel(const std::string& call_id, std::string_view why);

 private:
  class Parked;
  struct Sum {
    size_t calls = 0;
    size_t bytes = 0;
    std::unordered_map<const Account*, size_t> callers;  // calls of each account
  };
  void note_bytes(Parked& parked);
  void end_all(const std::vector<Parked*>& all, mcp::EndReason reason, std::string_view why);
  void cancel(Parked& parked, mcp::EndReason reason, std::string_view why);
  std::unique_ptr<Parked> remove(const std::string& id);
  // Ends a call here; a late retry is refused with `why`.
  void end(Parked& parked, mcp::EndReason reason, StateFault fault, std::string why);
  void remember(const std::string& id, PastCall why);

  net::Loop& loop_;
  OnCancel on_cancel_;
  RequestStates states_;
  std::unordered_map<std::string, std::unique_ptr<Parked>> parked_;  // by the id in their state
  std::unordered_map<std::string, Sum> sums_;                        // by server
  // Why the most recent parked calls ended.
  std::unordered_map<std::string, PastCall> past_;
  std::deque<std::string> past_order_;
  bool closed_ = false;
};

}  // namespace lineward::exchange
