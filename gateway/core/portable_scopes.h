// Legacy sessions that any replica can serve (docs/replicas.md): all of their state is with the HTTP server,
// and what it takes to go on with one fits into its id.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/headers.h"

namespace lineward::core {

struct Scope;
class ScopeOwner;

// What another replica needs.
struct ScopeState {
  std::string server_session;  // the server's own id for it; empty: the server keeps none
  std::string revision;        // negotiated
  // ClientRequest::authorization of the `initialize` that opened it. Nothing: it is not known, and nobody
  // speaks in it before the server has answered a request.
  std::optional<uint64_t> authorization;
};

// A session that is shared has no end here: forgetting it tells the server nothing, and the server's stream
// outside of calls is open only where the client's is, since servers allow one.
class PortableScopes {
 public:
  // The session was initialised by its own client. Nothing: it can be served here alone. From here on it may
  // be served elsewhere too.
  virtual std::optional<ScopeState> share_scope(const Scope& scope) = 0;
  // Goes on with a session that another replica shared. The owner must live until it is closed or left. False
  // when that cannot be here.
  virtual bool adopt_scope(const Scope& scope, ScopeOwner& owner, const ScopeState& state) = 0;
  // The client has a stream here; it has none any more. `headers`: its own that may go on to the server.
  virtual void open_stream(const Scope& scope, const HeaderFields& headers) = 0;
  virtual void close_stream(const Scope& scope) = 0;
  // Called once, never from inside, when the server has taken `notifications/initialized`, or will not any
  // more: what another replica sends must not be there before it.
  virtual void when_settled(const Scope& scope, std::function<void()> done) = 0;
  // Instead of close_scope(): the session lives on elsewhere.
  virtual void leave_scope(const Scope& scope) = 0;

 protected:
  ~PortableScopes() = default;
};

}  // namespace lineward::core
