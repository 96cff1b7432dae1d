// Handles calls when the server may have lost their session (behaviour.md 11). A call that the server did not
// accept waits for the result of a ping. It is repeated in a new session if Lineward may open one. A call
// that the server had accepted ends with an error.
//
// Owned by the HttpCallTable, which is its owner. A waiting call stays in the table.
#pragma once

#include "proxy/upstream/http/http_call.h"
#include "proxy/upstream/http/http_parts.h"
#include "proxy/upstream/http/session_group.h"

namespace lineward::upstream {

class LostCallsCallbacks {
 public:
  // Removes a call from the table; its place is free.
  virtual void left(HttpCall& call) = 0;
  virtual void finish(HttpCall& call, mcp::Message&& answer) = 0;
  virtual void fail(HttpCall& call, const core::Failure& failure) = 0;

 protected:
  ~LostCallsCallbacks() = default;
};

class LostCalls {
 public:
  LostCalls(const HttpParts& parts, LostCallsCallbacks& owner) : parts_(parts), owner_(owner) {}
  LostCalls(const LostCalls&) = delete;
  LostCalls& operator=(const LostCalls&) = delete;

  // The server has refused a call in a session. True: the session may be lost, and the call is handled here.
  bool takes(HttpCall& call, SessionGroup& group, const MessagesEnd& end);
  // The same for a call that was answered with an error.
  bool takes(HttpCall& call, SessionGroup& group, const mcp::Message& answer, int status);
  // The group's session is lost and has left it.
  void lost(SessionGroup& group);
  // The session still exists: waiting calls get the server's reply.
  void kept(SessionGroup& group);

 private:
  bool may_renew(const HttpCall& call, const SessionGroup& group) const;
  void refused(HttpCall& call, SessionGroup& group);
  void again(HttpCall& call, SessionGroup& group);
  void said(HttpCall& call, HttpCall::Doubt doubt);
  void end(HttpCall& call, const core::Failure& failure);

  const HttpParts parts_;
  LostCallsCallbacks& owner_;
};

}  // namespace lineward::upstream
