// Makes this process one of several replicas (docs/replicas.md): the shared keys and the connections to
// peers. Made from the configuration at start and at each reload.
#pragma once

#include <memory>

#include "base/result.h"
#include "client/endpoint/http_front.h"
#include "client/replica/replicas.h"
#include "config/config.h"
#include "core/peer_api.h"
#include "exchange/exchange_table.h"
#include "net/loop.h"

namespace lineward {

using Replication = client::ReplicaLinks;

// Reads the key file. Without HTTP clients there is nothing to replicate.
Result<Replication> make_replication(net::Loop& loop, const config::Config& config, bool has_http);
// `http` may be null.
void use_replication(Replication replication, client::HttpFront* http, exchange::ExchangeTable& exchanges);

}  // namespace lineward
