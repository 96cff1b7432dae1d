// The interface to an MCP server: requests in, their messages out. Independent of transports and of the wire
// format of an era. Everything runs on one worker's thread.
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/base/result.h"
#include "protocol/mcp/end_reason.h"
#include "protocol/mcp/message.h"
#include "protocol/mcp/methods.h"
#include "protocol/mcp/revision.h"
#include "proxy/core/client_request.h"
#include "proxy/core/headers.h"
#include "proxy/core/plain_hop.h"
#include "proxy/core/portable_scopes.h"

namespace lineward::config {
struct Server;
}

namespace lineward::core {

// How an acknowledged listen was lost. It may be opened again. `flooded`: the server sent too much, so that
// its messages do not prove that the listen works.
enum class ListenLoss : uint8_t { none, broken, flooded };

// Why a call ended without an answer.
struct Failure {
  mcp::EndReason reason = mcp::EndReason::internal;
  // A plain sentence for the client, without secrets. If the server refused with a text of its own, that
  // text follows: bounded, printable and redacted (foundation/log/sanitize.h).
  std::string text;
  int64_t limit_ms = -1;        // the limit that was exceeded, if any
  HeaderFields headers = {};    // of the server's refusal, for the client: WWW-Authenticate, Retry-After
  int server_status = 0;        // the HTTP status of the server's refusal
  bool session_over = false;    // the server ended the client's session: the client gets 404
  int64_t retry_after_ms = -1;  // when a retry makes sense, if known
  int code = 0;                 // of the JSON-RPC error, if a policy set one; 0: that of the reason
  bool by_policy = false;       // refused by a plugin: a retry does not help
  int http_status = 0;          // of the answer to the client, if it differs from that of the reason
  std::string policy = {};      // with by_policy: the plugin's configured name
  // With by_policy, for a listen: the refused URIs and task ids, if only these were refused.
  std::vector<std::string> refused_parts = {};
  bool tries_used_up = false;  // for a listen: a lower layer has opened it again as often as it may
  ListenLoss listen_loss = ListenLoss::none;
  bool of_other_era = false;  // not sent: the server does not have the era set in `only_era`
  bool nothing_sent = false;  // of an HTTP request: not one byte of it was sent, so it may be repeated
  bool oversize = false;      // of an HTTP response: more than limits.maxMessageBytes
};
// For a configured server that an operator has taken out of service.
Failure not_in_service(const std::string& server);

enum class CallPhase : uint8_t {
  queued,       // waits for a free place
  at_capacity,  // likewise, for a process: the limit is reached and none can be stopped (instances)
  no_share,     // likewise: the free places are reserved for other callers (listen.maxPrincipalPercent)
  starting,     // waits for the server to start
  written       // the server has it, or the bytes are written and cannot be recalled
};

// The member of an aggregate that a call is routed to (proxy/aggregate/routed_call.h).
struct RoutedTo {
  const config::Server* server = nullptr;  // its configuration; valid while `lease` is held
  std::shared_ptr<void> lease;
  std::string target;  // tool, prompt or URI, under the member's own name
};
using RoutedPtr = std::shared_ptr<const RoutedTo>;

// Whether a call shares the request of another one.
enum class Coalesced : bool { no, yes };

// Callbacks of a call. Never called from within Upstream::start() or any method of Call.
class CallCallbacks {
 public:
  virtual void on_call_phase(CallPhase phase) = 0;
  // A message of this call, as the server sent it (with Lineward's ids). A result or an error is the last.
  // `message` must not alias the call: the owner may destroy the call while reading it.
  virtual void on_call_message(mcp::Message&& message) = 0;
  virtual void on_call_failed(const Failure& failure) = 0;
  // For a call to an aggregate: the member it is routed to; its limits apply from here on. Precedes all
  // messages of the server; called again if the call is repeated.
  virtual void on_call_routed(const RoutedPtr&) {}
  // The call is sent again (`retry`); its owner has received nothing of the first attempt.
  virtual void on_call_repeated() {}
  // `no` (the default): the request sent, or about to be sent, is this call's own. `yes`: the call shares the
  // request and the answer of another call. Implementations only record it, and must not end a call.
  virtual void on_call_request(Coalesced) {}

