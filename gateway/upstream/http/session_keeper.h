// The sessions of the groups of an HTTP server: opens one where a group needs it, hears what each of them
// tells, gives that to the client or the call that is meant, and sees to another one when it was lost
// (behaviour.md 5, 11 and 13).
//
// Owned by an HttpUpstream, beside its groups, which own the sessions. A session that is not its group's any
// more may still tell something: it is heard only where that names a call.
#pragma once

#include "upstream/http/http_call_table.h"
#include "upstream/http/http_parts.h"
#include "upstream/http/http_session.h"
#include "upstream/http/session_group.h"

namespace lineward::upstream {

class SessionKeeper final : public SessionOwner {
 public:
  SessionKeeper(const HttpParts& parts, HttpCallTable& calls)
      : parts_(parts), server_(parts.server), groups_(parts.groups), calls_(calls) {}
  SessionKeeper(const SessionKeeper&) = delete;
  SessionKeeper& operator=(const SessionKeeper&) = delete;

  // A session for the first call that waits, or for those who listen: initialised by us, or by the client's
  // own request. False: one was lost so lately that the next has to wait.
  bool open(SessionGroup& group);
  // Whether the session is there and may be given the first call that waits; sees to it that it will be.
  bool takes(SessionGroup& group, HttpCall& call);
  // What a session need not be asked is answered here, and the call leaves the queue: who its server is, and
  // the listens it does not know.
  bool answers(SessionGroup& group, HttpCall& call);

 private:
  // SessionOwner
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

  // Why there may be no other session now.
  std::optional<core::Failure> refusal_of_another();
  bool reclaim();
  // Null: it is not its group's any more.
  SessionGroup* group_of(const HttpSession& session) const;
  void sse_lost(HttpSession& session, SessionGroup& group);
  void notification(HttpSession& session, SessionGroup& group, mcp::Message message, HttpCall* call);

  const HttpParts parts_;
  const config::Server& server_;
  SessionGroups& groups_;
  HttpCallTable& calls_;
};

}  // namespace lineward::upstream
