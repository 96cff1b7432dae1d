// What becomes of calls when the server may have lost the session that they were made in (behaviour.md 11): a
// call that the server did not accept waits for what a ping shows, and is made again in a new session where
// Lineward may open one; a call that the server had accepted ends with an error.
//
// Owned by the HttpCallTable, which is its owner. A call that waits here stays in the table.
#pragma once

#include "upstream/http/http_call.h"
#include "upstream/http/http_parts.h"
#include "upstream/http/session_group.h"

namespace lineward::upstream {

class LostCallsOwner {
 public:
  // Takes a call out of the table; its place is free.
  virtual void left(HttpCall& call) = 0;
  virtual void finish(HttpCall& call, mcp::Message&& answer) = 0;
  virtual void fail(HttpCall& call, const core::Failure& failure) = 0;

 protected:
  ~LostCallsOwner() = default;
};

class LostCalls {
 public:
  LostCalls(const HttpParts& parts, LostCallsOwner& owner) : parts_(parts), owner_(owner) {}
  LostCalls(const LostCalls&) = delete;
  LostCalls& operator=(const LostCalls&) = delete;

  // The server has refused a call in a session. True: that may be because it has lost the session, and the
  // call is taken care of.
  bool takes(HttpCall& call, SessionGroup& group, const MessagesEnd& end);
  // The same for a call that it has answered with an error.
  bool takes(HttpCall& call, SessionGroup& group, const mcp::Message& answer, int status);
  // The group's session is lost and has left it.
  void lost(SessionGroup& group);
  // The session stands: calls that waited get what the server said.
  void kept(SessionGroup& group);

 private:
  bool may_renew(const HttpCall& call, const SessionGroup& group) const;
  void refused(HttpCall& call, SessionGroup& group);
  void again(HttpCall& call, SessionGroup& group);
  void said(HttpCall& call, HttpCall::Doubt doubt);
  void end(HttpCall& call, const core::Failure& failure);

  const HttpParts parts_;
  LostCallsOwner& owner_;
};

}  // namespace lineward::upstream