 protected:
  ~CallCallbacks() = default;
};

// The state of a call when its owner changes: a parked call does not count as in flight.
enum class Handover : bool { in_flight, parked };

// Why a call is cancelled: a text for the server, and the end reason of its exchange. Without an exchange
// (Lineward's own requests) the text alone is given.
struct CancelCause {
  // NOLINTBEGIN(google-explicit-constructor): the words alone are a cause
  CancelCause(std::string_view words, mcp::EndReason ends_as = mcp::EndReason::cancelled_client)
      : text(words), reason(ends_as) {}
  CancelCause(const std::string& words) : text(words) {}
  CancelCause(const char* words) : text(words) {}
  // NOLINTEND(google-explicit-constructor)
  std::string_view text;  // not kept by the callee
  mcp::EndReason reason = mcp::EndReason::cancelled_client;
};

// The known facts of a call and of the server that answers it.
struct CallFacts {
  const mcp::Message* request = nullptr;  // as passed to Upstream::start(); valid as long as the call
  std::string_view server_info = {};  // a legacy server's Implementation object; valid until the next event
  // The answering server is legacy, even if its upstream is modern or an aggregate.
  bool of_legacy_server = false;
  // The server has sent its final message, and a plugin of that server still holds it.
  bool has_answer = false;
  // For an answered call: the answer is the server's, not one that Lineward generated.
  bool is_from_server = true;
  // For an answered `initialize`: the server keeps a session. Without one it can send neither requests nor
  // notifications outside of a call.
  bool has_session = true;
};

// A request in progress. Destroying a live one cancels it as `internal` and counts a bug.
class Call {
 public:
  virtual ~Call() = default;
  // The only way to abandon a call. Sends nothing if the request was not sent or is already answered. The
  // owner gets no further callbacks.
  virtual void cancel(CancelCause why) = 0;
  virtual bool live() const = 0;
  // The answer to a request that the server sent during this call: a whole JSON-RPC message with the server's
  // id.
  virtual void reply(std::string message) = 0;
  // True stops reading the server's messages for this call, false resumes. Messages already read are still
  // delivered. Returns false if that would stop other calls too.
  virtual bool hold(bool) { return false; }
  bool pause() { return hold(true); }
  bool resume() { return hold(false); }
  // Callbacks go to `owner` from here on.
  virtual void hand_over(CallCallbacks& owner, Handover how) = 0;
  // The client retried the call with this request. That request's `_meta` (log level …) applies from here on.
  virtual void retried(mcp::Message request) = 0;
  virtual CallFacts call_facts() const = 0;
  const mcp::Message& request_message() const { return *call_facts().request; }
};

// Isolates one group of callers from all others on an upstream (behaviour.md 5).
struct Scope {
  std::string session;  // a legacy session's id; empty for modern clients
  std::string principal;
  std::string affinity;  // a modern client's state name, if the server keeps state under that name
  // For one message: its sender, if policies of a member of an aggregate need it.
  ClientRequestPtr by = {};
  // For a legacy session at an aggregate that has this upstream as a member: the session's id. From
  // open_scope() to close_scope() a legacy server reserves a process or a session for it.
  std::string bridged_session = {};
};

// The minimum level of log messages that a legacy session receives from a shared process. A legacy server has
// one level per process, so Lineward filters.
struct LogWish {
  std::string level;     // empty: not shared; the server filters
  bool is_said = false;  // the client has set it; otherwise it is the default
};

struct UpstreamRequest {
  mcp::Message message;
  mcp::Method method = mcp::Method::other;
  mcp::Era client_era = mcp::Era::modern;
  Scope scope;
  // The client sees the HTTP status of the answer: 404 makes it initialise anew after its session has ended.
  bool http_status_visible = true;
  // The client's HTTP headers that may be forwarded to an HTTP server (Mcp-Param-*, and those in
  // `forwardHeaders`).
  SharedFields headers;
  // A modern HTTP client has sent the headers that repeat its message (Mcp-Param-*). For all others Lineward
  // generates them if the server requires them.
  bool sends_param_headers = false;
  uint64_t tag = 0;  // the caller's correlation id, passed to ScopeCallbacks::on_scope_message
  // The client request that this is, or is a part of; null for Lineward's own requests.
  ClientRequestPtr from = {};
  // Sent by Lineward itself, and no client gets the answer: no policy applies.
  bool of_gateway = false;
  // The call is for a server of this era only. It waits until the era is known, and fails unsent if it is the
  // other one (Failure::of_other_era).
  std::optional<mcp::Era> only_era = {};
  // For a listen: the caller itself filters by its client's subscriptions. So a URI that the server grants
  // after the acknowledgement of the listen counts too; the first update of the URI shows the grant.
  bool takes_late_grants = false;
  bool reopens = false;  // a listen that was acknowledged and lost is opened again
  LogWish log_wish = {};
  uint64_t bytes_in = 0;  // size as the client sent it; 0: not sent by a client

