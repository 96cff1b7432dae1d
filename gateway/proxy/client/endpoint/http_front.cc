#include "proxy/client/endpoint/http_front.h"

#include <algorithm>
#include <utility>

#include "protocol/mcp/revision.h"
#include "proxy/client/endpoint/resource_metadata_endpoint.h"

namespace lineward::client {

HttpFront::HttpFront(net::Loop& loop, const config::Listen& config, PathTable paths,
                     core::ExchangeApi& exchanges, std::shared_ptr<ConnectionCaps> caps,
                     SessionTable* sessions)
    : config_(config),
      router_(std::move(paths)),
      refusals_(router_, gate_),
      sessions_(loop, config, router_, exchanges, links_, sessions),
      connections_(loop, config, *this, std::move(caps)),
      listener_(
          loop,
          [this](std::unique_ptr<net::ByteStream> stream, std::string peer) {
            connections_.accept(std::move(stream), std::move(peer));
          },
          [this] { connections_.turned_away(metrics::Overload::descriptors); }),
      gatekeeper_(config, listener_, router_, gate_, refusals_,
                  [this](ClientConnection& connection, std::string body) {
                    advance(connection, Step::replica, std::move(body));
                  }),
      peers_(loop, config, router_, links_, refusals_,
             [this](ClientConnection& connection, std::string body) {
               advance(connection, Step::endpoint, std::move(body));
             }),
      starter_(loop, config, router_, exchanges, sessions_, gate_),
      metadata_(std::make_unique<ResourceMetadataEndpoint>(config, listener_, router_, refusals_)),
      sse_(parts(loop, exchanges)),
      mcp_(parts(loop, exchanges), peers_),
      session_endpoint_(parts(loop, exchanges), gate_) {
  connections_.use_replicas(
      [this](std::string_view peer) { return links_.peers && links_.peers->is_at(peer); });
}

EndpointParts HttpFront::parts(net::Loop& loop, core::ExchangeApi& exchanges) {
  return {loop, config_, router_, exchanges, refusals_, sessions_, starter_};
}

HttpFront::~HttpFront() {
  close_all();
}

void HttpFront::use_documents(core::FetchDocument fetch) {
  metadata_->use_source(std::move(fetch));
}

Status<> HttpFront::listen() {
  auto opened = listener_.open_next(config_);
  if (opened) listener_.move();
  return opened;
}

Status<> HttpFront::listen_with(int socket, std::string address, bool loopback) {
  auto joined = listener_.join_next(socket, std::move(address), loopback);
  if (joined) listener_.move();
  return joined;
}

void HttpFront::use_paths(PathTable paths) {
  router_.use(std::move(paths));
  connections_.proxies().reconfigured();
  balance_connections();
  sse_.paths_changed();
}

void HttpFront::use_neighbours(Neighbours neighbours) {
  neighbours_ = std::move(neighbours);
  sessions_.table().belong_to(neighbours_->self, neighbours_->workers);
  balance_connections();
}

// Spreads new connections over the workers if any worker may answer their requests. The others move to the
// worker of their server anyway.
void HttpFront::balance_connections() {
  if (!neighbours_) return;
  const auto& places = router_.table().placement;
  const bool spread =
      std::any_of(places.begin(), places.end(), [](const auto& entry) { return !entry.second.eras.empty(); });
  connections_.spread(neighbours_->self, neighbours_->workers, spread ? neighbours_->send_new : nullptr);
}

// ---- requests ----

// All workers serve the callers of a modern server, which has no sessions. A session is on the worker that
// its id names. Everything else is at the server's home.
size_t HttpFront::worker_for(ClientConnection& connection) {
  HeadFacts& facts = router_.facts(connection);
  if (!facts.worker) {
    const http::RequestHead& head = connection.head();
    const PathTable::Place& place = router_.table().place_at(head.path);
    const bool modern = mcp::looks_modern(head.headers.get("MCP-Protocol-Version"));
    const bool by_session = place.by_id && !modern && !links_.replicas;
    const size_t without = by_session && place.shares_sessions ? neighbours_->self : place.home;
    const size_t of_session =
        by_session ? sessions_.worker_of_session(connection).value_or(without) : place.home;
    const auto former = sessions_.home_of(connection);
    facts.worker = former.value_or(of_session);
    facts.by_era = modern && !former && !place.eras.empty() ? &place.eras : nullptr;
  }
  const bool anywhere =
      facts.by_era != nullptr && std::all_of(facts.by_era->begin(), facts.by_era->end(),
                                             [](const auto& one) { return one->is_modern(); });
  return anywhere ? neighbours_->self : *facts.worker;
}

// This worker has read the bytes; the other worker answers them and owns the connection from here on.
bool HttpFront::belongs_elsewhere(ClientConnection& connection) {
  if (!neighbours_ || connection.has_moved()) return false;
  const size_t worker = worker_for(connection);
  if (worker == neighbours_->self) return false;
  auto moved = connections_.move_out(connection);
  if (!moved) return true;
  client_left(connection);
  neighbours_->send(worker, std::move(*moved));
  return true;
}

HeadVerdict HttpFront::on_head(ClientConnection& connection) {
  if (belongs_elsewhere(connection)) return HeadVerdict::elsewhere;
  const http::RequestHead& head = connection.head();
  const std::string_view told = links_.replicas ? peers_.client_of(head) : std::string_view();
  connection.begin_head(told.empty() ? connections_.proxies().client_of(head, connection.peer())
                                     : std::string(told));
  if (gatekeeper_.refuses_head(connection)) return HeadVerdict::answered;
  return head.expect_continue && gatekeeper_.wants_body(head) ? HeadVerdict::invited : HeadVerdict::read;
}

// The way of a complete request. A step that answers the request ends it. A request that waits for its gate,
// or that another replica did not take, continues with a later step.
void HttpFront::advance(ClientConnection& connection, Step step, std::string body) {
  for (;;) {
    switch (step) {
      case Step::origin: {
        const http::RequestHead& head = connection.head();
        const bool passed = links_.replicas && peers_.is_passed(head, body);
        connection.facts().passed_by_peer = passed;
        connection.use_client(passed ? std::string(peers_.client_of(head))
                                     : connections_.proxies().client_of(head, connection.peer()));
        step = Step::document;
        break;
      }
      case Step::document:  // needs no credentials
        if (!router_.table().documents.empty() && metadata_->serve_own(connection)) return;
        step = Step::caller;
        break;
      case Step::caller:
        if (!gatekeeper_.admit(connection, body)) return;
        step = Step::replica;
        break;
      case Step::replica:
        if (links_.replicas && peers_.pass_on(connection, body)) return;
        step = Step::endpoint;
        break;
      case Step::endpoint: return serve(connection, std::move(body));
    }
  }
}

void HttpFront::serve(ClientConnection& connection, std::string body) {
  const std::string_view method = connection.head().method;
  const std::string* server = router_.facts(connection).server;
  if (server == nullptr) {
    if (sse_.serve(connection, body) || metadata_->serve(connection)) return;
    if (serve_leaving(connection, body)) return;
    return refusals_.refuse(connection, router_.nothing_here());
  }
  if (method == "POST") return mcp_.post(connection, *server, std::move(body));
  if (method == "GET") return session_endpoint_.get(connection);
  if (method == "DELETE") return session_endpoint_.remove(connection);
  refusals_.refuse(
      connection,
      not_allowed("POST, GET, DELETE", "this endpoint takes POST, and GET and DELETE in a legacy session"));
}

// Serves a removed server that still has sessions.
bool HttpFront::serve_leaving(ClientConnection& connection, std::string& body) {
  const http::RequestHead& head = connection.head();
  const ServerPaths& leaving = router_.table().leaving;
  auto route = leaving.find(std::string(head.path));
  if (route == leaving.end() || head.headers.count("Mcp-Session-Id") == 0) return false;
  if (head.method == "GET") return session_endpoint_.get(connection), true;
  if (head.method == "DELETE") return session_endpoint_.remove(connection), true;
  return head.method == "POST" && mcp_.post_to_leaving(connection, route->second, std::move(body));
}

// ---- end ----

void HttpFront::on_client_left(ClientConnection& connection) {
  client_left(connection);
  connections_.remove(connection);
}

void HttpFront::client_left(ClientConnection& connection) {
  metadata_->client_left(connection);
  gatekeeper_.client_left(connection);
  mcp_.client_left(connection);
  sessions_.client_left(connection);
}

void HttpFront::drain() {
  draining_ = true;
  peers_.drain();
  session_endpoint_.drain();
  listener_.drain();
  connections_.close_idle_soon();
}

size_t HttpFront::unanswered() const {
  return peers_.passing() + mcp_.waiting() + connections_.idle();
}

void HttpFront::close_all() {
  listener_.close();
  connections_.close_all();
}

}  // namespace lineward::client
