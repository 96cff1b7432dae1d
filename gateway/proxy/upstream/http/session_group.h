// A group of callers of an HTTP server that share one session with it. Holds the waiting and the sent calls,
// the state for a replacement session, and the attribution of messages that name no call (behaviour.md 5 and
// 14).
//
// An HttpUpstream owns its groups and opens and closes their sessions. It retires a group that ends, because
// its functions may be on the stack. A group calls only its session and the owner of its scope. Calls are
// plain pointers: each leaves its group before it is freed.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "config/config.h"
#include "foundation/base/intrusive_list.h"
#include "foundation/net/loop.h"
#include "proxy/upstream/http/http_call.h"
#include "proxy/upstream/http/http_session.h"
#include "proxy/upstream/shared/attribution.h"
#include "proxy/upstream/shared/caller_group.h"
#include "proxy/upstream/shared/caller_shares.h"
#include "proxy/upstream/shared/legacy_facade.h"
#include "proxy/upstream/shared/ready_queue.h"

namespace lineward::upstream {

// The group of a call, and how it is made. The groups are those of every transport (caller_group.h), split by
// credentials. If calls take turns, there are several groups side by side. Calls without a session share one.
struct SessionPlan : CallerGroup {
  SessionPlan() = default;
  explicit SessionPlan(CallerGroup group) : CallerGroup(std::move(group)) {}

  std::string family;        // if several groups take turns; empty: a single group
  bool listens_here = true;  // the first of them
  bool plain = false;
  // The number of groups that take turns with calls that allow server requests, each with its own key. 0: a
  // single group; its first caller has decided whether such calls take turns.
  uint32_t slots() const { return exclusive && most > 1 ? most : 0; }
};

class SessionPlanner {
 public:
  explicit SessionPlanner(const config::Server& server) : server_(server), grouping_(server) {
    stateless_.key = "modern";
  }

  // For a legacy client.
  SessionPlan plan(const core::Scope& scope) { return SessionPlan(grouping_.of_legacy(scope)); }
  // For a call to a server of this era. Fails if the client declares more capabilities than allowed.
  Result<SessionPlan, core::Failure> plan(const core::UpstreamRequest& request, mcp::Era era);
  // No state anywhere: all such calls share one queue and one constant plan.
  static bool is_stateless(const core::UpstreamRequest& request, mcp::Era era) {
    return !request.of_session() && era == mcp::Era::modern;
  }
  bool is_bridged(const core::Scope& scope) const { return grouping_.is_bridged(scope); }
  const SessionPlan& stateless() const { return stateless_; }

 private:
  const config::Server& server_;
  CallerGrouping grouping_;
  SessionPlan stateless_;
};

// The calls that wait for their group's session, in order: callers take turns. Plain pointers: a call is
// withdrawn before it is freed.
template <class Call>
class CallQueue {
 public:
  bool empty() const { return calls_.empty(); }
  size_t size() const { return calls_.size(); }
  // Null if the queue is empty.
  Call* first() const { return calls_.empty() ? nullptr : calls_.front(); }
  void join(Call& call) { join_by_turn(calls_, call); }
  // Puts a call first: it was tried, and must be sent before all others.
  void put_back(Call& call) { calls_.push_front(&call); }
  void take_first() { calls_.pop_front(); }
  void withdraw(Call& call) { std::erase(calls_, &call); }
  std::deque<Call*> take_all() { return std::exchange(calls_, {}); }
  // A copy, for callers that remove calls while iterating.
  std::deque<Call*> all() const { return calls_; }
  template <class Fits>
  bool any(Fits&& fits) const {
    for (const Call* call : calls_) {
      if (fits(*call)) return true;
    }
    return false;
  }

 private:
  std::deque<Call*> calls_;
};

// When a replacement for a lost session may be opened: after growing pauses (the server's `restart`), until
// open listens must be ended.
class ReopenPause {
 public:
  // For the first loss after a session that worked properly.
  enum class First : uint8_t { at_once, after_a_pause };

  ReopenPause(net::Loop& loop, const config::Server& server) : loop_(loop), server_(server), wake_(loop) {}
  ReopenPause(const ReopenPause&) = delete;
  ReopenPause& operator=(const ReopenPause&) = delete;

  // A session was opened.
  void opened() { opened_at_ = loop_.now(); }
  // A session was lost, or never opened. False: too many in a row.
  bool lost(First first);
  // A session is lost. `useful`: its server had answered in it. True: neither this one nor the one before was
  // useful.
  bool is_useless_again(bool useful) {
    useless_ = useful ? 0 : useless_ + 1;
    return useless_ > 1;
  }
  // True: none may be opened yet; `over` is called when one may.
  bool must_wait(std::function<void()> over);

 private:
  net::Loop& loop_;
  const config::Server& server_;
  std::chrono::milliseconds opened_at_{0};
  std::chrono::milliseconds not_before_{0};
  uint32_t losses_ = 0;   // in a row
  uint32_t useless_ = 0;  // in a row, before any answer in the session
  net::Timer wake_;
};

class SessionGroup {
 public:
  // `listens`: those of its family, which outlive it.
  SessionGroup(net::Loop& loop, const config::Server& server, const SessionPlan& plan,
               LegacyListens& its_listens);
  SessionGroup(const SessionGroup&) = delete;
  SessionGroup& operator=(const SessionGroup&) = delete;

