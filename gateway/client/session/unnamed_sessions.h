// Which session a legacy client means that names none (`sessions.missing: adopt`, docs/isolation.md): the one
// that was opened last on its connection, for that server; else the one that its principal opened last.
// Anonymous clients have their connection alone, and there what was opened with the same credentials. A proxy
// that says nothing of itself may share one among its clients: once it shows, nothing is found by it
// (client/http/proxy_signs.h).
//
// So that clients which never return an id leave nothing behind, a session that served requests without one
// ends with what led to it, or when others have taken its place for all that did. One that served none may
// still be named by its client, on whatever connection: most are at once, when their `initialize` was
// answered. What was not named a moment after that is kept for a while, and its process is to be had for
// others.
//
// Owned by the SessionDirectory. Sessions are known by their ids here; they may end at any time.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "client/session/session.h"
#include "net/loop.h"

namespace lineward::client {

class UnnamedSessions {
 public:
  // So many that nobody named are kept.
  static constexpr size_t kMaxForsaken = 256;
  struct Patience {
    // So long at least a client has to name what was answered, before it is taken for one that never will.
    std::chrono::milliseconds unclaimed{2000};
    std::chrono::milliseconds forsaken{60000};  // from then on
  };

  // `end` ends a session; never called from inside.
  UnnamedSessions(net::Loop& loop, SessionTable& sessions, std::function<void(const std::string& id)> end)
      : UnnamedSessions(loop, sessions, std::move(end), Patience()) {}
  UnnamedSessions(net::Loop& loop, SessionTable& sessions, std::function<void(const std::string& id)> end,
                  Patience patience)
      : loop_(loop), sessions_(sessions), end_(std::move(end)), patience_(patience), timer_(loop) {}
  UnnamedSessions(const UnnamedSessions&) = delete;
  UnnamedSessions& operator=(const UnnamedSessions&) = delete;

  using Connection = const void*;  // a name only
  // It was opened on this connection; null: on one that says nothing of who asks.
  // `credentials`: a digest of what its client sent of its own that goes up to the server.
  void opened(Connection connection, Session& session, size_t credentials);
  // Its client has named it: it is an ordinary one from here on, and that client's alone.
  void named(Session& session);
  // The one that is meant, or null.
  Session* find(Connection connection, const std::string& principal, const std::string& server,
                size_t credentials);
  void connection_gone(Connection connection) { forget(connection, Ends::at_once); }
  // Several callers come on it: it leads to none of their sessions any more.
  void connection_shared(Connection connection) { forget(connection, Ends::when_idle); }

  size_t remembered() const {
    return by_connection_.size() + by_principal_.size() + unclaimed_.size() + forsaken_.size();
  }

 private:
  static std::string key(const std::string& principal, const std::string& server) {
    return principal + '\n' + server;
  }
  void replaced(const std::string& id);
  bool is_of_principal(const Session& session) const;
  // Nothing leads to it any more but its name: it ends when its calls have, or with what they write.
  enum class Ends : bool { when_idle, at_once };
  void forget(Connection connection, Ends ends);
  void let_go(const std::string& id, Ends ends);
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
  using ByServer = std::vector<Opened>;  // the last one for each; a connection has few
  std::unordered_map<Connection, ByServer> by_connection_;
  std::unordered_map<std::string, std::string> by_principal_;                   // key() → id
  using Until = std::deque<std::pair<std::chrono::milliseconds, std::string>>;  // until when; id
  Until unclaimed_, forsaken_;
  net::Timer timer_;
  net::Lifetime lifetime_;
};

}  // namespace lineward::client
