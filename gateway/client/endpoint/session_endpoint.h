// GET and DELETE at an MCP endpoint: the stream of a legacy session's server towards its client, and the end
// of a session. Where the server keeps no sessions it answers these itself, and its answer goes through as it
// comes (client/replica/plain_pass.h).
//
// Owned by the HttpFront. Owns the answers that go through; each is freed at the end of the turn in which it
// is over.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/http/client_connection.h"
#include "client/endpoint/exchange_starter.h"
#include "client/endpoint/path_router.h"
#include "client/replica/plain_pass.h"
#include "client/endpoint/refusal_writer.h"
#include "client/endpoint/session_directory.h"
#include "config/config.h"
#include "core/exchange_door.h"
#include "core/gate.h"
#include "net/loop.h"

namespace lineward::client {

class SessionEndpoint {
 public:
  // `gate`: the one of today, or null.
  SessionEndpoint(net::Loop& loop, const config::Listen& config, const PathRouter& router,
                  core::ExchangeDoor& door, const RefusalWriter& refusals, SessionDirectory& sessions,
                  ExchangeStarter& starter, const std::shared_ptr<core::Gate>& gate);
  SessionEndpoint(const SessionEndpoint&) = delete;
  SessionEndpoint& operator=(const SessionEndpoint&) = delete;

  void get(ClientConnection& connection);
  void remove(ClientConnection& connection);
  // The gateway stops: answers of servers that go through have no end of their own.
  void drain();

 private:
  // Sends the server's events on this connection, from the one on that its client asks for.
  void open_stream(ClientConnection& connection, Session& session);
  // True: the server, which keeps no sessions, answers this GET or DELETE.
  bool answered_by_server(ClientConnection& connection);
  // No new streams while so much is held (listen.maxBufferedBytes); true after the request was refused.
  bool refused_for_load(ClientConnection& connection);
  void over(PlainPass& pass);

  net::Loop& loop_;
  const config::Listen& config_;
  const PathRouter& router_;
  core::ExchangeDoor& door_;
  const RefusalWriter& refusals_;
  SessionDirectory& sessions_;
  ExchangeStarter& starter_;
  const std::shared_ptr<core::Gate>& gate_;
  std::vector<std::unique_ptr<PlainPass>> passes_;
};

}  // namespace lineward::client
