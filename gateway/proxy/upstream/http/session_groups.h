// The caller groups of an HTTP server: finds and creates them, opens and closes their sessions within
// `limits.maxSessions`, tracks those with work, and closes unused ones.
//
// Owned by an HttpUpstream, which is its owner and outlives it. A group that ends is removed first and
// retired last, because its functions may be on the stack. Session events go to the SessionCallbacks.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "foundation/net/loop.h"
#include "proxy/upstream/http/http_parts.h"
#include "proxy/upstream/http/session_group.h"
#include "proxy/upstream/shared/ready_queue.h"

namespace lineward::upstream {

class SessionGroupsCallbacks {
 public:
  // Ends the group's calls, then removes and retires it.
  virtual void close_group(SessionGroup& group, std::string_view why) = 0;

 protected:
  ~SessionGroupsCallbacks() = default;
};

class SessionGroups {
 public:
  SessionGroups(const HttpParts& parts, SessionGroupsCallbacks& owner);
  SessionGroups(const SessionGroups&) = delete;
  SessionGroups& operator=(const SessionGroups&) = delete;

  // Receives the events of all sessions; set once, before the first is opened.
  void use(SessionCallbacks& sessions) { session_owner_ = &sessions; }

  SessionGroup* find(const std::string& key);
  // Creates the group if it does not exist.
  SessionGroup& get(const SessionPlan& plan);
  // The group of a legacy client's session.
  SessionGroup* of_client(const core::Scope& scope) { return find(CallerGrouping::key_of_session(scope)); }
  // Whether the group of this plan exists or may be created; closes the longest idle group if that makes
  // room.
  bool has_room(const SessionPlan& plan);
  std::vector<std::string> keys() const;
  // The earliest end of a pause after a cancelled call; nullopt: none.
  std::optional<std::chrono::milliseconds> next_apart() const;
  // As SessionGroupsCallbacks.
  void close(SessionGroup& group, std::string_view why) { owner_.close_group(group, why); }
  // Removes a group without retiring it; it has no work any more. Null: unknown.
  std::unique_ptr<SessionGroup> take(SessionGroup& group);
  void let_go(std::unique_ptr<SessionGroup> taken);
  // Drops all groups and sessions without notification.
  void clear();
  // Stops closing idle groups.
  void stop() { reaper_.stop(); }

  // Opens a session for the group, replacing any old one.
  void open_session(SessionGroup& group, HttpSession::Transport transport);
  // The session is freed at the end of the turn. A group with listens or a pending replay gets another one.
  void close_session(SessionGroup& group);
  // limits.maxSessions is reached.
  bool is_full() const { return sessions_ >= server_.limits.max_sessions; }
  // The longest idle client session, if idle long enough to be closed for another; null: none.
  SessionGroup* unused_for_long() const;

  // Whether the server keeps sessions, by its last answer to `initialize`; nullopt: unknown.
  std::optional<bool> keeps_sessions() const { return keeps_sessions_; }
  // The server has answered the `initialize` of this session.
  void note_answer_of(const HttpSession& session);
  // The server gave an id to a client without a session: from now on it keeps sessions.
  void note_id_given() { keeps_sessions_ = true; }
  // The server behaves differently: it may have been replaced.
  void forget_id_given() { keeps_sessions_.reset(); }

  // Adds the call to the queue of the group.
  void join(SessionGroup& group, HttpCall& call);
  // The group may need a session, or a place for a call.
  void want(SessionGroup& group);
  // A call or listen of the group is over, or a session is ready. If a group for a single call has nothing
  // left to do, the next prune_line() closes it; doing so here would destroy functions on the stack.
  void note_served(SessionGroup& group);
  // Groups with work, and some without; prune_line() removes the latter.
  const ReadyQueue<SessionGroup>& wanting() const { return wanting_; }
  void prune_line();
  // Calls in all queues.
  size_t queued() const;

  // A modern client's listen on a legacy server is over.
  void close_listen(HttpCall& call);

 private:
  // Groups of the same callers, each with its own session: notifications of any of them go to the clients'
  // listens.
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
  SessionCallbacks* session_owner_ = nullptr;
  net::Deferred& pump_;
  SessionGroupsCallbacks& owner_;
  std::unordered_map<std::string, std::unique_ptr<Family>> families_;  // outlive their groups
  std::unordered_map<std::string, std::unique_ptr<SessionGroup>> groups_;
  ReadyQueue<SessionGroup> wanting_;
  std::optional<bool> keeps_sessions_;
  size_t sessions_ = 0;                 // number of groups with a session
  SessionGroup* found_last_ = nullptr;  // cache: usually it is wanted again
  net::Timer reaper_;
};

}  // namespace lineward::upstream
