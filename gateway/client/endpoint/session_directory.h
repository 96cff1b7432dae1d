// Which legacy session a request means, and the name under which the session's client knows it. A client
// names it in a header (over HTTP+SSE in its query), or it is known by its connection or principal
// (`sessions.missing`, client/session/unnamed_sessions.h). Where there are several replicas a name may hold
// all that is needed to go on with the session here (docs/replicas.md).
//
// Owned by the HttpFront; the sessions themselves are the table's. A foreign session looks like an unknown
// one.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "client/endpoint/path_router.h"
#include "client/http/client_connection.h"
#include "client/replica/replicas.h"
#include "client/session/session.h"
#include "client/session/unnamed_sessions.h"
#include "config/config.h"
#include "core/exchange_api.h"
#include "net/loop.h"

namespace lineward::client {

class SessionDirectory {
 public:
  // `links`: those of today.
  SessionDirectory(net::Loop& loop, const config::Listen& config, const PathRouter& router,
                   core::ExchangeApi& exchanges, const ReplicaLinks& links);
  SessionDirectory(const SessionDirectory&) = delete;
  SessionDirectory& operator=(const SessionDirectory&) = delete;

  SessionTable& table() { return sessions_; }

  // The one that the request names, or null: at the path of another server there is no such session. One that
  // another replica shared is made anew here.
  Session* find(const ClientConnection& connection);
  // The same for all but requests: where the path led to another server when it was opened, it is there too.
  Session* find_opened_here(const ClientConnection& connection);
  // The same for what the server is told, or asked for, as the one who opened it: a session's id alone is not
  // enough where the server judges its clients' credentials itself. A request brings its own.
  Session* find_as_owner(ClientConnection& connection);
  // The one that a client which never names one is in; null: none, or such clients are refused here.
  Session* find_unnamed(ClientConnection& connection, const std::string& server);
  // Of an answer, a GET or a DELETE, in either way; null: none, or one that is not known.
  Session* find_meant(ClientConnection& connection);
  // The worker that has the session which the request names, where its path says no more which one that is.
  std::optional<size_t> home_of(const ClientConnection& connection) const;
  // Does a legacy message go to the server as it is, which keeps no sessions?
  bool goes_without(const ClientConnection& connection, const std::string& server) const;

  // Null: there are too many.
  enum class Opener : bool { gateway, client };
  Session* open(ClientConnection& connection, const std::string& server, Opener opener);
  // May this request, which names none, have one made for it?
  bool may_open(ClientConnection& connection, const std::string& server) const;
  // Why a request that names no session cannot be known again by its connection, and what to do; empty: that
  // is not why it has none.
  static std::string why_unknown(ClientConnection& connection);
  // What the client is told as the name of one that is being opened; empty: it is to have none.
  std::string name_for_client(const std::string& id);
  // What its client is told as its id.
  std::string shown_id(Session& session);

  void connection_gone(const ClientConnection& connection) { unnamed_.connection_gone(&connection); }

 private:
  enum class Former : bool { no, yes };  // may it be one of a server that the path led to before?

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
  SessionTable sessions_;
  UnnamedSessions unnamed_;
};

}  // namespace lineward::client
