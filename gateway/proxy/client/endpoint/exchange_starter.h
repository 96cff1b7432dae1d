// Turns a client's request into an exchange, with the request's context (core::IncomingMessage) and a reply.
// The reply belongs to the request's connection, or in a session to a stream that may outlive the connection.
//
// Owned by the HttpFront. Exchanges are referred to by id only; an exchange is notified when its client
// disconnects.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/config.h"
#include "foundation/net/loop.h"
#include "proxy/client/endpoint/path_router.h"
#include "proxy/client/endpoint/refusal_writer.h"
#include "proxy/client/endpoint/session_directory.h"
#include "proxy/client/http/client_connection.h"
#include "proxy/core/exchange_api.h"
#include "proxy/core/gate.h"

namespace lineward::client {

// The form that the answer to the connection's request may take.
ReplyOptions reply_options(ClientConnection& connection, const config::Listen& config,
                           const PathTable& paths);
// The context of a message in a legacy session; and the session's part of the context of a connection's
// message.
core::IncomingMessage arrival_of(const Session& session);
void place_in(const Session& session, core::IncomingMessage& arrival);

class ExchangeStarter {
 public:
  // `gate`: the current one, or null.
  ExchangeStarter(net::Loop& loop, const config::Listen& config, const PathRouter& router,
                  core::ExchangeApi& exchanges, SessionDirectory& sessions,
                  const std::shared_ptr<core::Gate>& gate);
  ExchangeStarter(const ExchangeStarter&) = delete;
  ExchangeStarter& operator=(const ExchangeStarter&) = delete;

  // The context that needs no parsing: the client and its server. The rest is filled in on demand.
  core::IncomingMessage of_client(const ClientConnection& connection, const std::string& server) const;
  // The context of the connection's request that does not depend on its message.
  core::IncomingMessage arrival(ClientConnection& connection, const std::string& server,
                                Mirrored mirrored) const;
  // The same for a legacy request.
  core::IncomingMessage legacy_arrival(ClientConnection& connection, const std::string& server,
                                       mcp::Message&& message, uint64_t bytes) const;

  // The reply belongs to this connection alone. `headers`: sent with any answer. `Comments::no`: the stream
  // carries no comment after those of its head (`lineward/probe`).
  enum class Comments : bool { no, yes };
  void start(ClientConnection& connection, core::IncomingMessage&& arrival,
             std::vector<http::OutHeader> headers = {}, Comments comments = Comments::yes);
  // In a session, the answer's stream may outlive this connection.
  void start_in_session(ClientConnection& connection, Session& session, core::IncomingMessage&& arrival);

  // Attaches the connection to a session's stream. `session_header` is set only where the client does not
  // know the session yet. `takes_long`: the head is sent before the answer (protocol/mcp/methods.h).
  enum class Primes : bool { no, yes };
  std::unique_ptr<HttpReply> transport(ClientConnection& connection, Session& session, SessionStream& stream,
                                       std::string session_header, Primes primes = Primes::yes,
                                       bool takes_long = false);
  // If the client has a stream of a shared session now, opens the server's own stream too.
  void watch_stream(ClientConnection& connection, Session& session);

 private:
  core::HeaderFields seen_by_plugins(const ClientConnection& connection) const;
  void client_left(const std::string& session, uint32_t stream, mcp::EndReason why);

  net::Loop& loop_;
  const config::Listen& config_;
  const PathRouter& router_;
  core::ExchangeApi& exchanges_;
  SessionDirectory& sessions_;
  const std::shared_ptr<core::Gate>& gate_;
};

// References shared by the endpoints of an HttpFront. All of them outlive the endpoints.
struct EndpointParts {
  net::Loop& loop;
  const config::Listen& config;
  const PathRouter& router;
  core::ExchangeApi& exchanges;
  const RefusalWriter& refusals;
  SessionDirectory& sessions;
  ExchangeStarter& starter;

  // Refuses new streams when too many bytes are held (listen.maxBufferedBytes); true: the request was
  // refused.
  bool refuse_for_load(ClientConnection& connection) const;
};

}  // namespace lineward::client
