// Manages the sessions of an HTTP server's groups. Opens one when a group needs it, routes its messages to
// the client or call, and replaces it after a loss (behaviour.md 5, 11 and 13).
//
// Owned by an HttpUpstream, beside its groups, which own the sessions. A session that has left its group may
// still deliver messages: only those that name a call are used.
#pragma once

#include "proxy/upstream/http/http_call_table.h"
#include "proxy/upstream/http/http_parts.h"
#include "proxy/upstream/http/http_session.h"
#include "proxy/upstream/http/session_group.h"

namespace lineward::upstream {

class SessionKeeper final : public SessionCallbacks {
 public:
  explicit SessionKeeper(const HttpParts& parts)
      : parts_(parts), server_(parts.server), groups_(parts.groups), calls_(parts.calls) {}
  SessionKeeper(const SessionKeeper&) = delete;
  SessionKeeper& operator=(const SessionKeeper&) = delete;

  // Opens a session for the first waiting call, or for listens; Lineward or the client's own request
  // initialises it. False: one was lost just before, and the next has to wait.
  bool open(SessionGroup& group);
  // Whether the session is ready for the first waiting call; if not, prepares it.
  bool takes(SessionGroup& group, HttpCall& call);
  // Answers a call here that the server need not see, and removes it from the queue: server information, and
  // listens that the server does not know.
  bool answers(SessionGroup& group, HttpCall& call);

 private:
  // SessionCallbacks
  int64_t next_id() override;
  core::Failure failure_of(const MessagesEnd& end) override;
  void on_session_ready(HttpSession& session) override;
  void on_session_revision(std::string_view revision) override;
  void on_session_failed(HttpSession& session, const core::Failure& failure) override;
  void on_session_checked(HttpSession& session, SessionCheck::Verdict verdict) override;
  void on_session_lost(HttpSession& session) override;
  void on_session_speaks_sse() override;
  void on_session_free(HttpSession& session) override;
  void on_session_missed(HttpSession& session) override;
  void on_session_message(HttpSession& session, mcp::Message message, HttpCall* call) override;
  void on_session_stray(HttpSession& session, mcp::Message message) override {
    calls_.stray(session, std::move(message));
  }
  void on_session_broken(HttpSession& session, const mcp::MessageFault& fault) override {
    calls_.broken(session, fault);
  }

  // Why no other session may be opened now.
  std::optional<core::Failure> refusal_of_another();
  bool reclaim();
  // Null: the session has left its group.
  SessionGroup* group_of(const HttpSession& session) const;
  void sse_lost(HttpSession& session, SessionGroup& group);
  void to_bridged(HttpSession& session, SessionGroup& group, mcp::Message message, HttpCall* call);
  void notification(HttpSession& session, SessionGroup& group, mcp::Message message, HttpCall* call);

  const HttpParts& parts_;
  const config::Server& server_;
  SessionGroups& groups_;
  HttpCallTable& calls_;
};

}  // namespace lineward::upstream
