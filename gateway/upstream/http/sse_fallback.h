// Whether an HTTP server speaks HTTP+SSE (2024-11-05 transports), and how that is found out: a client's own
// `initialize` that Streamable HTTP refused is tried over it once (behaviour.md 8).
//
// Owned by an HttpUpstream, beside its groups and its era. When HTTP+SSE fails as well, the client gets what
// Streamable HTTP said.
#pragma once

#include "upstream/http/http_era_prober.h"
#include "upstream/http/session_groups.h"

namespace lineward::upstream {

class SseFallback {
 public:
  SseFallback(const config::Server& server, SessionGroups& groups, const ServerEra& era)
      : server_(server), groups_(groups), era_(era), speaks_sse_(server.type == config::ServerType::sse) {}
  SseFallback(const SseFallback&) = delete;
  SseFallback& operator=(const SseFallback&) = delete;

  // As far as is known: the configuration says so, or a session found it out.
  bool speaks_sse() const { return speaks_sse_; }
  HttpSession::Transport transport() const {
    return speaks_sse_ ? HttpSession::Transport::http_sse : HttpSession::Transport::streamable_http;
  }
  void found();
  // It behaves like another server than it was.
  void forget() { speaks_sse_ = false; }

  // A call that Streamable HTTP refused with this status may have met such a server. `group`: the call's, or
  // null.
  bool may_try(const HttpCall& call, const SessionGroup* group, int status) const;
  // A client's own `initialize` whose refusal names another revision is to be tried with that, once.
  bool finds_revision(HttpCall& call, const SessionGroup* group, const mcp::Message* answer,
                      const MessagesEnd& end) const;
  // Makes that call again. It is not under way any more.
  void try_revision(HttpCall& call, SessionGroup& group);
  // Makes the call again over HTTP+SSE. It is not under way any more; `refused`: what Streamable HTTP said.
  void try_again(HttpCall& call, SessionGroup& group, core::Failure refused);
  // No session came of it: ends the call that was to be tried, if that is why there was to be one.
  void failed(SessionGroup& group, const core::Failure& failure);

 private:
  const config::Server& server_;
  SessionGroups& groups_;
  const ServerEra& era_;
  bool speaks_sse_;
};

}  // namespace lineward::upstream
