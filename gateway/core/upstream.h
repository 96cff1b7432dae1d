// The MCP server as the rest of the gateway sees it: calls go in, their messages come back. Interfaces only;
// nothing here knows a transport or an era's wire form. Everything lives on one worker's thread.
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

#include "base/result.h"
#include "core/client_request.h"
#include "core/headers.h"
#include "core/plain_hop.h"
#include "core/portable_scopes.h"
#include "mcp/end_reason.h"
#include "mcp/message.h"
#include "mcp/methods.h"
#include "mcp/revision.h"

namespace lineward::config {
struct Server;
}

namespace lineward::core {

// Why a call ended without an answer.
struct Failure {
  mcp::EndReason reason = mcp::EndReason::internal;
  // One plain sentence for the client, without secrets. Where a server refused a request and said why in
  // words of its own, they stand behind the sentence: bounded, printable and redacted (log/printable.h).
  std::string text;
  int64_t limit_ms = -1;  // the limit that was broken, where there was one
  HeaderFields headers =
      {};                 // of the server's refusal that its client must see: WWW-Authenticate, Retry-After
  int server_status = 0;  // the HTTP status that the server refused it with
  bool session_over = false;    // the client's session ended with the server's: it is told 404
  int64_t retry_after_ms = -1;  // when another try makes sense, where that is known
  int code = 0;                 // of the JSON-RPC error, where a policy named one; 0: the reason's
  bool by_policy = false;       // a plugin refused it: trying again does not mend that
  int http_status = 0;          // of the answer to the client, where it is another one than the reason's
  std::string policy = {};      // with by_policy: the plugin's name, as it is configured
  // With by_policy, of a listen: the URIs and task ids that were refused, where it is they alone.
  std::vector<std::string> refused_parts = {};
  bool of_other_era = false;  // not sent: its server is not of the one era that it is for
};
// Of a server that is configured, and that nobody is led to: an operator took it out of service.
Failure not_in_service(const std::string& server);

enum class CallPhase : uint8_t {
  queued,    // waits for a free place
  no_room,   // likewise, for a process: as many run as may, and none of them is free to go (instances)
  no_share,  // likewise, where places are left for other callers only (listen.principalShare)
  starting,  // waits for its server to be up
  written    // the server has it (or its bytes are on their way and cannot be taken back)
};

// The one server among many that a call goes to (aggregate/routed_call.h).
struct RoutedTo {
  const config::Server* server = nullptr;  // its configuration; as long as the lease is held
  std::shared_ptr<void> lease;
  std::string target;  // tool, prompt or URI, as that server knows it
};
using RoutedPtr = std::shared_ptr<const RoutedTo>;

enum class Whose : uint8_t { own, anothers };

// Who awaits a call. Never called from inside Upstream::start() or any method of Call.
class CallOwner {
 public:
  virtual void on_call_phase(CallPhase phase) = 0;
  // A message that belongs to this call, as the server wrote it (its ids are ours). A result or an error is
  // the last. It must be no part of the call, which its owner may end before it has read all of it.
  virtual void on_call_message(mcp::Message&& message) = 0;
  virtual void on_call_failed(const Failure& failure) = 0;
  // Of a call to many servers as one: it goes to this one, whose limits it has from here on. Comes before
  // everything that the server says; again when the call is made again.
  virtual void on_call_routed(const RoutedPtr&) {}
  // It is made once more, since what came of it was nothing that its owner has heard of (`retry`).
  virtual void on_call_repeated() {}
  // From here on what the server has been sent, or is about to be, is this call's own request, as it is until
  // it is told otherwise, or another's, whose answer this call gets too. It is noted: no call ends in here.
  virtual void on_call_request(Whose) {}

