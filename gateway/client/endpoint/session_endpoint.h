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

#include "client/endpoint/endpoint_parts.h"
#include "client/http/client_connection.h"
#include "client/replica/plain_pass.h"
#include "core/gate.h"

namespace lineward::client {

class SessionEndpoint {
 public:
  // `gate`: the one of today, or null.
  SessionEndpoint(const EndpointParts& parts, const std::shared_ptr<core::Gate>& gate);
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
  void over(PlainPass& pass);

  const EndpointParts parts_;
  const std::shared_ptr<core::Gate>& gate_;
  std::vector<std::unique_ptr<PlainPass>> passes_;
};

}  // namespace lineward::client
