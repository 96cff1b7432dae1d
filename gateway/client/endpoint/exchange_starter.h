// From a client's request to an exchange: what is told of the request (core::Arrival), and the reply that
// ties the exchange to the request's connection, or in a session to a stream that may outlive the connection.
//
// Owned by the HttpFront. Exchanges are known by their ids alone; one whose client goes away is told so.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/endpoint/path_router.h"
#include "client/endpoint/session_directory.h"
#include "client/http/client_connection.h"
#include "config/config.h"
#include "core/exchange_api.h"
#include "core/gate.h"

namespace lineward::client {

// How the answer to the connection's request may look.
ReplyOptions reply_options(ClientConnection& connection, const config::Listen& config,
                           const PathTable& paths);
// A message of a legacy session; and one of a connection that belongs to it.
core::Arrival arrival_of(const Session& session);
void place_in(const Session& session, core::Arrival& arrival);

class ExchangeStarter {
 public:
  // `gate`: the one of today, or null.
  ExchangeStarter(net::Loop& loop, const config::Listen& config, const PathRouter& router,
                  core::ExchangeApi& exchanges, SessionDirectory& sessions,
                  const std::shared_ptr<core::Gate>& gate);
  ExchangeStarter(const ExchangeStarter&) = delete;
  ExchangeStarter& operator=(const ExchangeStarter&) = delete;

  // Who sends a message of this connection, and to whom. The rest is found out where it counts.
  core::Arrival of_client(const ClientConnection& connection, const std::string& server) const;
  // What is known of the connection's request whatever its message says.
  core::Arrival arrival(ClientConnection& connection, const std::string& server, Mirrored mirrored) const;
  // The same of a legacy request.
  core::Arrival legacy_arrival(ClientConnection& connection, const std::string& server,
                               mcp::Message&& message, uint64_t bytes) const;

  // Its reply is this connection's alone. `headers`: on its head, whatever the answer is. `Comments::no`:
  // none comes on its stream behind those of its head, for `lineward/probe`.
  enum class Comments : bool { no, yes };
  void start(ClientConnection& connection, core::Arrival&& arrival, std::vector<http::OutHeader> headers = {},
             Comments comments = Comments::yes);
  // In a session the answer's stream may outlive this connection.
  void start_in_session(ClientConnection& connection, Session& session, core::Arrival&& arrival);

  // The connection of a session's stream. `session_header` only where the client does not know the session
  // yet. `takes_long`: its head does not wait for the answer (mcp/methods.h).
  enum class Primes : bool { no, yes };
  std::unique_ptr<HttpReply> transport(ClientConnection& connection, Session& session, SessionStream& stream,
                                       std::string session_header, Primes primes = Primes::yes,
                                       bool takes_long = false);
  // The server's own stream of a session that others share follows the client's: there is one now.
  void watch_stream(ClientConnection& connection, Session& session);

 private:
  core::HeaderFields seen_by_plugins(const ClientConnection& connection) const;
  void transport_lost(const std::string& session, uint32_t stream, mcp::EndReason why);

  net::Loop& loop_;
  const config::Listen& config_;
  const PathRouter& router_;
  core::ExchangeApi& exchanges_;
  SessionDirectory& sessions_;
  const std::shared_ptr<core::Gate>& gate_;
};

}  // namespace lineward::client
