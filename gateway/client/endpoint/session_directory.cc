#include "client/endpoint/session_directory.h"

#include <algorithm>
#include <array>

#include "client/http/admission.h"
#include "client/http/forwarding.h"

namespace lineward::client {
namespace {

using Kind = Replicas::Read::Kind;

// The connection is a proxy's, which may bring any client's requests on it: it says nothing of who asks.
bool through_proxy(const http::HeaderList& headers) {
  static constexpr std::array<std::string_view, 3> kNames{"Via", "Forwarded", "X-Forwarded-For"};
  return std::any_of(kNames.begin(), kNames.end(), [&](auto name) { return headers.count(name) > 0; });
}

UnnamedSessions::Connection key_of(ClientConnection& connection) {
  const bool is_shared = connection.facts().passed_by_peer || through_proxy(connection.head().headers);
  return is_shared ? nullptr : &connection;
}

}  // namespace

SessionDirectory::SessionDirectory(net::Loop& loop, const config::Listen& config, const PathRouter& router,
                                   core::ExchangeApi& exchanges, const ReplicaLinks& links)
    : router_(router),
      exchanges_(exchanges),
      links_(links),
      sessions_(loop, config, [this](const std::string& id) { exchanges_.session_ended(id); }),
      unnamed_(loop, sessions_, [this](const std::string& id) { exchanges_.session_ended(id); }) {}

// A session is its server's: at the path of another there is no such session, for whatever comes.
Session* SessionDirectory::find_served(const ClientConnection& connection) {
  const http::RequestHead& head = connection.head();
  const std::string_view posts = router_.server_of_sse_post(head);
  const std::string server = posts.empty() ? router_.server_of_session(head) : std::string(posts);
  Session* session = find_named(connection);
  return session != nullptr && session->upstream == server ? session : nullptr;
}

Session* SessionDirectory::find(const ClientConnection& connection) {
  Session* session = find_served(connection);
  if (session != nullptr) unnamed_.named(*session);
  return session;
}

Session* SessionDirectory::find_as_owner(ClientConnection& connection) {
  Session* session = find_served(connection);
  if (session == nullptr) return nullptr;
  const bool is_known = connection.principal() != core::kAnonymous;
  const auto brought = router_.forwarded(connection, session->upstream, Mirrored::no);
  if (!is_known && !session->accepts(authorization_of(brought))) return nullptr;
  unnamed_.named(*session);
  return session;
}

Session* SessionDirectory::find_named(const ClientConnection& connection) {
  const http::RequestHead& head = connection.head();
  const bool over_sse = !router_.server_of_sse_post(head).empty();
  if (!over_sse && head.headers.count("Mcp-Session-Id") != 1) return nullptr;
  std::string_view shown = over_sse ? session_in_query(head.target) : head.headers.get("Mcp-Session-Id");
  std::string principal = connection.principal();
  if (!links_.replicas) return sessions_.find(std::string(shown), principal);
  std::string server = router_.server_of_session(head);
  Replicas::Read read = links_.replicas->read(shown, server, principal, Replicas::now());
  if (read.kind == Kind::none || read.kind == Kind::elsewhere) return nullptr;
  Session* known = sessions_.find(read.session.id, principal);
  if (known != nullptr || read.kind == Kind::here) return known;
  return adopt(read, principal, server, connection.account());
}

// Opened by another replica, or by this one before it forgot.
Session* SessionDirectory::adopt(const Replicas::Read& read, const std::string& principal,
                                 const std::string& server, const AccountPtr& caller) {
  if (read.session.id.empty() || sessions_.find(read.session.id) != nullptr) return nullptr;
  Session* session = sessions_.create(read.session.id, principal, server, caller);
  if (session == nullptr) return nullptr;
  if (links_.peers) session->place = links_.replicas->name();
  if (exchanges_.adopt_session(session->id, read.session.state)) return session;
  sessions_.remove(read.session.id);
  return nullptr;
}

Session* SessionDirectory::find_unnamed(ClientConnection& connection, const std::string& server) {
  const http::HeaderList& headers = connection.head().headers;
  if (headers.count("Mcp-Session-Id") > 0 || router_.table().refuse_missing.count(server) > 0) return nullptr;
  if (names_other_version(headers)) return nullptr;
  return unnamed_.find(key_of(connection), connection.principal(), server,
                       credentials_of(router_.forwarded(connection, server, Mirrored::no)));
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

Session* SessionDirectory::open(ClientConnection& connection, const std::string& server) {
  Session* session = sessions_.create(connection.principal(), server, connection.account());
  if (session == nullptr) return nullptr;
  unnamed_.opened(key_of(connection), *session,
                  credentials_of(router_.forwarded(connection, server, Mirrored::no)));
  return session;
}

bool SessionDirectory::may_open(ClientConnection& connection, const std::string& server) const {
  const bool found_again = key_of(connection) != nullptr || connection.principal() != core::kAnonymous;
  return found_again && !legacy_revision_named(connection.head().headers).empty() &&
         router_.table().refuse_missing.count(server) == 0;
}

// A server that keeps none has no use for a name: nothing is made up, and nothing kept once its `initialize`
// is over, which may take a while yet.
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
