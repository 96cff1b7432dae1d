// The caller groups of an HTTP server and their sessions. Finds and creates groups, tracks those with work,
// and closes unused ones. Opens a session when a group needs it, within `limits.maxSessions`, routes its
// messages to the client or call, and replaces it after a loss (behaviour.md 5, 11 and 14). Detects whether
// the server speaks HTTP+SSE.
//
// Owned by an HttpUpstream. A group that ends is removed first and retired last, because its functions may be
// on the stack. A session that has left its group may still deliver messages: only those that name a call are
// used.
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

class SessionGroups {
 public:
  explicit SessionGroups(const HttpParts& parts);
  SessionGroups(const SessionGroups&) = delete;
  SessionGroups& operator=(const SessionGroups&) = delete;

  // ---- groups ----

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
  // Ends the group's calls and its session, then removes and retires it.
  void close(SessionGroup& group, std::string_view why);
  // A modern client's listen on a legacy server is over.
  void close_listen(HttpCall& call);
  // Drops all groups and sessions without notification.
  void clear();
  // From here on a closed group ends its listens. Stops closing idle groups.
  void stop();

  // ---- groups with work ----

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

  // ---- sessions ----

  // Opens a session for the first waiting call, or for listens; Lineward or the client's own request
  // initialises it. False: one was lost just before, and the next has to wait.
  bool open(SessionGroup& group);
  // A session object without a handshake.
  HttpSession& open_session(SessionGroup& group, HttpSession::Transport transport);
  // The handshake failed before its first byte was sent: another session is opened elsewhere. False: there is
  // no other origin.
  bool open_elsewhere(HttpSession& session);
  // The same for a client's own `initialize`, which is no longer in progress.
  bool open_elsewhere(HttpCall& call, SessionGroup& group);
  // Sessions at drained and removed origins end when they have no calls. A client's own session stays at a
  // drained one.
  void leave_closed_origins();
  // The session is freed at the end of the turn. A group with listens or a pending replay gets another one.
  void close_session(SessionGroup& group);
  // Whether limits.maxSessions permits another session; ends the longest idle one if that makes room.
  bool has_session_room();
  // It has no session, and no origin has a connection free for one: on_freed() pumps.
  bool awaits_origin(const SessionGroup& group) const;
  // Whether the session is ready for the first waiting call; if not, prepares it.
  bool takes(SessionGroup& group, HttpCall& call);
  // Answers a call here that the server need not see, and removes it from the queue: server information, and
  // listens that the server does not know.
  bool answers(SessionGroup& group, HttpCall& call);

  // Whether the server keeps sessions, by its last answer to `initialize`; nullopt: unknown. If all workers
  // serve it, that of another one counts until this one has an answer.
  std::optional<bool> keeps_sessions() const;
  // The server has answered the `initialize` of this session.
  void note_answer_of(const HttpSession& session);
  // The server gave an id to a client without a session: from now on it keeps sessions.
  void note_id_given() { note_keeps(true); }
  // The server behaves differently: it may have been replaced.
  void forget_id_given() { note_keeps(std::nullopt); }

  // ---- a client's own `initialize` that was refused is tried once more (behaviour.md 8) ----

  // The server speaks HTTP+SSE (2024-11-05 transports): by configuration, or because a session detected it.
  bool speaks_sse() const { return speaks_sse_; }
  // The refusal names another revision, with which the call may be repeated. `group`: the call's, or null.
  bool finds_revision(HttpCall& call, const SessionGroup* group, const mcp::Message* answer,
                      const MessagesEnd& end) const;
  // Repeats that call, which is no longer in progress.
  void try_revision(HttpCall& call, SessionGroup& group);
  // A call that Streamable HTTP refused with this status may be at an HTTP+SSE server.
  bool may_try_sse(const HttpCall& call, const SessionGroup* group, int status) const;
  // Repeats the call over HTTP+SSE. It is no longer in progress; `refused`: the failure over Streamable HTTP,
  // which the client gets if HTTP+SSE fails as well.
  void try_sse(HttpCall& call, SessionGroup& group, core::Failure refused);

  // ---- events of sessions ----

  void on_session_ready(HttpSession& session);
  // Lineward's own handshake failed, or the connection for a client's own.
  void on_session_failed(HttpSession& session, const core::Failure& failure);
  void on_session_checked(HttpSession& session, HttpSession::Verdict verdict);
  // The server does not know this session any more.
  void on_session_lost(HttpSession& session);
  // The server speaks HTTP+SSE: later sessions will too.
  void on_sse_found();
  // The session may accept calls that it did not accept before.
  void on_session_free(HttpSession& session);
  // Notifications of the server while it had no stream are lost.
  void on_session_missed(HttpSession& session);
  // A server's request, or a notification that names no call. `call`: it arrived on this call's stream; null:
  // on the GET stream.
  void on_session_message(HttpSession& session, mcp::Message message, HttpCall* call);

 private:
  // Groups of the same callers, each with its own session: notifications of any of them go to the clients'
  // listens.
  struct Family {
    LegacyListens listens;
    size_t groups = 0;
  };
  void let_go_family(const std::string& name);
  void reap();
  bool is_full() const;

  // Null: the session has left its group.
  SessionGroup* group_of(const HttpSession& session);
  // Why no other session may be opened now.
  std::optional<core::Failure> refusal_of_another();
  // Closes the longest idle client session; false: none was idle long enough.
  bool reclaim();
  SessionGroup* unused_for_long() const;
  void leave_origin(SessionGroup& group);
  void open_again(HttpCall& call, SessionGroup& group, HttpSession::Transport transport);
  void end_refused(SessionGroup& group, const core::Failure& failure);
  void sse_lost(HttpSession& session, SessionGroup& group);
  void count_session(bool opened);
  void note_keeps(std::optional<bool> sessions);

  const HttpParts& parts_;
  net::Loop& loop_;
  const config::Server& server_;
  HttpCallTable& calls_;
  std::unordered_map<std::string, std::unique_ptr<Family>> families_;  // outlive their groups
  std::unordered_map<std::string, std::unique_ptr<SessionGroup>> groups_;
  ReadyQueue<SessionGroup> wanting_;
  std::optional<bool> keeps_sessions_;
  bool speaks_sse_;
  size_t sessions_ = 0;                 // number of groups with a session
  SessionGroup* found_last_ = nullptr;  // cache: usually the same group is needed again
  net::Timer reaper_;
  bool stopping_ = false;
};

}  // namespace lineward::upstream
