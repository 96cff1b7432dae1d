// The only table of metrics: name, type, labels, buckets and help. /metrics and docs/metrics.md are generated
// from it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "proxy/metrics/histogram.h"
#include "proxy/metrics/snapshot.h"
#include "proxy/plugin/plugin.h"

namespace lineward::admin {

enum class Metric : uint8_t {
  server_operation,
  client_operation,
  server_session,
  client_session,
  http_request,
  http_active,
  requests,
  in_flight,
  queued,
  queue_wait,
  overhead,
  timeouts,
  cancellations,
  cancel_latency,
  late_responses,
  cache,
  remembered,
  subscriptions,
  subscription_events,
  sessions,
  client_connections,
  listener_connections,
  held_bytes,
  held_by_owner,
  overload,
  audit_records,
  audit_lost,
  audit_counted,
  audit_writable,
  log_left_out,
  log_lost,
  limits,
  replica_passed,
  proxy_headers,
  tls_handshakes,
  tls_expiry,
  http2_connections,
  http2_streams,
  http2_faults,
  upstream_http2_connections,
  upstream_http2_streams,
  upstream_state,
  origin_state,
  origin_in_flight,
  origin_sessions,
  origin_calls,
  origin_failures,
  origin_ejections,
  upstream_starts,
  upstream_exits,
  upstream_abandoned,
  upstream_start_duration,
  upstream_cpu,
  upstream_memory,
  upstream_fds,
  upstream_stderr,
  message_errors,
  retries,
  plugin_decisions,
  missing_parts,
  left_out_items,
  bytes,
  reload_successful,
  reload_timestamp,
  reloads,
  build_info,
  loop_lag,
  loop_lag_max,
  loop_turns,
  loop_longest_turn,
  loop_stalls,
  process_cpu,
  process_memory,
  process_virtual,
  process_open_fds,
  process_max_fds,
  process_start,
  count_
};

using metrics::MetricType;

struct MetricRow {
  Metric metric;
  std::string_view name;
  MetricType type;
  metrics::Buckets buckets;  // of a histogram
  std::string_view labels;   // "upstream method reason"
  std::string_view help;     // one line
  std::string_view later;    // the feature it waits for, if nothing is counted yet; else empty
};

std::span<const MetricRow> metric_rows();
const MetricRow& row(Metric metric);
std::string_view name(MetricType type);

// The whole docs/metrics.md.
std::string metrics_page(plugin::Registry plugins);

}  // namespace lineward::admin
