#include "proxy/client/endpoint/endpoint_parts.h"

#include "config/load_levels.h"
#include "proxy/metrics/stats.h"

namespace lineward::client {

bool EndpointParts::refuse_for_load(ClientConnection& connection) const {
  if (config::load_of(MemoryCharge::total(), config) < config::Load::no_streams) return false;
  ++metrics::stats().overload[static_cast<size_t>(metrics::Overload::streams)];
  metrics::limit_reached(metrics::Limit::buffered_bytes);
  refusals.refuse(connection, unavailable("no new streams for now (listen.maxBufferedBytes)"));
  return true;
}

}  // namespace lineward::client
