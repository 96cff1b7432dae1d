// Resolves the legacy session of a request, and the name under which the client knows the session. A client
// names it in a header (over HTTP+SSE in its query), or is identified by its connection or principal
// (`sessions.missing`, proxy/client/session/unnamed_sessions.h). With several replicas a name may hold all
// that is needed to continue the session here (docs/replicas.md).
//
// Owned by the HttpFront; the table owns the sessions. A caller cannot tell another caller's session from an
// unknown one.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "config/config.h"
#include "foundation/net/loop.h"
#include "proxy/client/endpoint/path_router.h"
#include "proxy/client/http/client_connection.h"
#include "proxy/client/http/refusal.h"
#include "proxy/client/replica/replicas.h"
#include "proxy/client/session/session.h"
#include "proxy/client/session/unnamed_sessions.h"
#include "proxy/core/exchange_api.h"

namespace lineward::client {

class SessionDirectory {
 public:
  // `links`: the current ones. `shared`: the table of another front of this worker, which outlives this;
  // null: a table of its own.
  SessionDirectory(net::Loop& loop, const config::Listen& config, const PathRouter& router,
                   core::ExchangeApi& exchanges, const ReplicaLinks& links, SessionTable* shared = nullptr);
  SessionDirectory(const SessionDirectory&) = delete;
  SessionDirectory& operator=(const SessionDirectory&) = delete;

  SessionTable& table() { return sessions_; }

  // The session that the request names, or null; a session is found only at a path of its server. A session
  // that another replica shared is recreated here.
  Session* find(const ClientConnection& connection);
  // The same for all messages but requests: a session opened before a reload gave the path to another server
  // is found too.
  Session* find_opened_here(const ClientConnection& connection);
  // The same for messages sent in the name of the session's owner. A session's id alone is not enough where
  // the server judges its clients' credentials itself. A request carries its own credentials.
  Session* find_as_owner(ClientConnection& connection);
  // The session of a client that never sends an id; null: none, or such clients are refused here.
  Session* find_unnamed(ClientConnection& connection, const std::string& server);
  // The session of an answer, a GET or a DELETE, named or not; null: none, or an unknown one.
  Session* find_meant(ClientConnection& connection);
  // The answer when the last of these found none.
  HttpError why_none() const;
  // The worker of the session that the request names, at a server that all workers serve; nullopt: it names
  // none.
  std::optional<size_t> worker_of_session(const ClientConnection& connection) const;
  // The worker with the session that the request names, where a reload has changed the path's server.
  std::optional<size_t> home_of(const ClientConnection& connection) const;
  // Does a legacy message go to the server unchanged, because that server keeps no sessions?
  bool goes_without(const ClientConnection& connection, const std::string& server) const;

  // Null: there are too many sessions.
  enum class Opener : bool { gateway, client };
  Session* open(ClientConnection& connection, const std::string& server, Opener opener);
  // May Lineward open a session for this request, which names none?
  bool may_open(ClientConnection& connection, const std::string& server) const;
  // Why a request without a session id cannot be attributed by its connection, and what to do; empty if that
  // is not the reason.
  static std::string why_unknown(ClientConnection& connection);
  // The session name sent to the client during the opening; empty: none is sent.
  std::string name_for_client(const std::string& id);
  // The session id sent to its client.
  std::string shown_id(Session& session);

  void client_left(const ClientConnection& connection) { unnamed_.client_left(&connection); }

 private:
  enum class Former : bool { no, yes };  // may it be a session of a former server of the path?

  // The connection brings a message of this session, which may be null; returns it.
  Session* note_use(const ClientConnection& connection, Session* session) const;
  void forget_shared(ClientConnection& connection);
  std::string_view named_by(const ClientConnection& connection) const;
  Session* find_named(const ClientConnection& connection, Former former);
  Session* read(const ClientConnection& connection, std::string_view shown, const std::string& server,
                const std::string& principal);
  Session* find_served(const ClientConnection& connection, Former former);
  Session* adopt(const Replicas::Read& read, const ClientConnection& connection, const std::string& server);

  const PathRouter& router_;
  core::ExchangeApi& exchanges_;
  const ReplicaLinks& links_;
  const std::unique_ptr<SessionTable> own_;  // null: shared
  SessionTable& sessions_;
  UnnamedSessions unnamed_;
  std::string_view full_;  // the limit by which the last one that was named could not be continued here
};

}  // namespace lineward::client