  const std::string key;
  const std::string family;  // the groups of the same callers, which take turns
  const mcp::Era era;
  const bool listens_here;   // it serves the family's listens: it has a session while there are any
  const bool own_handshake;  // Lineward sends `initialize`
  const bool per_call;       // ends with its single call
  const bool bridged;        // for one session in front of several servers
  // The server keeps no sessions: the session object has neither id nor handshake, and each call stands
  // alone.
  const bool plain;
  // Its callers accept server requests: calls that allow them run one at a time, so that every request has an
  // owner. After a cancelled one there is a pause.
  const bool exclusive;
  LegacyListens& listens;  // of its callers, on a legacy server
  LegacyFacade facade;
  Attribution attribution;

  // Null: none yet, or none any more.
  HttpSession* session() const { return session_.get(); }
  bool is_ready() const { return session_ && session_->is_ready(); }
  // Replaces the session and returns the old one. Either may be null.
  std::unique_ptr<HttpSession> replace_session(std::unique_ptr<HttpSession> next);
  // For a legacy client's session; null: none, or it has ended.
  core::ScopeCallbacks* scope() const { return scope_; }
  void set_scope(core::ScopeCallbacks* scope) { scope_ = scope; }
  // Its callers' headers that are forwarded with everything.
  const Headers& lasting() const { return lasting_; }
  // Its client sees the HTTP status; otherwise a 404 cannot make it initialise anew.
  bool http_status_visible() const { return http_status_visible_; }

  // Origins at which its next session cannot be opened (Origin::bit).
  uint64_t tried = 0;

  // Waiting calls, and sent ones that are not over.
  CallQueue<HttpCall>& queue() { return queue_; }
  void join(HttpCall& call);
  void sent(HttpCall& call);
  std::vector<HttpCall*> under_way() const { return calls_.all(); }

  // It has calls or listens, or a client session.
  bool is_busy() const { return has_calls() || is_listened() || scope_ != nullptr; }
  bool is_listened() const { return listens_here && !listens.empty(); }
  // A call waits, or a session is needed even without calls.
  bool wants_pump() const {
    return !queue_.empty() || (!session_ && ((is_listened() && !is_reclaimed_) || revive_));
  }
  bool has_calls() const { return !calls_.empty() || !queue_.empty(); }
  // Whether Lineward opens a new session by itself when the server has lost this one.
  bool replays() const { return own_handshake || !http_status_visible_; }
  // A modern client's call on a legacy server.
  bool translates(const HttpCall& call) const;
  void used() { last_used_ = loop_.now(); }
  std::chrono::milliseconds last_used() const { return last_used_; }

  // The group got a session; calls store its number. replaced(): a session that replaces another during its
  // opening.
  void opened();
  void replaced() { ++opened_; }
  uint64_t session_number() const { return opened_; }
  // The pause before the next session.
  ReopenPause& reopening() { return reopening_; }
  // A new session is opened without a call: it may carry notifications for its client.
  void revive() { revive_ = facade.has_handshake(); }
  // Its session makes room for another one, and is not opened again for listens alone.
  void reclaimed() { is_reclaimed_ = true; }
  // State of a client's own session: the next session gets it again, and the client is notified that
  // subscribed data may have changed meanwhile.
  void remember(const HttpCall& call);
  void replay();
  // The failure of a call that lost its session.
  core::Failure session_over() const;

  // A cancelled call may keep running for a while, and cause requests.
  void keep_apart();
  // No call that allows server requests is sent before this time.
  std::chrono::milliseconds apart_until() const { return apart_until_; }
  bool is_apart() const { return loop_.now() < apart_until_; }
  // True: no call that could own a server request runs, or may still run.
  bool takes_question() const;
  // Before a call that allows server requests follows another. An HTTP+SSE server answers a ping on its
  // single stream after its earlier messages.
  void acquire_turn();
  // The calls that a message without an id may be for. `message`: see PossibleCalls.
  PossibleCalls possible(const mcp::Message& message) const;
  // Refuses the server's open requests of a call that is over.
  void refuse_open(HttpCall& call);

 private:
  net::Loop& loop_;
  const config::Server& server_;
  MemoryCharge key_bytes_{Held::servers};
  std::chrono::milliseconds last_used_{0};
  std::chrono::milliseconds apart_until_{0};
  uint64_t opened_ = 0;  // number of sessions so far
  bool is_reclaimed_ = false;
  bool revive_ = false;  // its client may get notifications while it makes no calls
  ReopenPause reopening_;
  std::unique_ptr<HttpSession> session_;
  core::ScopeCallbacks* scope_ = nullptr;
  Headers lasting_;
  CallQueue<HttpCall> queue_;
  IntrusiveList<HttpCall> calls_;
  bool http_status_visible_ = true;
  friend class ReadyQueue<SessionGroup>;
  bool in_line = false;
};

}  // namespace lineward::upstream
