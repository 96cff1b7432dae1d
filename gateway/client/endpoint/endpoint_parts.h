// What the endpoints of an HttpFront work with. Each is named once, where they are put together; all of it
// outlives the endpoints.
#pragma once

#include "client/endpoint/exchange_starter.h"
#include "client/endpoint/path_router.h"
#include "client/endpoint/refusal_writer.h"
#include "client/endpoint/session_directory.h"
#include "config/config.h"
#include "core/exchange_api.h"
#include "net/loop.h"

namespace lineward::client {

struct EndpointParts {
  net::Loop& loop;
  const config::Listen& config;
  const PathRouter& router;
  core::ExchangeApi& exchanges;
  const RefusalWriter& refusals;
  SessionDirectory& sessions;
  ExchangeStarter& starter;

  // No new streams while so much is held (listen.maxBufferedBytes); true after the request was refused.
  bool refuse_for_load(ClientConnection& connection) const;
};

}  // namespace lineward::client
