// The HTTP+SSE transport of 2024-11-05 towards clients, off by default (`listen.legacySse`). A GET stream
// begins with the address for POSTs and carries every message of the server. The stream is the session: both
// end together.
//
// Owned by the HttpFront.
#pragma once

#include <string>

#include "proxy/client/endpoint/exchange_starter.h"
#include "proxy/client/http/client_connection.h"

namespace lineward::client {

class LegacySseEndpoint {
 public:
  explicit LegacySseEndpoint(const EndpointParts& parts);
  LegacySseEndpoint(const LegacySseEndpoint&) = delete;
  LegacySseEndpoint& operator=(const LegacySseEndpoint&) = delete;

  // False: the path is not one of this endpoint. `body` is consumed only when true.
  bool serve(ClientConnection& connection, std::string& body);
  // A reload changed the paths: streams of a path that is no longer offered end with their last call.
  void paths_changed();

 private:
  void open(ClientConnection& connection, const std::string& server, const std::string& post_path);
  void post(ClientConnection& connection, const std::string& server, std::string body);
  void refuse_modern(ClientConnection& connection, Session& session, const mcp::Message& message);

  const EndpointParts parts_;
};

}  // namespace lineward::client
