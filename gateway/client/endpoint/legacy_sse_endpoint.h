// The HTTP+SSE transport of 2024-11-05 towards clients, off by default (`listen.legacySse`): a GET stream
// that begins with the address for POSTs, and carries every message of the server. The stream is the session:
// both end together.
//
// Owned by the HttpFront.
#pragma once

#include <string>

#include "client/http/client_connection.h"
#include "client/endpoint/exchange_starter.h"
#include "client/endpoint/path_router.h"
#include "client/endpoint/refusal_writer.h"
#include "client/endpoint/session_directory.h"
#include "config/config.h"
#include "core/exchange_door.h"

namespace lineward::client {

class LegacySseEndpoint {
 public:
  LegacySseEndpoint(net::Loop& loop, const config::Listen& config, const PathRouter& router,
                    core::ExchangeDoor& door, const RefusalWriter& refusals, SessionDirectory& sessions,
                    const ExchangeStarter& starter);
  LegacySseEndpoint(const LegacySseEndpoint&) = delete;
  LegacySseEndpoint& operator=(const LegacySseEndpoint&) = delete;

  // False when the path is none of its; `body` is taken only where it is.
  bool serve(ClientConnection& connection, std::string& body);

 private:
  void open(ClientConnection& connection, const std::string& server);
  void post(ClientConnection& connection, const std::string& server, std::string body);

  net::Loop& loop_;
  const config::Listen& config_;
  const PathRouter& router_;
  core::ExchangeDoor& door_;
  const RefusalWriter& refusals_;
  SessionDirectory& sessions_;
  const ExchangeStarter& starter_;
};

}  // namespace lineward::client