 protected:
  ~CallOwner() = default;
};

// What becomes of a call whose owner changes: one that is parked takes no place in flight.
enum class Handover : bool { in_flight, parked };

// Why a call is given up: words for people on the server's side, and how the exchange ends for which it was
// made. Where no exchange ends, as of Lineward's own requests, the words alone are given.
struct CancelCause {
  // NOLINTBEGIN(google-explicit-constructor): the words alone are a cause
  CancelCause(std::string_view words, mcp::EndReason ends_as = mcp::EndReason::cancelled_client)
      : text(words), reason(ends_as) {}
  CancelCause(const std::string& words) : text(words) {}
  CancelCause(const char* words) : text(words) {}
  // NOLINTEND(google-explicit-constructor)
  std::string_view text;  // not kept by who is asked
  mcp::EndReason reason = mcp::EndReason::cancelled_client;
};

// One request on its way. Destroying a live one cancels it as `internal` and counts a bug.
class Call {
 public:
  virtual ~Call() = default;
  // The only way to give up on a call. Nothing is sent for what was not sent or has been answered; the owner
  // hears nothing more.
  virtual void cancel(CancelCause why) = 0;
  virtual bool live() const = 0;
  // The answer to a question the server asked during this call: a whole JSON-RPC message under the server's
  // id.
  virtual void reply(std::string message) = 0;
  // Stops reading what the server sends for this call. What was read already still comes. Both say whether
  // they can: false where it would stop others too.
  virtual bool pause() { return false; }
  virtual bool resume() { return false; }
  // From here on another hears of it.
  virtual void hand_over(CallOwner& owner, Handover how) = 0;
  // The request as it was given.
  virtual const mcp::Message& request_message() const = 0;
  // Its client came back with this retry of it: log level and whatever else the client wants count from here
  // on.
  virtual void retried(mcp::Message request) = 0;
  // A legacy server's Implementation object, JSON text; empty where there is none.
  virtual std::string server_info() const { return {}; }
  // Is the server that answers it a legacy one, though its upstream is modern or speaks for several?
  virtual bool of_legacy_server() const { return false; }
  // Its server has said its last word, which waits for a plugin of that server's own.
  virtual bool is_answered() const { return false; }
  // Of an answered call: the answer is the server's, and not Lineward's in its place.
  virtual bool is_servers_word() const { return true; }
  // Of an answered `initialize`: does the server keep a session? Without one it can neither ask nor tell
  // anything outside of a call.
  virtual bool has_session() const { return true; }
};

// Keeps one group of callers apart from all others on an upstream (behaviour.md 5).
struct Scope {
  std::string session;  // a legacy session's id; empty for modern clients
  std::string principal;
  std::string affinity;  // what a modern client calls its state, where the server keeps it by that
  // Of one message: who says it, where policies of one server among many may ask for it.
  ClientRequestPtr by = {};
};

// From which level on a legacy session hears of what its server logs, where others use the same process. It
// has no other way to say so: the server has one level for all of them.
struct LogWish {
  std::string level;     // empty: nobody shares it, and the server decides
  bool is_said = false;  // by its client; else it is what holds until one says something
};

struct CallRequest {
  mcp::Message message;
  mcp::Method method = mcp::Method::other;
  mcp::Era client_era = mcp::Era::modern;
  Scope scope;
  // The HTTP status of the answer reaches the client: 404 makes it initialise anew when its session is over.
  bool sees_status = true;
  // The client's own HTTP headers that may go on to an HTTP server (Mcp-Param-*, and what `forwardHeaders`
  // names).
  SharedFields headers;
  // A modern client over HTTP: it has made the headers that repeat its message (Mcp-Param-*) itself. For all
  // others Lineward makes them where the server wants them.
  bool mirrors_itself = false;
  uint64_t tag = 0;  // the caller's own name for this call, given back in ScopeOwner::on_scope_message
  // The client's request that it is, or is a part of; null where Lineward asks for itself.
  ClientRequestPtr from = {};
  // Lineward asks this itself, and no client sees the answer: no policy is about it.
  bool of_gateway = false;
  // It is for a server of this era alone: it waits until the server's is known, and fails unsent where that
  // is the other one (Failure::of_other_era).
  std::optional<mcp::Era> only_era = {};
  // Of a listen: who asks keeps its client's wishes itself, so that a URI which a server grants later than
  // the listen was acknowledged counts as well. It shows by its first update.
  bool takes_late_grants = false;
  LogWish log_wish = {};
  uint64_t bytes_in = 0;  // as the client sent it; 0: it sent no such request

  // Goes where a legacy session's requests go: it is one, or a listen that is kept for such a session.
  bool of_session() const { return client_era == mcp::Era::legacy || !scope.session.empty(); }
  bool on_stdio() const { return from && from->on_stdio(); }
  mcp::Wire wire() const { return from ? from->wire : mcp::Wire::http; }
  const AccountPtr& account() const {
    static const AccountPtr kNobody;
    return from ? from->account : kNobody;
  }
  std::optional<std::chrono::milliseconds> wait() const { return from ? from->wait : std::nullopt; }
};

// Who answers for a legacy session: gets what its server sends and no call claims.
class ScopeOwner {
 public:
  // A server's request, or a notification that names no call. `only_call` is the tag of the one call it can
  // belong to, where there is exactly one.
  virtual void on_scope_message(mcp::Message message, std::optional<uint64_t> only_call) = 0;
  // What stood behind the session can no longer be asked: its open questions have no answer. The session goes
  // on unless on_scope_ended() follows.
  virtual void on_scope_reset() = 0;
  // The server has ended the session behind this one: the client has to initialise anew. Told once.
  virtual void on_scope_ended() {}
  // Does a client stand behind it that may come back? Its process is not taken for a newcomer then, unless
  // the session is idle for long (unused_for), or its caller has more than its share.
  virtual bool is_lived_in() const { return true; }
  // For how long its client has neither called nor sent anything, nor had a stream; nothing: it has one now.
  virtual std::optional<std::chrono::milliseconds> unused_for() const { return std::nullopt; }

