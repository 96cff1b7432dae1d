// Makes this process one of several replicas (docs/replicas.md): the shared keys and the connections to
// peers. Made from the configuration at start and at each reload.
#pragma once

#include "config/config.h"
#include "foundation/base/result.h"
#include "foundation/net/loop.h"
#include "proxy/client/endpoint/http_front.h"
#include "proxy/client/replica/replicas.h"
#include "proxy/exchange/exchange_table.h"
#include "proxy/upstream/http_client/peer_link.h"

namespace lineward::runtime {

using Replication = client::ReplicaLinks;

// Reads the key file. Without HTTP clients there is nothing to replicate.
Result<Replication> make_replication(net::Loop& loop, const config::Config& config, bool has_http);
// `http` may be null.
void use_replication(Replication replication, client::HttpFront* http, exchange::ExchangeTable& exchanges);

}  // namespace lineward::runtime
