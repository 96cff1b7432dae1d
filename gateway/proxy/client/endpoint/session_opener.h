// Opens a legacy session for a client that sends no `initialize`: Lineward sends one, and the answer shows
// whether the server keeps sessions at all. Requests that arrive meanwhile wait here, counted, and then go on
// or are refused.
//
// Owned by the McpEndpoint. Must be notified of each closed connection.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "foundation/base/memory_charge.h"
#include "foundation/net/lifetime.h"
#include "protocol/mcp/message.h"
#include "proxy/client/endpoint/exchange_starter.h"
#include "proxy/client/http/client_connection.h"

namespace lineward::client {

class McpEndpoint;

class SessionOpener {
 public:
  // `asker` gets each request back when its session is initialized, or when its server turns out to keep no
  // sessions.
  SessionOpener(const EndpointParts& parts, McpEndpoint& asker);
  SessionOpener(const SessionOpener&) = delete;
  SessionOpener& operator=(const SessionOpener&) = delete;

  // The request waits for `session`, which is being opened; null: one is created for it.
  void open_for(ClientConnection& connection, const std::string& server, Session* session,
                mcp::Message&& message, uint64_t bytes);
  void client_left(ClientConnection& connection) { waiting_.erase(&connection); }
  // Requests that wait.
  size_t waiting() const { return waiting_.size(); }

 private:
  struct Waiting {
    std::string session, server;
    mcp::Message message;
    uint64_t bytes = 0;
    MemoryCharge held{Held::sessions};
  };
  void initialize(ClientConnection& connection, const std::string& server, Session& session);
  void answered(const std::string& session, std::string answer, int status,
                const core::HeaderFields& headers);
  // Sends `notifications/initialized`, or drops a session that no client can find again.
  void settle(Session& session, bool wanted);
  void fail(ClientConnection& connection, const Waiting& waited, const mcp::Message* answer, int status,
            const core::HeaderFields& headers);

  const EndpointParts parts_;
  McpEndpoint& asker_;
  std::unordered_map<ClientConnection*, std::unique_ptr<Waiting>> waiting_;
  net::Lifetime lifetime_;
};

}  // namespace lineward::client
