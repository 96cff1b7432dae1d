// The HTTP side towards clients. A request passes on_head() before its body is read, then advance(), from top
// to bottom. Then the endpoint of its path and method serves it. Both eras share one endpoint.
//
//   FrontListener → ConnectionTable → ClientConnection → HttpFront
//     → McpEndpoint (POST), SessionEndpoint (GET, DELETE), LegacySseEndpoint, ResourceMetadataEndpoint
//     → core::ExchangeApi
//
// Owned by the worker; the exchange table outlives it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "proxy/client/endpoint/exchange_starter.h"
#include "proxy/client/endpoint/front.h"
#include "proxy/client/endpoint/gatekeeper.h"
#include "proxy/client/endpoint/legacy_sse_endpoint.h"
#include "proxy/client/endpoint/mcp_endpoint.h"
#include "proxy/client/endpoint/path_router.h"
#include "proxy/client/endpoint/peer_router.h"
#include "proxy/client/endpoint/refusal_writer.h"
#include "proxy/client/endpoint/session_directory.h"
#include "proxy/client/endpoint/session_endpoint.h"
#include "proxy/client/http/connection_table.h"
#include "proxy/client/http/front_listener.h"

namespace lineward::client {

class ResourceMetadataEndpoint;

// The fronts of the other workers.
struct Neighbours {
  size_t self = 0;
  size_t workers = 1;  // with this one
  std::function<void(size_t worker, MovedConnection connection)> send;
  // A connection that has just been accepted.
  std::function<void(size_t worker, NewConnection connection)> send_new;
};

class HttpFront final : public Front, private RequestHandler {
 public:
  // `caps` are shared by the fronts of all workers. `sessions`: of the worker's first front, for a further
  // listener; null: a table of its own.
  HttpFront(net::Loop& loop, const config::Listen& config, PathTable paths, core::ExchangeApi& exchanges,
            std::shared_ptr<ConnectionCaps> caps = std::make_shared<ConnectionCaps>(),
            SessionTable* sessions = nullptr);
  ~HttpFront() override;

  Status<> listen() override;
  // The same on the socket that the first worker's front has opened.
  Status<> listen_with(int socket, std::string address, bool loopback);
  // For a reload that moves to another address.
  FrontListener& listener() { return listener_; }
  std::string address() const override { return listener_.address(); }

  // Servers live on several workers: a connection moves to the worker of its request's server.
  void use_neighbours(Neighbours neighbours);
  void adopt(MovedConnection moved) { connections_.adopt(std::move(moved)); }
  void adopt(NewConnection accepted) { connections_.adopt(std::move(accepted)); }
  // A reload. Connections, sessions and exchanges in flight stay.
  const PathTable& paths() const { return router_.table(); }
  void use_paths(PathTable paths);
  // The TLS of connections that are accepted from here on.
  void use_tls(std::shared_ptr<const net::CurrentTls> tls) { connections_.use_tls(std::move(tls)); }
  // The other replicas, and the keys shared with them.
  void use_replicas(ReplicaLinks links) { links_ = std::move(links); }

  SessionTable& sessions() override { return sessions_.table(); }
  void use_documents(core::FetchDocument fetch) override;
  void use_gate(std::shared_ptr<core::Gate> gate) override { gate_ = std::move(gate); }

  // Accepts no new connections. Each open connection is closed after its answer; an idle one after one more
  // answer or after a second.
  void drain() override;
  size_t unanswered() const override;
  size_t connections() const override { return connections_.size(); }
  size_t take_most_connections() override { return connections_.take_most(); }
  size_t backlog() const override { return connections_.backlog(); }
  void close_all() override;

 private:
  EndpointParts parts(net::Loop& loop, core::ExchangeApi& exchanges);
  HeadVerdict on_head(ClientConnection& connection) override;
  void on_request(ClientConnection& connection, std::string body) override {
    advance(connection, Step::origin, std::move(body));
  }
  void on_http2(ClientConnection& connection, std::string_view first) override {
    connections_.speak_http2(connection, first);
  }
  void on_client_left(ClientConnection& connection) override;
  bool draining() const override { return draining_; }
  void on_fault(ClientConnection& connection, const Error& fault) override {
    refusals_.note_fault(connection, fault);
  }
  void on_full() override { connections_.make_room_later(); }
  void on_request_while_full() override { connections_.make_room_now(); }

  enum class Step : uint8_t { origin, document, caller, replica, endpoint };
  void advance(ClientConnection& connection, Step step, std::string body);
  void balance_connections();
  size_t worker_for(ClientConnection& connection);
  bool belongs_elsewhere(ClientConnection& connection);
  void serve(ClientConnection& connection, std::string body);
  bool serve_leaving(ClientConnection& connection, std::string& body);
  void client_left(ClientConnection& connection);

  const config::Listen& config_;
  bool draining_ = false;
  std::shared_ptr<core::Gate> gate_;
  ReplicaLinks links_;
  std::optional<Neighbours> neighbours_;
  PathRouter router_;
  RefusalWriter refusals_;
  SessionDirectory sessions_;
  ConnectionTable connections_;
  FrontListener listener_;
  Gatekeeper gatekeeper_;
  PeerRouter peers_;
  ExchangeStarter starter_;
  std::unique_ptr<ResourceMetadataEndpoint> metadata_;
  LegacySseEndpoint sse_;
  McpEndpoint mcp_;
  SessionEndpoint session_endpoint_;
};

}  // namespace lineward::client
