// The limits that refuse, cut or drop something, named as their options (docs/limits.md). Each limit is
// counted where it is enforced. Timeouts that end calls are counted with the ends.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lineward::metrics {

enum class Limit : uint8_t {
  buffered_bytes,
  buffered_bytes_per_principal,
  in_flight,
  in_flight_per_principal,
  connections,
  connections_per_address,
  open_files,
  sessions,
  max_principal_percent,
  head_bytes,
  fields,
  head_timeout,
  read_timeout,
  write_timeout,
  body_bytes,
  stream_backlog,
  request_bytes,
  queue,
  parked,
  parked_per_caller,
  parked_bytes,
  message_bytes,
  list_bytes,
  server_connections,
  server_sessions,
  own_sessions,
  instances,
  acknowledge,
  part_bytes,
  part_items,
  part_timeout,
  remembered_bytes,
  count_
};

inline constexpr std::array<std::string_view, static_cast<size_t>(Limit::count_)> kLimitNames{
    "listen.maxBufferedBytes",
    "listen.maxBufferedBytesPerPrincipal",
    "listen.maxInFlight",
    "listen.maxInFlightPerPrincipal",
    "listen.maxConnections",
    "listen.maxConnectionsPerAddress",
    "openFiles",
    "listen.maxSessions",
    "listen.maxPrincipalPercent",
    "listen.maxHeadBytes",
    "listen.maxFields",
    "listen.headTimeout",
    "listen.readTimeout",
    "listen.writeTimeout",
    "listen.maxBodyBytes",
    "listen.maxStreamBacklogBytes",
    "limits.maxRequestBytes",
    "limits.maxQueue",
    "limits.maxParked",
    "limits.maxParkedPerCaller",
    "limits.maxParkedBytes",
    "limits.maxMessageBytes",
    "limits.maxListBytes",
    "limits.maxConnections",
    "limits.maxSessions",
    "limits.maxGatewaySessions",
    "instances",
    "timeouts.acknowledge",
    "aggregate.maxPartBytes",
    "aggregate.maxItems",
    "aggregate.partTimeout",
    "remember.maxBytes",
};

constexpr std::string_view label(Limit limit) {
  return kLimitNames[static_cast<size_t>(limit)];
}

// Counts one use of the limit, on this thread.
void limit_reached(Limit limit);

}  // namespace lineward::metrics