  // Whether it is handled like a legacy session's request: it is one, or a listen kept for such a session.
  bool of_session() const { return client_era == mcp::Era::legacy || !scope.session.empty(); }
  bool on_stdio() const { return from && from->on_stdio(); }
  mcp::Wire wire() const { return from ? from->wire : mcp::Wire::http; }
  const AccountPtr& account() const {
    static const AccountPtr kNobody;
    return from ? from->account : kNobody;
  }
  std::optional<std::chrono::milliseconds> wait() const { return from ? from->wait : std::nullopt; }
};

// Callbacks for a legacy session: server messages that belong to no call.
class ScopeCallbacks {
 public:
  // A server's request, or a notification that names no call. `only_call`: the tag of the only call it can
  // belong to, if there is exactly one.
  virtual void on_scope_message(mcp::Message message, std::optional<uint64_t> only_call) = 0;
  // The process or session behind the scope is gone: its open requests to the client get no answer. The
  // client's session continues unless on_scope_ended() follows.
  virtual void on_scope_reset() = 0;
  // The server ended the session: the client must initialise anew. Called once.
  virtual void on_scope_ended() {}
  // Whether a client may still use the session. If so, its process is not given to a new caller, unless the
  // session is idle for long (unused_for) or the session's caller exceeds its share.
  virtual bool is_pinned() const { return true; }
  // Time since the client last called, sent anything or had a stream; nullopt: it has a stream now.
  virtual std::optional<std::chrono::milliseconds> unused_for() const { return std::nullopt; }
  // Time since the client closed the last of the connections that carried the session's requests; nullopt:
  // it may still be there (client::Session::abandoned_for).
  virtual std::optional<std::chrono::milliseconds> abandoned_for() const { return std::nullopt; }

