#include "proxy/client/endpoint/session_directory.h"

#include <fmt/format.h>

#include <algorithm>

#include "protocol/mcp/revision.h"
#include "proxy/client/endpoint/affinity.h"
#include "proxy/client/http/admission.h"
#include "proxy/client/http/forwarding.h"
#include "proxy/client/http/proxy_signs.h"

namespace lineward::client {
namespace {

using Kind = Replicas::Read::Kind;

// Null: the connection is a proxy's; it may carry requests of several clients, and identifies none of them.
// A stream of HTTP/2 is not a whole connection.
UnnamedSessions::Connection key_of(ClientConnection& connection) {
  const bool is_shared = connection.sharing().shared() || connection.facts().passed_by_peer ||
                         connection.facts().through_proxy || connection.is_stream();
  return is_shared ? nullptr : &connection;
}

}  // namespace

SessionDirectory::SessionDirectory(net::Loop& loop, const config::Listen& config, const PathRouter& router,
                                   core::ExchangeApi& exchanges, const ReplicaLinks& links,
                                   SessionTable* shared)
    : router_(router),
      exchanges_(exchanges),
      links_(links),
      own_(shared != nullptr
               ? nullptr
               : std::make_unique<SessionTable>(
                     loop, config, [this](const std::string& id) { exchanges_.session_ended(id); })),
      sessions_(shared != nullptr ? *shared : *own_),
      unnamed_(loop, sessions_, [this](const std::string& id) { exchanges_.session_ended(id); }) {}

// A session is found only at a path of its server, for all messages. Exception: a reload has given the path
// to another server while calls are in flight; their answers and cancels still arrive at the old path.
Session* SessionDirectory::find_served(const ClientConnection& connection, Former former) {
  const http::RequestHead& head = connection.head();
  const std::string_view posts = router_.server_of_sse_post(head);
  const std::string server = posts.empty() ? router_.server_of_session(head) : std::string(posts);
  Session* session = find_named(connection, former);
  if (session == nullptr || session->upstream == server) return session;
  return former == Former::yes && session->path == without_slash(head.path) ? session : nullptr;
}

// Other replicas pass requests on over connections of their own.
Session* SessionDirectory::note_use(const ClientConnection& connection, Session* session) const {
  if (session != nullptr) session->brought_on(links_.replicas ? nullptr : connection.end());
  return session;
}

Session* SessionDirectory::find(const ClientConnection& connection) {
  Session* session = find_served(connection, Former::no);
  if (session != nullptr) unnamed_.named(*session);
  return note_use(connection, session);
}

Session* SessionDirectory::find_opened_here(const ClientConnection& connection) {
  Session* session = find_served(connection, Former::yes);
  if (session != nullptr) unnamed_.named(*session);
  return note_use(connection, session);
}

Session* SessionDirectory::find_as_owner(ClientConnection& connection) {
  Session* session = find_served(connection, Former::yes);
  if (session == nullptr) return nullptr;
  const bool is_known = !core::is_anonymous(connection.principal());
  const auto brought = router_.forwarded(connection, session->upstream, Mirrored::no);
  if (!is_known && !session->accepts(authorization_of(brought))) return nullptr;
  unnamed_.named(*session);
  return note_use(connection, session);
}

// The session name in the request; empty: none.
std::string_view SessionDirectory::named_by(const ClientConnection& connection) const {
  const http::RequestHead& head = connection.head();
  if (!router_.server_of_sse_post(head).empty()) return session_in_query(head.target);
  return head.headers.count("Mcp-Session-Id") == 1 ? head.headers.get("Mcp-Session-Id") : std::string_view();
}

std::optional<size_t> SessionDirectory::worker_of_session(const ClientConnection& connection) const {
  const std::string_view shown = named_by(connection);
  return shown.empty() ? std::nullopt : std::optional(sessions_.home_of(shown));
}

// Names shared by replicas are not decoded before the client is authenticated: there the path alone decides.
std::optional<size_t> SessionDirectory::home_of(const ClientConnection& connection) const {
  const http::RequestHead& head = connection.head();
  const PathTable& table = router_.table();
  const std::vector<std::string>& former = table.before(head.path);
  if (former.empty() || links_.replicas || mcp::looks_modern(head.headers.get("MCP-Protocol-Version")))
    return std::nullopt;
  const std::string_view shown = named_by(connection);
  if (shown.empty()) return std::nullopt;
  // A name may be forged: a worker that never had such a server has no policies for it either.
  const size_t home = sessions_.home_of(shown);
  const bool had = std::any_of(former.begin(), former.end(), [&](const std::string& server) {
    const PathTable::Place& place = table.place_of(server);
    return place.by_id || place.home == home;
  });
  return had ? std::optional(home) : std::nullopt;
}

HttpError SessionDirectory::why_none() const {
  return full_.empty() ? session_not_found() : no_room_for_session(full_);
}

Session* SessionDirectory::find_named(const ClientConnection& connection, Former former) {
  full_ = {};
  const std::string_view shown = named_by(connection);
  if (shown.empty()) return nullptr;
  const std::string principal = connection.principal();
  if (!links_.replicas) return sessions_.find(std::string(shown), principal);
  const http::RequestHead& head = connection.head();
  Session* session = read(connection, shown, router_.server_of_session(head), principal);
  if (session != nullptr || former == Former::no) return session;
  for (const std::string& server : router_.table().before(head.path)) {
    if ((session = read(connection, shown, server, principal)) != nullptr) break;
  }
  return session;
}

// The session behind a name shared by replicas, if it belongs to that server.
Session* SessionDirectory::read(const ClientConnection& connection, std::string_view shown,
                                const std::string& server, const std::string& principal) {
  Replicas::Read read = links_.replicas->read(shown, server, principal, Replicas::now());
  if (read.kind == Kind::none || read.kind == Kind::elsewhere) return nullptr;
  Session* known = sessions_.find(read.session.id, principal);
  if (known != nullptr || read.kind == Kind::here) return known;
  return adopt(read, connection, server);
}

// Recreates a session that another replica opened, or that this one has dropped since.
Session* SessionDirectory::adopt(const Replicas::Read& read, const ClientConnection& connection,
                                 const std::string& server) {
  if (read.session.id.empty() || sessions_.find(read.session.id) != nullptr) return nullptr;
  Session* session = sessions_.create(read.session.id, connection.principal(), server, connection.account());
  if (session == nullptr) {
    full_ = "listen.maxSessions";
    return nullptr;
  }
  session->path = without_slash(connection.head().path);
  session->listener = connection.listener();
  if (links_.peers) session->place = links_.replicas->name();
  const core::Adoption outcome = exchanges_.adopt_session(session->id, read.session.state);
  if (outcome == core::Adoption::done) return session;
  if (outcome == core::Adoption::full) full_ = "limits.maxSessions";
  sessions_.remove(read.session.id);
  return nullptr;
}

Session* SessionDirectory::find_unnamed(ClientConnection& connection, const std::string& server) {
  const http::HeaderList& headers = connection.head().headers;
  if (headers.count("Mcp-Session-Id") > 0 || router_.table().refuse_missing.count(server) > 0) return nullptr;
  if (names_other_version(headers)) return nullptr;
  forget_shared(connection);
  return note_use(connection,
                  unnamed_.find(key_of(connection), connection.principal(), server,
                                credentials_of(router_.forwarded(connection, server, Mirrored::no))));
}

Session* SessionDirectory::find_meant(ClientConnection& connection) {
  if (names_session(connection.head().headers)) return find_as_owner(connection);
  const std::string* server = router_.facts(connection).server;
  return server != nullptr ? find_unnamed(connection, *server) : nullptr;
}

bool SessionDirectory::goes_without(const ClientConnection& connection, const std::string& server) const {
  const http::HeaderList& headers = connection.head().headers;
  return !names_other_version(headers) && headers.count("Mcp-Session-Id") == 0 &&
         exchanges_.keeps_sessions(server) == false;
}

// A shared connection no longer identifies the session that was opened on it.
void SessionDirectory::forget_shared(ClientConnection& connection) {
  if (connection.sharing().shared()) unnamed_.connection_shared(&connection);
}

Session* SessionDirectory::open(ClientConnection& connection, const std::string& server, Opener opener) {
  connection.sharing().opens(opener == Opener::client);
  forget_shared(connection);
  Session* session = sessions_.create(connection.principal(), server, connection.account());
  if (session == nullptr) return nullptr;
  session->path = without_slash(connection.head().path);
  session->listener = connection.listener();
  if (auto name = affinity_of(connection.head().headers)) session->lease = std::move(*name);
  unnamed_.opened(key_of(connection), *session,
                  credentials_of(router_.forwarded(connection, server, Mirrored::no)));
  return note_use(connection, session);
}

bool SessionDirectory::may_open(ClientConnection& connection, const std::string& server) const {
  const bool found_again = key_of(connection) != nullptr || !core::is_anonymous(connection.principal());
  return found_again && !legacy_revision_named(connection.head().headers).empty() &&
         router_.table().refuse_missing.count(server) == 0;
}

std::string SessionDirectory::why_unknown(ClientConnection& connection) {
  if (!core::is_anonymous(connection.principal()) || key_of(connection) != nullptr) return {};
  const std::string_view sign = connection.sharing().sign();
  return fmt::format(
      "{}: send the Mcp-Session-Id that the answer to initialize named with each request (docs/isolation.md)",
      sign.empty()
          ? std::string("it came through a proxy, which may bring requests of several callers on one "
                        "connection")
          : fmt::format("its connection is shared by several callers ({} came on it)", sign));
}

// A server that keeps no sessions needs no name, so none is generated. The session is dropped once its
// `initialize` is over, which may take a while.
std::string SessionDirectory::name_for_client(const std::string& id) {
  Session* opened = sessions_.find(id);
  if (opened == nullptr) return {};
  if (exchanges_.keeps_sessions(opened->upstream) != false) return shown_id(*opened);
  opened->ends_when_idle = true;
  return {};
}

std::string SessionDirectory::shown_id(Session& session) {
  if (!links_.replicas) return session.id;
  if (const core::ScopeState* state = session.shared()) {
    std::string id = links_.replicas->sealed_id({session.id, *state}, session.upstream, session.principal,
                                                Replicas::now());
    if (links_.peers) session.place = links_.replicas->name();
    if (!id.empty()) return id;
  }
  session.tied = true;
  return links_.replicas->tied_id(session.id);
}

}  // namespace lineward::client
