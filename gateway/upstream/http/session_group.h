// A group of callers of an HTTP server that share one session with it: which calls wait and which are under
// way, what a session needs that takes the place of a lost one, and which of the calls a message belongs to
// that names none (behaviour.md 5 and 13).
//
// An HttpUpstream owns its groups, opens and closes their sessions, and retires a group that ends, because
// functions of it may be on the stack. A group never calls anybody but its session and the owner of its
// scope. Calls are plain pointers: each leaves its group before it is freed.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/intrusive_list.h"
#include "upstream/http/call_queue.h"
#include "upstream/http/http_call.h"
#include "upstream/http/http_session.h"
#include "upstream/http/reopen_pause.h"
#include "upstream/http/session_plan.h"
#include "upstream/shared/attribution.h"
#include "upstream/shared/legacy_facade.h"
#include "upstream/shared/wait_line.h"

namespace lineward::upstream {

class SessionGroup {
 public:
  // `listens`: those of its family, which outlive it.
  SessionGroup(net::Loop& loop, const config::Server& server, const SessionPlan& plan,
               LegacyListens& its_listens);
  SessionGroup(const SessionGroup&) = delete;
  SessionGroup& operator=(const SessionGroup&) = delete;

  const std::string key;
  const std::string family;  // the name of those of the same callers, which take turns
  const mcp::Era era;
  const bool listens_here;   // of the family's listens: it has a session while somebody listens
  const bool own_handshake;  // Lineward initialises it
  const bool per_call;       // ends with its one call
  const bool bridged;        // of one session, which is kept in front of several servers
  // The server keeps no sessions: its session has neither id nor handshake, and each call is its own.
  const bool plain;
  // Its callers can be asked: one call that may ask at a time, so that every question has an owner; none
  // for a while after a cancelled one.
  const bool exclusive;
  LegacyListens& listens;  // of its callers, on a legacy server
  LegacyFacade facade;

  // Null: there is none yet, or none any more.
  HttpSession* session() const { return session_.get(); }
  bool is_ready() const { return session_ && session_->is_ready(); }
  // `next` takes its place; gives back what stood there. Either may be null.
  std::unique_ptr<HttpSession> replace_session(std::unique_ptr<HttpSession> next);
  // Of a legacy client's session; null: none stands behind it, or it has gone.
  core::ScopeOwner* scope() const { return scope_; }
  void set_scope(core::ScopeOwner* scope) { scope_ = scope; }
  // Its callers' own headers that go on everything.
  const Headers& lasting() const { return lasting_; }
  // Its client does; else it cannot be told by 404 to initialise anew.
  bool sees_status() const { return sees_status_; }

  // Calls that wait for its session, and those that were sent and are not over.
  CallQueue<HttpCall>& queue() { return queue_; }
  void join(HttpCall& call);
  void sent(HttpCall& call);
  std::vector<HttpCall*> under_way() const { return calls_.all(); }

  // Somebody calls, listens, or may come back.
  bool is_busy() const { return has_calls() || is_listened() || scope_ != nullptr; }
  bool is_listened() const { return listens_here && !listens.empty(); }
  // Somebody calls, or a session is needed even while nobody does.
  bool wants_pump() const { return !queue_.empty() || (!session_ && (is_listened() || revive_)); }
  bool has_calls() const { return !calls_.empty() || !queue_.empty(); }
  // Does Lineward make a new session of its own accord when the server has lost this one?
  bool replays() const { return own_handshake || !sees_status_; }
  // A modern client's call on a legacy server.
  bool translates(const HttpCall& call) const;
  void used() { last_used_ = loop_.now(); }
  std::chrono::milliseconds last_used() const { return last_used_; }

  // A session takes its place now; its number is what a call remembers of it. One that replaced
  // another goes on with the opening of that.
  void opened();
  void replaced() { ++opened_; }
  uint64_t session_number() const { return opened_; }
  // When the next one may be opened.
  ReopenPause& reopening() { return reopening_; }
  // A new session is opened although nobody calls: its client may be told something there.
  void revive() { revive_ = facade.has_handshake(); }
  // What a client's own session was told: the next one is told again, and what it wants to hear of may have
  // changed where the server could not tell.
  void remember(const HttpCall& call);
  void replay();
  // Why a call that needs the session that was lost has failed.
  core::Failure session_over() const;

  // A call is over: for a while the server may still speak of it, and ask if it was one that may ask. True
  // when it may ask, and there are callers here who can be asked.
  bool note_over(const HttpCall& call);
  bool answered_lately() const { return late_askers_.any(loop_.now()); }
  // All of those that may ask and are over were this call's caller's.
  bool asked_by_none_but(const HttpCall& call) const {
    return late_askers_.none_but(CallerId(call.request), loop_.now());
  }
  // A cancelled call may be at work for a while, and ask.
  void keep_apart();
  // So long no call that may ask is sent.
  std::chrono::milliseconds apart_until() const { return apart_until_; }
  bool is_apart() const { return loop_.now() < apart_until_; }
  // No call is there, nor may one be at work, whose questions another could be taken for.
  bool takes_question() const;
  // A call that may ask is to be sent behind another. On its one stream an HTTP+SSE server answers a ping
  // after what it said before.
  void settle_turn();
  // The call that a question belongs to which came on no call's stream: the one during which the server may
  // ask; null when there are several, or some client's other request is there beside it.
  HttpCall* asking_call() const;
  // A call was cancelled: its server may be at work on it for a while.
  void left_unanswered(const HttpCall& call);
  // The call whose client was asked what this notification names (TransportCall::asked_what_is_named).
  HttpCall* asked_by(const mcp::Message& notification) const;
  // The call that a log line is for which names none: all that may be meant are its caller's. A cancelled
  // one may still be at work.
  HttpCall* owner_of_line() const;
  // What the server asked during a call that is over is refused.
  void refuse_open(HttpCall& call);

 private:
  net::Loop& loop_;
  const config::Server& server_;
  HeldBytes key_bytes_{Held::servers};
  std::chrono::milliseconds last_used_{0};
  std::chrono::milliseconds apart_until_{0};
  // Whose calls are over, and whose of those that may ask.
  LateCallers late_;
  LateCallers late_askers_;
  // So long one that may not ask, and was cancelled, may be at work.
  std::chrono::milliseconds others_until_{0};
  bool unsettled_ = false;  // one that may ask is over, and no ping was answered since
  uint64_t opened_ = 0;     // sessions so far
  bool revive_ = false;     // its client may be told something while it calls nothing
  ReopenPause reopening_;
  std::unique_ptr<HttpSession> session_;
  core::ScopeOwner* scope_ = nullptr;
  Headers lasting_;
  CallQueue<HttpCall> queue_;
  IntrusiveList<HttpCall> calls_;
  bool sees_status_ = true;
  friend class WaitLine<SessionGroup>;
  bool in_line = false;
};

}  // namespace lineward::upstream
