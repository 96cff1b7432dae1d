// JSON-RPC batches in sessions of 2025-03-26, the only revision that has them. Each request of a batch is an
// exchange of its own, and all their answers go out on one stream (client/endpoint/batch_reply.h). What is no message
// makes one error in the answer; a body that is no batch at all is refused.
//
// Owned by the McpEndpoint.
#pragma once

#include <string>
#include <vector>

#include "client/http/client_connection.h"
#include "client/endpoint/exchange_starter.h"
#include "client/endpoint/refusal_writer.h"
#include "client/endpoint/session_directory.h"
#include "config/config.h"
#include "core/exchange_door.h"

namespace lineward::client {

class BatchEndpoint {
 public:
  BatchEndpoint(const config::Listen& config, core::ExchangeDoor& door, const RefusalWriter& refusals,
                SessionDirectory& sessions, ExchangeStarter& starter);
  BatchEndpoint(const BatchEndpoint&) = delete;
  BatchEndpoint& operator=(const BatchEndpoint&) = delete;

  // `body`: a JSON array, by its first character.
  void post(ClientConnection& connection, const std::string& server, const std::string& body);

 private:
  void start(ClientConnection& connection, Session& session, const core::Arrival& pattern,
             std::vector<mcp::Message> requests, const std::vector<std::string>& errors);

  const config::Listen& config_;
  core::ExchangeDoor& door_;
  const RefusalWriter& refusals_;
  SessionDirectory& sessions_;
  ExchangeStarter& starter_;
};

}  // namespace lineward::client
