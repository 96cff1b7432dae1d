// References shared by the endpoints of an HttpFront. All of them outlive the endpoints.
#pragma once

#include "config/config.h"
#include "foundation/net/loop.h"
#include "proxy/client/endpoint/exchange_starter.h"
#include "proxy/client/endpoint/path_router.h"
#include "proxy/client/endpoint/refusal_writer.h"
#include "proxy/client/endpoint/session_directory.h"
#include "proxy/core/exchange_api.h"

namespace lineward::client {

struct EndpointParts {
  net::Loop& loop;
  const config::Listen& config;
  const PathRouter& router;
  core::ExchangeApi& exchanges;
  const RefusalWriter& refusals;
  SessionDirectory& sessions;
  ExchangeStarter& starter;

  // Refuses new streams when too many bytes are held (listen.maxBufferedBytes); true: the request was
  // refused.
  bool refuse_for_load(ClientConnection& connection) const;
};

}  // namespace lineward::client
