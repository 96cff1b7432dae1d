// Legacy sessions that any replica can serve (docs/replicas.md). All their state is on the HTTP server; the
// session id carries what a replica needs to continue one. An interface, because exchange/ knows no transport
// and only upstream/http has such sessions.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "proxy/core/headers.h"

namespace lineward::core {

struct Scope;
class ScopeCallbacks;

// The state that another replica needs.
struct ScopeState {
  std::string server_session;  // the server's session id; empty: the server keeps none
  std::string revision;        // negotiated
  // ClientRequest::authorization of the `initialize` that opened it. Nullopt: unknown; no other request is
  // sent in the session until the server has answered one.
  std::optional<uint64_t> authorization;
};

// The outcome for a session that another replica shared. `full`: limits.maxSessions is reached.
enum class Adoption : uint8_t { done, refused, full };

// A shared session does not end here: forgetting it sends nothing to the server. The server's stream outside
// of calls is open only on the replica that has the client's stream, since servers allow one.
class PortableScopes {
 public:
  // The client has initialised the session: from here on other replicas may serve it too. Nullopt: only this
  // replica can serve it.
  virtual std::optional<ScopeState> share_scope(const Scope& scope) = 0;
  // Continues a session that another replica shared. The owner must live until the session is closed or left.
  virtual Adoption adopt_scope(const Scope& scope, ScopeCallbacks& owner, const ScopeState& state) = 0;
  // The client opened, or closed, a stream here. `headers`: of the client, filtered for forwarding.
  virtual void open_stream(const Scope& scope, const HeaderFields& headers) = 0;
  virtual void close_stream(const Scope& scope) = 0;
  // `done` is called once, never before this returns, when the server has accepted
  // `notifications/initialized` or no longer will. Messages from other replicas must not reach the server
  // before it.
  virtual void when_settled(const Scope& scope, std::function<void()> done) = 0;
  // Instead of close_scope(): the session continues on another replica.
  virtual void leave_scope(const Scope& scope) = 0;

 protected:
  ~PortableScopes() = default;
};

}  // namespace lineward::core
