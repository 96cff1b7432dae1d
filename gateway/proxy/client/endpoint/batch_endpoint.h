// JSON-RPC batches in sessions of 2025-03-26, the only revision that has them. Each request of a batch is an
// exchange of its own; all answers go out on one stream (proxy/client/endpoint/batch_reply.h). Each invalid
// message adds one error to the answer; a body that is not a valid batch is refused. Notifications and
// answers are dropped unless the sender owns the session.
//
// Owned by the McpEndpoint.
#pragma once

#include <string>
#include <vector>

#include "proxy/client/endpoint/exchange_starter.h"
#include "proxy/client/endpoint/peer_router.h"
#include "proxy/client/http/client_connection.h"

namespace lineward::client {

class BatchEndpoint {
 public:
  BatchEndpoint(const EndpointParts& parts, PeerRouter& peers);
  BatchEndpoint(const BatchEndpoint&) = delete;
  BatchEndpoint& operator=(const BatchEndpoint&) = delete;

  // `body`: a JSON array, by its first character.
  void post(ClientConnection& connection, const std::string& server, const std::string& body);

 private:
  void start(ClientConnection& connection, Session& session, const core::IncomingMessage& pattern,
             std::vector<mcp::Message> requests, const std::vector<std::string>& errors);

  std::string hand_in(const core::IncomingMessage& pattern, mcp::Message&& message, core::AnswerCame came);

  const EndpointParts parts_;
  PeerRouter& peers_;
};

}  // namespace lineward::client
