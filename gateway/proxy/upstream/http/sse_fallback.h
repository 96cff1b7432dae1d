// Detects whether an HTTP server speaks HTTP+SSE (2024-11-05 transports): a client's own `initialize` that
// Streamable HTTP refused is tried over it once (behaviour.md 8).
//
// Owned by an HttpUpstream, beside its groups and its era. If HTTP+SSE fails as well, the client gets the
// answer of Streamable HTTP.
#pragma once

#include "proxy/upstream/http/http_era_prober.h"
#include "proxy/upstream/http/session_groups.h"

namespace lineward::upstream {

class SseFallback {
 public:
  explicit SseFallback(const HttpParts& parts)
      : server_(parts.server),
        groups_(parts.groups),
        era_(parts.era),
        speaks_sse_(parts.server.type == config::ServerType::sse) {}
  SseFallback(const SseFallback&) = delete;
  SseFallback& operator=(const SseFallback&) = delete;

  // By configuration, or because a session detected it.
  bool speaks_sse() const { return speaks_sse_; }
  HttpSession::Transport transport() const {
    return speaks_sse_ ? HttpSession::Transport::http_sse : HttpSession::Transport::streamable_http;
  }
  void found();
  // The server behaves differently: it may have been replaced.
  void forget() { speaks_sse_ = false; }

  // A call that Streamable HTTP refused with this status may be at an HTTP+SSE server. `group`: the call's,
  // or null.
  bool may_try(const HttpCall& call, const SessionGroup* group, int status) const;
  // A client's own `initialize` was refused with another revision named: it is tried with that, once.
  bool finds_revision(HttpCall& call, const SessionGroup* group, const mcp::Message* answer,
                      const MessagesEnd& end) const;
  // Repeats that call, which is no longer in progress.
  void try_revision(HttpCall& call, SessionGroup& group);
  // Repeats the call over HTTP+SSE. It is no longer in progress; `refused`: the failure over Streamable HTTP.
  void try_again(HttpCall& call, SessionGroup& group, core::Failure refused);
  // The session could not be opened: ends the call that was tried over HTTP+SSE, if any.
  void failed(SessionGroup& group, const core::Failure& failure);

 private:
  const config::Server& server_;
  SessionGroups& groups_;
  const ServerEra& era_;
  bool speaks_sse_;
};

}  // namespace lineward::upstream
