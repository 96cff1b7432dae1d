#include "operate/share/share_config.h"

#include <algorithm>
#include <chrono>

#include "config/aggregate.h"
#include "config/retry_words.h"

namespace lineward::share {
namespace {

using std::chrono::milliseconds;
using namespace std::chrono_literals;

// Longer than any client runs.
constexpr milliseconds kForever = 24h * 365;
// The gateway reaches its limits first, and tells which.
constexpr milliseconds kLater = 30s;
constexpr uint32_t kMany = 1'000'000;
// A gateway that was killed is there again within this many attempts: 50, 100, 200 … ms apart, 13 s in all.
constexpr uint32_t kConnectAttempts = 9;
constexpr milliseconds kConnectPause = 50ms;
// Above that of a server's message: the gateway adds to it.
constexpr uint64_t kMessageRoom = 1 << 20;
constexpr const char* kPath = "/mcp";
constexpr const char* kStateHeader = "Lineward-Session";

// A call of this server ends there by then. Each round of questions waits for its client.
milliseconds longest_call(const config::Server& server) {
  constexpr int kRounds = 10;
  milliseconds most = server.timeouts.max_duration;
  for (const auto* overrides : {&server.method_timeouts, &server.tool_timeouts}) {
    for (const config::TimeoutOverride& one : *overrides)
      most = std::max(most, one.max_duration.value_or(0ms));
  }
  return server.limits.queue_timeout + server.timeouts.startup + most + kRounds * server.timeouts.park;
}

std::string server_name(const config::Config& config) {
  if (config::is_aggregated(config)) return "shared";
  for (const config::Server& server : config.servers) {
    if (!server.disabled) return server.name;
  }
  return "shared";
}

}  // namespace

config::Config gateway_config(config::Config config, const SharePlace& place) {
  const config::Listen before = config.listen;
  config::Listen listen;
  listen.address = "unix:" + place.mcp;
  listen.path = kPath;
  listen.write_timeout = before.write_timeout;
  listen.keep_alive = before.keep_alive;
  listen.max_body_bytes = before.max_body_bytes;
  listen.max_depth = before.max_depth;
  listen.resume_window = before.resume_window;
  listen.max_stream_backlog_bytes = before.max_stream_backlog_bytes;
  listen.max_buffered_bytes = before.max_buffered_bytes;
  listen.max_buffered_bytes_per_principal = before.max_buffered_bytes;
  listen.max_in_flight = before.max_in_flight;
  // Each client ends its session itself, or its lease does.
  listen.session_idle = kForever;
  listen.max_principal_percent = 100;
  listen.probe = false;
  config.listen = listen;
  config.listeners.clear();
  config.auth = {};
  config.replicas = {};
  config.reload = {};
  config.aggregate.path.clear();
  config.aggregate_server.name = config::aggregate_path(config);
  config.workers = 1;
  config.shutdown.delay = 0ms;
  for (config::Server& server : config.servers)
    server.session_abandoned = 0ms;
  return config;
}

milliseconds start_limit(const config::Config& config) {
  milliseconds longest{0};
  for (const config::Server& server : config.servers) {
    if (!server.disabled) longest = std::max(longest, server.timeouts.startup);
  }
  return longest;
}

config::Config client_config(const config::Config& config, const SharePlace& place,
                             const std::string& token) {
  config::Config out;
  out.listen = config.listen;
  out.log = config.log;
  out.watchdog = config.watchdog;
  out.shutdown = config.shutdown;
  out.ops.address = "off";
  out.admin.address = "off";
  config::Server server;
  server.name = server_name(config);
  server.url = "unix:" + place.mcp + ":" + kPath;
  server.headers.emplace_back(kStateHeader, token);
  server.timeouts.startup = start_limit(config) + kLater;
  milliseconds longest = kLater;
  for (const config::Server& one : config.servers) {
    if (one.disabled) continue;
    longest = std::max(longest, longest_call(one) + kLater);
    server.timeouts.acknowledge = std::max(server.timeouts.acknowledge, one.timeouts.acknowledge * 2);
    server.limits.max_message_bytes =
        std::max(server.limits.max_message_bytes, one.limits.max_message_bytes + kMessageRoom);
    server.limits.max_list_bytes = std::max(server.limits.max_list_bytes, one.limits.max_list_bytes);
  }
  server.limits.max_list_bytes = std::max(server.limits.max_list_bytes, server.limits.max_message_bytes);
  server.limits.max_in_flight = server.limits.max_queue = server.limits.max_parked = kMany;
  server.limits.max_parked_per_caller = kMany;
  server.limits.max_parked_bytes = server.limits.max_message_bytes * 16;
  server.limits.queue_timeout = longest;
  // The gateway holds the limits of its servers. These end a call if the gateway itself hangs.
  server.timeouts.request = server.timeouts.max_duration = server.timeouts.park = longest;
  server.circuit_breaker.consecutive_failures = 0;
  server.origins.eject_after = 0;
  server.retry.attempts = kConnectAttempts;
  server.retry.on = {"connect", std::string(config::kRetryHandshake)};
  server.retry.backoff = kConnectPause;
  server.retry.budget = kMany;
  server.required = false;
  out.servers.push_back(server);
  out.aggregate.enabled = false;
  out.aggregate_server.protocol_era = config::Era::modern;
  out.aggregate_server.name = config::aggregate_path(out);
  return out;
}

}  // namespace lineward::share
