// Calls of modern clients whose legacy server waits for an answer that the client brings with its retry
// (behaviour.md 9). A parked call belongs to this table; it ends here when its client does not come back in
// time.
//
// One per worker, owned by the exchange table. Bounded in calls and bytes per server.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/held_bytes.h"
#include "base/result.h"
#include "config/config.h"
#include "core/upstream.h"
#include "exchange/call_log.h"
#include "exchange/question_round.h"
#include "exchange/request_state.h"
#include "exchange/served.h"
#include "net/loop.h"

namespace lineward::exchange {

// A call between two of its requests.
struct ParkedCall {
  UpstreamLease lease;  // outlives the call
  std::unique_ptr<core::Call> call;
  QuestionRound questions;             // open
  std::vector<mcp::Message> unheard;   // asked while nobody was there: no plugin has judged it yet
  std::optional<mcp::Message> answer;  // it ended meanwhile: what its client gets
  uint32_t rounds = 0;                 // input-required results so far that asked something new
  uint32_t repeats = 0;                // those since the last of these, for what was not answered
  std::chrono::milliseconds spent{0};  // of maxDuration
  core::ClientRequestPtr from;         // the request whose answer said that it waits
  core::RoutedPtr routed;              // where that is the aggregate
  std::string asked_with;              // as AskedWith::digest
  core::UpstreamStats* stats = nullptr;
  uint64_t tag = 0;  // CallRequest::tag, by which its upstream knows it
};

// A request of a client by whose parameters a call is known again.
struct AskedWith {
  // NOLINTNEXTLINE(google-explicit-constructor): the message alone, where nobody has changed it
  AskedWith(const mcp::Message& request, std::string_view before_plugins = {})
      : message(request), digest(before_plugins) {}
  // RequestStates::digest_of of it.
  std::string params() const {
    return digest.empty() ? RequestStates::digest_of(message) : std::string(digest);
  }

  const mcp::Message& message;
  std::string_view digest;  // of the parameters that the client sent, where plugins may have changed them
};

// Why a retry cannot go on with its call.
struct StateRefusal {
  StateFault fault = StateFault::none;
  std::string text;
  std::string server = {};  // that the call was with, where that is still known
};

class ParkTable {
 public:
  // `cancelling` hears of each call that is about to be cancelled here, for people and metrics.
  using Cancelling = std::function<void(const ParkedCall& call, core::CancelInitiator initiator)>;
  ParkTable(net::Loop& loop, Cancelling cancelling);
  ~ParkTable();

  // Nothing, or why no further call of this server can be parked.
  std::optional<core::Failure> refuses(const config::Server& server, const ParkedCall& call) const;
  // Takes the call over; gives the state for its client. `refuses` was asked before. `limit`: how long it
  // waits.
  std::string park(ParkedCall call, const config::Server& server, std::chrono::milliseconds limit);
  // The parked call of this retry; null: there is none. Until the table is called again.
  const ParkedCall* find(std::string_view state, std::string_view principal, const std::string& upstream,
                         const AskedWith& retry) const;
  // A retry goes on with its call: once. The caller becomes the call's owner (Call::hand_over).
  Result<ParkedCall, StateRefusal> take(std::string_view state, std::string_view principal,
                                        const std::string& upstream, const AskedWith& retry);
  // Was this state made here, whatever it is good for?
  bool made(std::string_view state, std::string_view principal, const std::string& upstream,
            const AskedWith& retry) const;
  // AskedWith::digest of a retry whose state was made here for that principal and server; else empty.
  std::string digest_of(std::string_view principal, const std::string& upstream,
                        const mcp::Message& retry) const;
  // All workers of a process make states alike, so that each can tell whose one is.
  void use_states(const RequestStates& states) { states_ = states; }
  // States that other replicas can tell whose they are. Null: only this process's.
  void share_states(const std::shared_ptr<const SealKeys>& keys, std::string_view replica) {
    states_.share(keys, replica);
  }
  // Ends all; from here on none is parked.
  void close(std::string_view why);
  // Ends those of a form of a server that is no longer served.
  void end_of(const Served& served, std::string_view why);
  // Ends those that are with this server, by whatever path they came: an operator stops it.
  void end_at(const std::string& server, std::string_view why);
  size_t size() const { return parked_.size(); }
  size_t count_of(const core::Upstream& upstream) const;
  // Those that came to this server by the aggregate.
  size_t count_routed_to(const std::string& server) const;
  // For people: what is parked, and the end of one by an operator. Null or false where nothing of that name
  // is.
  std::vector<CallView> views() const;
  bool cancel(const std::string& call_id, std::string_view why);

 private:
  class Parked;
  struct Sum {
    size_t calls = 0;
    size_t bytes = 0;
    std::unordered_map<const Account*, size_t> callers;  // calls of each; those that have an account
  };
  void note_bytes(Parked& parked);
  void end_all(const std::vector<Parked*>& all, mcp::EndReason reason, std::string_view why);
  void cancel(Parked& parked, mcp::EndReason reason, std::string_view why);
  std::unique_ptr<Parked> remove(const std::string& id);
  // It ended here; a late retry is told why.
  void end(Parked& parked, mcp::EndReason reason, StateFault fault, std::string why);
  void remember(const std::string& id, StateRefusal why);

  net::Loop& loop_;
  Cancelling cancelling_;
  RequestStates states_;
  std::unordered_map<std::string, std::unique_ptr<Parked>> parked_;  // by the id in their state
  std::unordered_map<std::string, Sum> sums_;                        // by server
  // What became of the last ones.
  std::unordered_map<std::string, StateRefusal> past_;
  std::deque<std::string> past_order_;
  bool closed_ = false;
};

}  // namespace lineward::exchange
