// Finds the call or the session of a message that names no call, for every transport (behaviour.md 14). Such
// a message is a request, a log message or another notification of a legacy server.
//
// There is one for each process of a stdio server, and for each session with an HTTP server. It stores the
// callers of ended calls for `timeouts.cancelGrace`. It calls nothing and keeps no call: the transport passes
// the possible calls, and delivers the message.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "config/config.h"
#include "foundation/base/counted_string.h"
#include "foundation/net/loop.h"
#include "protocol/mcp/message.h"
#include "protocol/mcp/methods.h"
#include "proxy/core/upstream.h"
#include "proxy/upstream/shared/transport_call.h"

namespace lineward::upstream {

// The identity of a caller, as far as callers can be told apart.
class CallerId {
 public:
  explicit CallerId(const core::UpstreamRequest& request);
  CallerId() = default;

  // Two calls of unknown callers never have the same caller.
  bool is_same(const CallerId& other) const {
    return kind_ != Kind::unknown && kind_ == other.kind_ && name_ == other.name_;
  }

 private:
  friend class KeptCallerId;
  enum class Kind : uint8_t { unknown, session, principal, client_on_stdin, connection };
  Kind kind_ = Kind::unknown;
  std::string_view name_;  // refers into the request, and must not outlive it
};

// A copy that outlives the request.
class KeptCallerId {
 public:
  void keep(const CallerId& id) {
    kind_ = id.kind_;
    if (name_.text() != id.name_) name_.keep(std::string(id.name_));
  }
  CallerId id() const {
    CallerId id;
    id.kind_ = kind_;
    id.name_ = name_.text();
    return id;
  }

 private:
  CallerId::Kind kind_ = CallerId::Kind::unknown;
  CountedString name_{Held::servers};
};

// Callers with ended calls, and how long a message may be meant for them.
class LateCallers {
 public:
  using Time = std::chrono::milliseconds;
  // A call of this caller ended; until `until` a message may be meant for it.
  void ended(const CallerId& who, Time until, Time now) {
    if (now < until_ && !last_.id().is_same(who) && others_until_ < until_) others_until_ = until_;
    if (!last_.id().is_same(who)) last_.keep(who);
    until_ = until;
  }
  bool any(Time now) const { return now < until_; }
  Time until() const { return until_; }
  // Whether no caller is possible, or this one only.
  bool none_but(const CallerId& who, Time now) const {
    return now >= others_until_ && (now >= until_ || last_.id().is_same(who));
  }

 private:
  KeptCallerId last_;
  Time until_{0};
  Time others_until_{0};
};

// A call in flight, or cancelled and not over. Listens and Lineward's own requests are never possible.
struct PossibleCall {
  TransportCall* call;  // null: cancelled
  CallerId caller;
  bool asks;        // the server may send requests during it
  bool of_gateway;  // a call of Lineward's, not of a client
  static PossibleCall of(TransportCall& call) {
    return {&call, CallerId(call.request), mcp::may_ask(call.request.method), call.request.of_gateway};
  }
};

// The facts about all possible calls together.
class PossibleCalls {
 public:
  // `message`: may name a request that the server sent during one of them.
  explicit PossibleCalls(const mcp::Message* message = nullptr) : message_(message) {}
  // Called for each, oldest first.
  void add(const PossibleCall& possible);
  // The only one; null if there are several, or it was cancelled.
  TransportCall* only() const { return only_; }

 private:
  friend class Attribution;
  const mcp::Message* message_;
  size_t count_ = 0;
  size_t of_clients_ = 0;
  TransportCall* only_ = nullptr;
  TransportCall* asking_ = nullptr;  // the only one of a client, if it allows requests
  bool any_asks_ = false;
  TransportCall* newest_ = nullptr;  // of a client
  CallerId caller_;                  // of the last one
  bool several_callers_ = false;
  TransportCall* named_ = nullptr;  // the only one with the request that the message names
  bool several_named_ = false;
};

// The channel of a message, and its group of callers.
struct MessageOrigin {
  bool pipe = false;              // of a process; otherwise an HTTP server
  TransportCall* call = nullptr;  // on this call's stream; null: outside all calls' streams, or `pipe`
  bool bridged = false;           // CallerGroup::bridged
  bool scoped = false;            // a legacy client's session takes its messages
  bool exclusive = false;         // CallerGroup::exclusive
  bool apart = false;             // a call that allows requests was cancelled, and may still run
};

struct Addressee {
  enum class Kind : uint8_t {
    none,      // the message is dropped
    call,      // it is for this call
    session,   // it is for the client's session
    roots,     // the configured roots are its answer
    refused,   // a request without a client that could answer
    unwanted,  // a log message below the level of its call
  };
  Kind kind = Kind::none;
  TransportCall* call = nullptr;  // for a session: the only call that it can mean, or null
  // The server sent this request after the answer to its call.
  bool asks_late = false;
  // For ScopeCallbacks; Lineward's own calls have none.
  std::optional<uint64_t> tag() const {
    return call != nullptr && call->request.tag != 0 ? std::optional(call->request.tag) : std::nullopt;
  }
};

class Attribution {
 public:
  enum class End : uint8_t { over, cancelled };

  Attribution(net::Loop& loop, const config::Server& server) : loop_(loop), server_(server) {}

  Addressee of(const mcp::Message& message, const MessageOrigin& from, const PossibleCalls& calls) const;
  // The call of a modern server's notification: such a server sends all messages about a request before its
  // answer (2026-07-28). Null: dropped.
  static TransportCall* of_modern(const mcp::Message& notification, const PossibleCalls& calls);

  // The call is over, but the server may still send messages about it. `cancelled`: the call is no longer
  // among the possible calls, although the server may still work on it.
  void note_over(const PossibleCall& call, End end = End::over);
  // Until then a request of the server may belong to a call that is over and allowed requests.
  std::chrono::milliseconds asked_until() const { return late_askers_.until(); }
  bool asked_lately() const { return late_askers_.any(loop_.now()); }
  // Whether all calls that are over and allowed requests had the same caller as this one.
  bool asked_by_none_but(const TransportCall& call) const {
    return late_askers_.none_but(CallerId(call.request), loop_.now());
  }
  // Whether there is such a call, and no ping has confirmed yet that the server has finished it.
  bool is_unsettled() const { return unsettled_ && asked_lately(); }
  void settled() { unsettled_ = false; }

 private:
  TransportCall* of_notice(mcp::Method method, bool asks, const MessageOrigin& from,
                           const PossibleCalls& calls) const;
  Addressee of_question(mcp::Method method, const MessageOrigin& from, const PossibleCalls& calls) const;
  TransportCall* asking_call(bool exclusive, const PossibleCalls& calls) const;

  net::Loop& loop_;
  const config::Server& server_;
  // The callers of calls that are over, and of those that allowed requests.
  LateCallers late_;
  LateCallers late_askers_;
  // A cancelled call that allows no requests may run until then.
  std::chrono::milliseconds cancelled_until_{0};
  bool unsettled_ = false;
};

}  // namespace lineward::upstream