 protected:
  ~ScopeOwner() = default;
};

// How an upstream is, for people and probes.
struct UpstreamStatus {
  enum class State : uint8_t { starting, ready, draining, backoff, open, disabled, failed, count_ };
  State state = State::starting;
  std::string why;                     // of backoff and failed; of people's making, without secrets
  std::chrono::milliseconds limit{0};  // of `starting`: how long at most; of `backoff`: until the next try
  std::string server;                  // what it calls itself, as it came
  struct Process {
    pid_t pid = 0;
    uint32_t instance = 0;  // a small number, used again when it is free
  };
  std::vector<Process> processes;
};

// Before any process or place is anybody's.
constexpr bool waits_in_line(CallPhase phase) {
  return phase == CallPhase::queued || phase == CallPhase::no_room || phase == CallPhase::no_share;
}

constexpr std::string_view name(UpstreamStatus::State state) {
  constexpr std::array<std::string_view, static_cast<size_t>(UpstreamStatus::State::count_)> kNames{
      "starting", "ready", "draining", "backoff", "open", "disabled", "failed"};
  return kNames[static_cast<size_t>(state)];
}

// Of which lists a server tells when they change.
struct Tells {
  bool tools = false, prompts = false, resources = false;
  bool any() const { return tools || prompts || resources; }
};

// A place among the calls that a server has or that wait for it, until it is destroyed.
class WaitingPlace {
 public:
  virtual ~WaitingPlace() = default;
};

class Upstream {
 public:
  virtual ~Upstream() = default;
  virtual const std::string& name() const = 0;
  // Takes the request. Fails at once only when nothing can be queued any more.
  virtual Result<std::unique_ptr<Call>, Failure> start(CallRequest&& request, CallOwner& owner) = 0;
  // For a call that waits in front of this upstream, for something else that was asked of it: it is one more
  // in the queue, and fails where start() would find no place. The upstream outlives the place; whoever has
  // it gives it up right before start(). Null: calls are not counted here.
  virtual Result<std::unique_ptr<WaitingPlace>, Failure> wait_in_front(const CallRequest&) {
    return std::unique_ptr<WaitingPlace>();
  }
  // A session's life. Between the two, the owner must live.
  virtual void open_scope(const Scope& scope, ScopeOwner& owner) = 0;
  virtual void close_scope(const Scope& scope) = 0;
  // For sessions that other replicas may serve too; null where such a session is this process's alone.
  virtual PortableScopes* portable(const Scope&) { return nullptr; }
  // A notification, or the answer to a server's request, from a client. Dropped when there is no process for
  // it.
  virtual void forward(const Scope& scope, mcp::Era client_era, const mcp::Message& message) = 0;
  // A client's notification, with the headers of its own that may go on (as in CallRequest).
  virtual void notify(const Scope& scope, mcp::Era client_era, const mcp::Message& message,
                      const HeaderFields&) {
    forward(scope, client_era, message);
  }
  // What the server speaks, towards clients; nothing while that is not known.
  virtual std::optional<std::vector<std::string>> versions() const = 0;
  // Does it keep sessions for legacy clients? The requests of those go to one that does not each by itself,
  // with no session in their scope. Nothing while that is not known.
  virtual std::optional<bool> keeps_sessions() const { return true; }
  // A notification of a legacy client, where it keeps none.
  virtual void pass_notification(const mcp::Message&, const HeaderFields&) {}
  // A request without a message, where it keeps none; null: it cannot be asked that way.
  virtual std::unique_ptr<Hop> hop(HopRequest, HopListener&) { return nullptr; }
  // The era it speaks; nothing while that is not known.
  virtual std::optional<mcp::Era> era() const = 0;
  // As far as a modern server has said it.
  virtual Tells tells() const { return {}; }
  virtual UpstreamStatus status() const { return {}; }
  // Asks again whether it is there, when that is not known: for those that must be ready without being
  // called.
  virtual void wake() {}
  // The configuration it was made from has changed, in what config::is_adjustable() names.
  virtual void reconfigured() {}
  // Another form of it, or none, takes what is new: what it has goes on, and nothing is kept ready any more.
  // stop() follows when that is over.
  virtual void retire() {}
  // Ends everything; `done` is called once no process is left.
  virtual void stop(std::function<void()> done) = 0;
};

}  // namespace lineward::core
