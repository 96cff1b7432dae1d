// References shared by the endpoints of an HttpFront. All of them outlive the endpoints.
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

  // Refuses new streams when too many bytes are held (listen.maxBufferedBytes); true: the request was
  // refused.
  bool refuse_for_load(ClientConnection& connection) const;
};

}  // namespace lineward::client
