// POST at an MCP endpoint, in both eras: one message, or in sessions of 2025-03-26 a batch. Determines the
// era and session of each message by its head and body, refuses messages that match none, and hands the
// others to the exchanges.
//
// Owned by the HttpFront. Must be notified of each closed connection.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "foundation/net/lifetime.h"
#include "proxy/client/endpoint/batch_endpoint.h"
#include "proxy/client/endpoint/exchange_starter.h"
#include "proxy/client/endpoint/peer_router.h"
#include "proxy/client/endpoint/session_opener.h"
#include "proxy/client/http/client_connection.h"

namespace lineward::client {

class McpEndpoint final {
 public:
  McpEndpoint(const EndpointParts& parts, PeerRouter& peers);
  McpEndpoint(const McpEndpoint&) = delete;
  McpEndpoint& operator=(const McpEndpoint&) = delete;

  void post(ClientConnection& connection, const std::string& server, std::string body);
  // The same for a removed server. Its sessions last until their calls have ended: cancels, and answers to
  // the server's requests, must still reach it. False: the message is neither.
  bool post_to_leaving(ClientConnection& connection, const std::string& server, std::string body);
  void client_left(ClientConnection& connection);
  // For SessionOpener: the request goes on.
  void on_session_opened(ClientConnection& connection, const std::string& server, mcp::Message message,
                         uint64_t bytes);
  // Requests that wait for a session which Lineward opens for them.
  size_t waiting() const { return opener_.waiting(); }

 private:
  void request(ClientConnection& connection, const std::string& server, mcp::Message&& message,
               uint64_t bytes);
  void modern_request(ClientConnection& connection, const std::string& server, mcp::Message&& message,
                      uint64_t bytes);
  void initialize(ClientConnection& connection, const std::string& server, mcp::Message&& message,
                  uint64_t bytes);
  void request_in_session(ClientConnection& connection, const std::string& server, mcp::Message&& message,
                          uint64_t bytes);
  void request_without_session(ClientConnection& connection, const std::string& server,
                               mcp::Message&& message, uint64_t bytes);
  void start_probe(ClientConnection& connection, core::IncomingMessage&& arrival, mcp::Message message);
  void start_with_state(ClientConnection& connection, core::IncomingMessage&& arrival, mcp::Message message);
  void notification(ClientConnection& connection, const std::string& server, mcp::Message message);
  void no_message_came(ClientConnection& connection, const mcp::MessageFault& fault);
  // With `refusal` the client gets that instead of 202: its answer was invalid.
  void answer(ClientConnection& connection, mcp::Message message, const HttpError* refusal = nullptr);
  std::vector<std::string> versions_to_tell(const std::string& server, std::string_view asked_for) const;
  void accept_when_settled(ClientConnection& connection, const Session& session);
  void refuse_without_session(ClientConnection& connection, std::string_view raw_id);

  const EndpointParts parts_;
  PeerRouter& peers_;
  BatchEndpoint batches_;
  SessionOpener opener_;
  std::unordered_map<ClientConnection*, std::unique_ptr<net::Timer>> unsettled_;
  net::Lifetime lifetime_;
};

}  // namespace lineward::client
