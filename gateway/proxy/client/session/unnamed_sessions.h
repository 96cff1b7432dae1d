// Finds the session of a legacy client that names none (`sessions.missing: adopt`, docs/isolation.md). It is
// the session last opened on its connection for that server, else the one last opened by its principal. An
// anonymous client is found by its connection alone, and only with the credentials that opened the session. A
// proxy may share a connection among clients without announcing it: once detected, the connection identifies
// no session (proxy/client/http/proxy_signs.h).
//
// Clients that never return an id must leave nothing behind. A session that served requests without an id
// ends with the connection or principal that led to it. It also ends when newer sessions have replaced it for
// both. A session that served none may still be named by its client, on any connection; most are, right after
// the answer to `initialize`. A session not named within a moment is kept for a while, and its process may be
// reused.
//
// Owned by the SessionDirectory. Sessions are referred to by id here; they may end at any time.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "foundation/net/loop.h"
#include "proxy/client/session/session.h"

namespace lineward::client {

class UnnamedSessions {
 public:
  // The number of kept sessions that no client named.
  static constexpr size_t kMaxForsaken = 256;
  struct Patience {
    // The minimum time in which a client can name its session before it is taken for gone.
    std::chrono::milliseconds unclaimed{2000};
    std::chrono::milliseconds forsaken{60000};  // after that
  };

  // `end` ends a session; it is called from the loop, never synchronously.
  UnnamedSessions(net::Loop& loop, SessionTable& sessions, std::function<void(const std::string& id)> end)
      : UnnamedSessions(loop, sessions, std::move(end), Patience()) {}
  UnnamedSessions(net::Loop& loop, SessionTable& sessions, std::function<void(const std::string& id)> end,
                  Patience patience)
      : loop_(loop), sessions_(sessions), end_(std::move(end)), patience_(patience), timer_(loop) {}
  UnnamedSessions(const UnnamedSessions&) = delete;
  UnnamedSessions& operator=(const UnnamedSessions&) = delete;

  using Connection = const void*;  // used as a key only
  // The session was opened on this connection; null: the connection does not identify the caller.
  // `credentials`: a digest of the client's own headers that are forwarded to the server.
  void opened(Connection connection, Session& session, size_t credentials);
  // Its client has sent the id: it is an ordinary session from now on, and only that client's.
  void named(Session& session);
  // The session meant by the request, or null.
  Session* find(Connection connection, const std::string& principal, const std::string& server,
                size_t credentials);
  void client_left(Connection connection) { end_sessions_of(connection, Ends::at_once); }
  // Several callers share it: it identifies none of their sessions any more.
  void connection_shared(Connection connection) { end_sessions_of(connection, Ends::when_idle); }

  size_t remembered() const {
    return by_connection_.size() + by_principal_.size() + unclaimed_.size() + forsaken_.size();
  }

 private:
  static std::string key(const std::string& principal, const std::string& server) {
    return principal + '\n' + server;
  }
  void replaced(const std::string& id);
  bool is_of_principal(const Session& session) const;
  // Only its id leads to it: it ends after its calls, or at once together with their output.
  enum class Ends : bool { when_idle, at_once };
  void end_sessions_of(Connection connection, Ends ends);
  void end_unless_named(const std::string& id, Ends ends);
  void await_claim(Session& session);
  void look_for_claims();
  void end_later(std::string id);
  void sweep();

  net::Loop& loop_;
  SessionTable& sessions_;
  std::function<void(const std::string&)> end_;
  const Patience patience_;
  struct Opened {
    std::string server, id;
    size_t credentials;
  };
  using ByServer = std::vector<Opened>;  // the last session for each; a connection has few
  std::unordered_map<Connection, ByServer> by_connection_;
  std::unordered_map<std::string, std::string> by_principal_;                   // key() → id
  using Until = std::deque<std::pair<std::chrono::milliseconds, std::string>>;  // deadline; id
  Until unclaimed_, forsaken_;
  net::Timer timer_;
  net::Lifetime lifetime_;
};

}  // namespace lineward::client
