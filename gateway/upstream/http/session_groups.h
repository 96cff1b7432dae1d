// The groups of callers of an HTTP server: finds and makes them, opens and closes the session of each within
// `limits.maxSessions`, knows which of them want something, and closes those that nobody uses.
//
// Owned by an HttpUpstream, which is its owner and outlives it. A group that ends is taken out first and
// retired last, because functions of it may be on the stack. What a session tells goes to the SessionOwner.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "net/loop.h"
#include "upstream/http/session_group.h"
#include "upstream/shared/wait_line.h"

namespace lineward::upstream {

class SessionGroupsOwner {
 public:
  // Ends what the group has under way, then takes it out and lets go of it.
  virtual void close_group(SessionGroup& group, std::string_view why) = 0;

 protected:
  ~SessionGroupsOwner() = default;
};

class SessionGroups {
 public:
  // `pump` is scheduled when a group wants something.
  SessionGroups(HttpPool& pool, HttpSubRequests& sub_requests, const config::Server& server,
                net::Deferred& pump, SessionGroupsOwner& owner);
  SessionGroups(const SessionGroups&) = delete;
  SessionGroups& operator=(const SessionGroups&) = delete;

  // Who hears their sessions; said once, before the first is opened.
  void use(SessionOwner& sessions) { session_owner_ = &sessions; }

  SessionGroup* find(const std::string& key);
  // Made if it is not there.
  SessionGroup& get(const SessionPlan& plan);
  // A legacy client's own.
  SessionGroup* of_client(const core::Scope& scope) { return find("session:" + scope.session); }
  // Whether the group of this plan is there or may be made; closes the one that was idle longest when that
  // makes room.
  bool has_room(const SessionPlan& plan);
  std::vector<std::string> keys() const;
  // The end of the first of their cancelled calls that may still ask; nothing when there is none.
  std::optional<std::chrono::milliseconds> next_apart() const;
  // As SessionGroupsOwner.
  void close(SessionGroup& group, std::string_view why) { owner_.close_group(group, why); }
  // Nobody finds it any more, and it wants nothing. Null: it is not here.
  std::unique_ptr<SessionGroup> take(SessionGroup& group);
  void let_go(std::unique_ptr<SessionGroup> taken);
  // All of them go, with their sessions, and nobody is told.
  void clear();
  // No group is closed for being idle any more.
  void stop() { reaper_.stop(); }

  // A session for the group, in the place of the one it may have.
  void open_session(SessionGroup& group, HttpSession::Transport transport);
  // It is freed at the end of the turn. Who listens, or must be told something, wants another one.
  void close_session(SessionGroup& group);
  // Every session that the server may have is there.
  bool is_full() const { return sessions_ >= server_.limits.max_sessions; }
  // The client's session that was idle longest, and long enough to give its place to another; null: none.
  SessionGroup* unused_for_long() const;

  // Whether the server keeps sessions, as its last answer to `initialize` showed; nothing: it has not shown
  // it.
  std::optional<bool> keeps_sessions() const { return keeps_sessions_; }
  // The server has answered the `initialize` of this session.
  void note_answer_of(const HttpSession& session);
  // It gave an id to a client that came without a session: from now on it keeps them.
  void note_id_given() { keeps_sessions_ = true; }
  // It behaves like another server than it was.
  void forget_id_given() { keeps_sessions_.reset(); }

  // Into the queue of the group.
  void join(SessionGroup& group, HttpCall& call);
  // The group may want a session, or a place for a call.
  void want(SessionGroup& group);
  // Something of it is over, or is there now. One that was for a single call is closed by the next
  // prune_line() if nothing is left to do; sooner, functions of it would be on the stack.
  void note_served(SessionGroup& group);
  // Those that do, and some that no longer do; prune_line() leaves those out.
  const WaitLine<SessionGroup>& wanting() const { return wanting_; }
  void prune_line();
  // Calls in their queues.
  size_t queued() const;

  // A modern client's listen on a legacy server is over.
  void close_listen(HttpCall& call);

 private:
  // Groups of the same callers, each with a session of its own: what their clients listen to is told by all.
  struct Family {
    LegacyListens listens;
    size_t groups = 0;
  };
  void let_go_family(const std::string& name);
  void reap();

  net::Loop& loop_;
  HttpPool& pool_;
  HttpSubRequests& sub_requests_;
  const config::Server& server_;
  SessionOwner* session_owner_ = nullptr;
  net::Deferred& pump_;
  SessionGroupsOwner& owner_;
  std::unordered_map<std::string, std::unique_ptr<Family>> families_;  // outlive their groups
  std::unordered_map<std::string, std::unique_ptr<SessionGroup>> groups_;
  WaitLine<SessionGroup> wanting_;
  std::optional<bool> keeps_sessions_;
  size_t sessions_ = 0;                 // so many groups have a session
  SessionGroup* found_last_ = nullptr;  // mostly it is the one that is wanted again
  net::Timer reaper_;
};

}  // namespace lineward::upstream