 protected:
  ~ScopeCallbacks() = default;
};

// The state of an upstream, for operators and probes.
struct UpstreamStatus {
  // `idle`: nothing was started yet, and a call would start it (`start: onUse`).
  enum class State : uint8_t { starting, ready, draining, backoff, open, disabled, failed, idle, count_ };
  State state = State::starting;
  bool is_usable() const { return state == State::ready || state == State::idle; }
  std::string why;                     // for backoff, failed and idle; a readable text without secrets
  std::chrono::milliseconds limit{0};  // for `starting`: the time limit; for `backoff`: until the next
                                       // attempt
  std::string server;                  // the server's name, unmodified
  // The protocol versions offered to clients; nullopt while unknown.
  std::optional<std::vector<std::string>> versions = {};
  struct Process {
    pid_t pid = 0;
    uint32_t instance = 0;     // a small number, reused when free
    std::string session = {};  // the legacy session that has it for itself; a secret. Empty: none
  };
  std::vector<Process> processes;
  // An address of an HTTP server that has several (docs/origins.md). Numbers are those of all workers.
  struct Origin {
    enum class State : uint8_t { ready, slow_start, ejected, left_alone, draining, leaving, count_ };
    std::string name;  // host and port, or a socket's path
    State state = State::ready;
    std::chrono::milliseconds left{0};  // until the end of slow_start, ejected or left_alone
    uint32_t weight = 1;
    uint32_t in_flight = 0;
    uint32_t sessions = 0;
    uint64_t calls = 0, failures = 0, ejections = 0;  // since the start of Lineward
  };
  std::vector<Origin> origins = {};  // empty: it has one address
};

constexpr std::string_view name(UpstreamStatus::Origin::State state) {
  constexpr std::array<std::string_view, static_cast<size_t>(UpstreamStatus::Origin::State::count_)> kNames{
      "ready", "slow_start", "ejected", "left_alone", "draining", "leaving"};
  return kNames[static_cast<size_t>(state)];
}

// The phases before the call has a process or a place.
constexpr bool waits_in_line(CallPhase phase) {
  return phase == CallPhase::queued || phase == CallPhase::at_capacity || phase == CallPhase::no_share;
}

constexpr std::string_view name(UpstreamStatus::State state) {
  constexpr std::array<std::string_view, static_cast<size_t>(UpstreamStatus::State::count_)> kNames{
      "starting", "ready", "draining", "backoff", "open", "disabled", "failed", "idle"};
  return kNames[static_cast<size_t>(state)];
}

// The lists for which a server sends list_changed notifications.
struct Tells {
  bool tools = false, prompts = false, resources = false;
  bool any() const { return tools || prompts || resources; }
};

// The known facts of a server.
struct ServerFacts {
  std::optional<mcp::Era> era = {};  // nullopt while unknown
  // Whether it keeps sessions for legacy clients. If not, their requests are sent one by one without a
  // session in the scope. Nullopt while unknown.
  std::optional<bool> keeps_sessions = true;
  Tells tells = {};  // as far as a modern server has declared it
};

// The right to be one of the calls that a server has or that wait for it. Released when destroyed.
class WaitingPermit {
 public:
  virtual ~WaitingPermit() = default;
};

// Places for calls that wait in front of an upstream for another request to it. Such a call counts as one
// more queued call, and is refused as start() would refuse it. The upstream outlives the permit; its holder
// releases it right before start().
class PermitSource {
 public:
  virtual Result<std::unique_ptr<WaitingPermit>, Failure> wait_in_front(const UpstreamRequest& request) = 0;

 protected:
  ~PermitSource() = default;
};

// Requests without a message, at a server that keeps no sessions.
class HopSource {
 public:
  // Null: not possible now.
  virtual std::unique_ptr<Hop> hop(HopRequest request, HopListener& listener) = 0;

 protected:
  ~HopSource() = default;
};

// Optional parts of an upstream; null: it does not have this one.
struct UpstreamParts {
  PermitSource* permits = nullptr;
  HopSource* hops = nullptr;
  PortableScopes* portable = nullptr;  // null: sessions of this scope are local to this process
  // For Scope::bridged_session: all its requests are sent in the modern revision, so that it has no process
  // or session of its own. False while that is undecided.
  bool is_translated = false;
};

enum class UpstreamNotice : uint8_t {
  // Probe the server again if its state is unknown: for servers that must be ready before the first call.
  wake,
  // The configuration has changed in options that config::is_adjustable() names.
  reconfigured,
  // New calls go to another version of the server, or are refused. Running calls continue, and nothing is
  // kept ready any more. stop() follows when the calls are over.
  retired
};

class Upstream {
 public:
  explicit Upstream(std::string name) : name_(std::move(name)) {}
  virtual ~Upstream() = default;
  const std::string& name() const { return name_; }
  // Takes the request. Fails at once only if the queue is full.
  virtual Result<std::unique_ptr<Call>, Failure> start(UpstreamRequest&& request, CallCallbacks& owner) = 0;
  // Begins and ends a session. The owner must live from open_scope() to close_scope().
  virtual void open_scope(const Scope& scope, ScopeCallbacks& owner) = 0;
  virtual void close_scope(const Scope& scope) = 0;
  // A client's notification, or its answer to a server's request. Dropped if there is no process for it.
  // `headers`: the client's forwardable ones (as in UpstreamRequest).
  virtual void send(const Scope& scope, mcp::Era client_era, const mcp::Message& message,
                    const HeaderFields& headers) = 0;
  virtual ServerFacts facts() const = 0;
  std::optional<mcp::Era> era() const { return facts().era; }
  virtual UpstreamStatus status() const { return {}; }
  virtual UpstreamParts parts(const Scope&) { return {}; }
  virtual void notice(UpstreamNotice) {}
  // Ends everything; `done` is called once no process is left.
  virtual void stop(std::function<void()> done) = 0;

 private:
  const std::string name_;
};

}  // namespace lineward::core
