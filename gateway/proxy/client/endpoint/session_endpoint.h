// GET and DELETE at an MCP endpoint: the stream of a legacy session from its server to the client, and the
// end of a session. A server that keeps no sessions answers these itself; its answer is passed through
// unchanged (proxy/client/replica/pass_through_request.h).
//
// Owned by the HttpFront. Owns the pass-through answers; each is freed at the end of the turn in which it
// ends.
#pragma once

#include <memory>
#include <vector>

#include "proxy/client/endpoint/exchange_starter.h"
#include "proxy/client/http/client_connection.h"
#include "proxy/client/replica/pass_through_request.h"
#include "proxy/core/gate.h"

namespace lineward::client {

class SessionEndpoint {
 public:
  // `gate`: the current one, or null.
  SessionEndpoint(const EndpointParts& parts, const std::shared_ptr<core::Gate>& gate);
  SessionEndpoint(const SessionEndpoint&) = delete;
  SessionEndpoint& operator=(const SessionEndpoint&) = delete;

  void get(ClientConnection& connection);
  void remove(ClientConnection& connection);
  // The gateway stops: pass-through answers of servers have no end of their own.
  void drain();

 private:
  // Sends the server's events on this connection, resuming at the client's Last-Event-ID if it has one.
  void open_stream(ClientConnection& connection, Session& session);
  // True: the server keeps no sessions and answers this GET or DELETE.
  bool answered_by_server(ClientConnection& connection);
  void over(PassThroughRequest& pass);

  const EndpointParts parts_;
  const std::shared_ptr<core::Gate>& gate_;
  std::vector<std::unique_ptr<PassThroughRequest>> passes_;
};

}  // namespace lineward::client
