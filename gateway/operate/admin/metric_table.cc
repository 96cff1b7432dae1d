#include "operate/admin/metric_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

namespace lineward::admin {
namespace {

using M = Metric;
using T = MetricType;
using B = metrics::Buckets;

constexpr std::string_view kOperation =
    "mcp_method_name gen_ai_tool_name gen_ai_prompt_name error_type rpc_response_status_code "
    "mcp_protocol_version "
    "network_transport network_protocol_name upstream route";
constexpr std::string_view kClientOperation =
    "mcp_method_name gen_ai_tool_name gen_ai_prompt_name error_type rpc_response_status_code "
    "mcp_protocol_version "
    "network_transport network_protocol_name upstream route server_address server_port";
constexpr std::string_view kSession = "mcp_protocol_version network_transport";

constexpr std::array<MetricRow, static_cast<size_t>(M::count_)> kRows{{
    {M::server_operation, "mcp_server_operation_duration_seconds", T::histogram, B::mcp, kOperation,
     "Time of MCP requests from clients, from arrival to end.", ""},
    {M::client_operation, "mcp_client_operation_duration_seconds", T::histogram, B::mcp, kClientOperation,
     "Time of MCP requests to upstreams, from when they were written to their end.", ""},
    {M::server_session, "mcp_server_session_duration_seconds", T::histogram, B::mcp, kSession,
     "Life of legacy sessions of clients that have ended.", ""},
    {M::client_session, "mcp_client_session_duration_seconds", T::histogram, B::mcp, kSession,
     "Life of legacy sessions with stdio servers that have ended.", ""},
    {M::http_request, "http_server_request_duration_seconds", T::histogram, B::http,
     "http_request_method http_response_status_code url_scheme",
     "Time of HTTP requests from clients, streams included; status 499 is a client that left first.", ""},
    {M::http_active, "http_server_active_requests", T::gauge, B::mcp, "url_scheme",
     "HTTP requests of clients that are being answered.", ""},
    {M::requests, "lineward_requests_total", T::counter, B::mcp, "upstream route method reason",
     "MCP requests that have ended, by how (docs/errors.md).", ""},
    {M::in_flight, "lineward_requests_in_flight", T::gauge, B::mcp, "upstream route",
     "MCP requests that the upstream has, without listens.", ""},
    {M::queued, "lineward_requests_queued", T::gauge, B::mcp, "upstream route",
     "MCP requests that wait for a place or for the upstream to start.", ""},
    {M::queue_wait, "lineward_queue_wait_seconds", T::histogram, B::mcp, "upstream route",
     "How long requests waited for a place before they were written.", ""},
    {M::overhead, "lineward_overhead_seconds", T::histogram, B::precise, "direction",
     "Time that Lineward adds to a request that does not wait, and to its answer; one request in seven is "
     "measured.",
     ""},
    {M::timeouts, "lineward_timeouts_total", T::counter, B::mcp, "upstream route kind",
     "Requests that ran into a limit.", ""},
    {M::cancellations, "lineward_cancellations_total", T::counter, B::mcp, "upstream route initiator outcome",
     "Cancelled requests, by initiator and by what the upstream did.", ""},
    {M::cancel_latency, "lineward_cancel_latency_seconds", T::histogram, B::mcp, "upstream",
     "From a cancel that the upstream was told to its late answer, or to the end of its stream.", ""},
    {M::late_responses, "lineward_late_responses_total", T::counter, B::mcp, "upstream",
     "Answers that came after the cancel of their request and were swallowed.", ""},
    {M::cache, "lineward_cache_requests_total", T::counter, B::mcp, "upstream result",
     "Requests that may be answered from memory: hit, miss, shared (with one under way). Not without "
     "cache.enabled.",
     ""},
    {M::remembered, "lineward_remembered_answers_total", T::counter, B::mcp, "upstream result",
     "Answers from the memory of the last life (answered), and what the server's own answer showed later: "
     "same, different, failed (it did not come). Not without remember.lists.",
     ""},
    {M::subscriptions, "lineward_subscriptions", T::gauge, B::mcp, "upstream type",
     "Open listens of modern clients, by what they listen to.", ""},
    {M::subscription_events, "lineward_subscription_events_total", T::counter, B::mcp, "upstream type",
     "Notifications sent to listens.", ""},
    {M::sessions, "lineward_sessions", T::gauge, B::mcp, "upstream", "Open legacy sessions of clients.", ""},
    {M::client_connections, "lineward_client_connections", T::gauge, B::mcp, "",
     "Open connections of clients.", ""},
    {M::listener_connections, "lineward_listener_connections", T::gauge, B::mcp, "listener",
     "Open connections of each further listener (listeners); they count in lineward_client_connections too.",
     ""},
    {M::held_bytes, "lineward_buffered_bytes", T::gauge, B::mcp, "",
     "Bytes held for clients and servers: bodies, queues, backlogs (listen.maxBufferedBytes).", ""},
    {M::held_by_owner, "lineward_held_bytes", T::gauge, B::mcp, "owner",
     "Its parts, which add up to it: what is held as what (docs/limits.md).", ""},
    {M::overload, "lineward_overload_refused_total", T::counter, B::mcp, "limit",
     "Requests, streams and connections that a limit over all refused, or cut (docs/limits.md).", ""},
    {M::audit_records, "lineward_audit_records_total", T::counter, B::mcp, "",
     "Records that were taken for the audit log, of all workers. Not without `audit`.", ""},
    {M::audit_lost, "lineward_audit_lost_total", T::counter, B::mcp, "",
     "Records that were lost: the file could not be written, or they came too fast. A record says so.", ""},
    {M::audit_counted, "lineward_audit_counted_total", T::counter, B::mcp, "",
     "Refusals without a record of their own: a record a second says how many there were of each peer.", ""},
    {M::audit_writable, "lineward_audit_writable", T::gauge, B::mcp, "",
     "1 while the audit log can be written, 0 while it cannot.", ""},
    {M::log_left_out, "lineward_log_limited_total", T::counter, B::mcp, "",
     "Log lines beyond the rate of the peer that caused them; `log.limited` says how many, once a second.",
     ""},
    {M::log_lost, "lineward_log_lost_total", T::counter, B::mcp, "",
     "Log lines that stderr did not take: its reader is slow, or its disk is full.", ""},
    {M::limits, "lineward_limits_reached_total", T::counter, B::mcp, "limit",
     "How often a limit refused, cut or left out something, by the name of its option. Time limits that end "
     "calls are in lineward_timeouts_total.",
     ""},
    {M::replica_passed, "lineward_replica_passed_total", T::counter, B::mcp, "outcome",
     "Requests from another replica (in), passed to one (out), and those of them that it did not answer "
     "(failed). Not without replicas.",
     ""},
    {M::proxy_headers, "lineward_proxy_headers_total", T::counter, B::mcp, "result",
     "PROXY headers of trusted proxies: with the client's address (taken), without one (local), malformed or "
     "missing (bad), not in time (late); and connections from elsewhere, with `required` (untrusted). Not "
     "without listen.proxyProtocol.",
     ""},
    {M::tls_handshakes, "lineward_tls_handshakes_total", T::counter, B::mcp, "result",
     "TLS handshakes of clients: full, resumed (by a session ticket), failed. Not where no listener has tls.",
     ""},
    {M::tls_expiry, "lineward_tls_certificate_expiry_seconds", T::gauge, B::mcp, "listener certificate",
     "Seconds until a certificate of listen.tls, or of a further listener's tls, expires; negative "
     "afterwards. `certificate` is its first name; at most 1000 of them, those that expire first.",
     ""},
    {M::http2_connections, "lineward_http2_connections", T::gauge, B::mcp, "",
     "HTTP/2 connections of clients that are open.", ""},
    {M::http2_streams, "lineward_http2_streams_total", T::counter, B::mcp, "result",
     "Streams of HTTP/2 that ended: answered whole, left by the client, cut by Lineward, refused.", ""},
    {M::http2_faults, "lineward_http2_faults_total", T::counter, B::mcp, "fault",
     "HTTP/2 connections that Lineward ended because of their client. It reset streams too fast (resets), or "
     "sent too many control frames (control_frames). Its head was too large or too slow (head), or its "
     "frames were wrong (protocol).",
     ""},
    {M::upstream_http2_connections, "lineward_upstream_http2_connections", T::gauge, B::mcp, "upstream",
     "HTTP/2 connections to the server that are open. Not of a server that has had none.", ""},
    {M::upstream_http2_streams, "lineward_upstream_http2_streams_total", T::counter, B::mcp, "upstream",
     "Requests that were sent to the server over HTTP/2. Not of a server that has had none.", ""},
    {M::upstream_state, "lineward_upstream_state", T::gauge, B::mcp, "upstream state",
     "1 for the state that the upstream is in, 0 for the others; `open`: its circuit is.", ""},
    {M::origin_state, "lineward_origin_state", T::gauge, B::mcp, "upstream origin state",
     "1 for the state that an origin of the upstream is in, 0 for the others. Only with urls, as all of "
     "lineward_origin.",
     ""},
    {M::origin_in_flight, "lineward_origin_in_flight", T::gauge, B::mcp, "upstream origin",
     "Calls that the origin has now, without listens.", ""},
    {M::origin_sessions, "lineward_origin_sessions", T::gauge, B::mcp, "upstream origin",
     "Legacy sessions that were opened there.", ""},
    {M::origin_calls, "lineward_origin_calls_total", T::counter, B::mcp, "upstream origin",
     "Calls that were given to the origin.", ""},
    {M::origin_failures, "lineward_origin_failures_total", T::counter, B::mcp, "upstream origin",
     "Requests to it that failed: no connection, a broken one, HTTP 5xx, no answer in time.", ""},
    {M::origin_ejections, "lineward_origin_ejections_total", T::counter, B::mcp, "upstream origin",
     "How often it was ejected after failures in a row.", ""},
    {M::upstream_starts, "lineward_upstream_starts_total", T::counter, B::mcp, "upstream result",
     "Starts of the upstream's processes that got ready (ok) or did not (failed).", ""},
    {M::upstream_exits, "lineward_upstream_exits_total", T::counter, B::mcp, "upstream cause",
     "Ends of its processes: exit, a signal, killed by Lineward, or never spawned.", ""},
    {M::upstream_abandoned, "lineward_upstream_abandoned_total", T::counter, B::mcp, "upstream",
     "Processes that ended because the clients of their sessions had gone (sessionAbandoned).", ""},
    {M::upstream_start_duration, "lineward_upstream_start_duration_seconds", T::histogram, B::mcp, "upstream",
     "From the start of a process until it was ready.", ""},
    {M::upstream_cpu, "lineward_upstream_process_cpu_seconds_total", T::counter, B::mcp, "upstream instance",
     "CPU time of a process and of those below it.", ""},
    {M::upstream_memory, "lineward_upstream_process_resident_memory_bytes", T::gauge, B::mcp,
     "upstream instance", "Resident memory of a process and of those below it.", ""},
    {M::upstream_fds, "lineward_upstream_process_open_fds", T::gauge, B::mcp, "upstream instance",
     "Open file descriptors of a process and of those below it.", ""},
    {M::upstream_stderr, "lineward_upstream_stderr_lines_total", T::counter, B::mcp, "upstream",
     "Lines it wrote to stderr.", ""},
    {M::message_errors, "lineward_message_errors_total", T::counter, B::mcp, "upstream kind",
     "Messages from it that could not be used.", ""},
    {M::retries, "lineward_retries_total", T::counter, B::mcp, "upstream on",
     "Requests that were sent to a server once more, by why (retry); origin: to another of its origins.", ""},
    {M::plugin_decisions, "lineward_plugin_decisions_total", T::counter, B::mcp, "plugin decision kind",
     "Decisions of plugins: proceeded refused answered dropped waited failed; `kind` is the type of the "
     "plugin.",
     ""},
    {M::missing_parts, "lineward_aggregate_missing_parts_total", T::counter, B::mcp, "upstream",
     "Merged answers in which the upstream's part is missing or cut.", ""},
    {M::left_out_items, "lineward_aggregate_left_out_items_total", T::counter, B::mcp, "upstream",
     "Items of its lists that were left out because another upstream has their name.", ""},
    {M::bytes, "lineward_bytes_total", T::counter, B::mcp, "side direction",
     "Bytes from (in) and to (out) clients and upstreams, HTTP framing included, TLS not.", ""},
    {M::reload_successful, "lineward_config_last_reload_successful", T::gauge, B::mcp, "",
     "1 when the configuration that was read last is in force.", ""},
    {M::reload_timestamp, "lineward_config_last_reload_success_timestamp_seconds", T::gauge, B::mcp, "",
     "When the configuration in force was read.", ""},
    {M::reloads, "lineward_config_reloads_total", T::counter, B::mcp, "result",
     "Reloads of the configuration while running (docs/reload.md), ok or failed.", ""},
    {M::build_info, "lineward_build_info", T::gauge, B::mcp, "version revision compiler",
     "1; what was built.", ""},
    {M::loop_lag, "lineward_event_loop_lag_seconds", T::histogram, B::precise, "",
     "How late a timer that is due every second comes.", ""},
    {M::loop_lag_max, "lineward_event_loop_lag_recent_seconds", T::gauge, B::mcp, "worker",
     "The worst of that in the last minute, of this worker.", ""},
    {M::loop_turns, "lineward_event_loop_turn_seconds", T::histogram, B::turn, "worker",
     "How long turns of a worker's loop took to deal with what had come; timers aside, in whole "
     "milliseconds.",
     ""},
    {M::loop_longest_turn, "lineward_event_loop_longest_turn_seconds", T::gauge, B::mcp, "worker",
     "The longest of these since the start.", ""},
    {M::loop_stalls, "lineward_event_loop_stalls_total", T::counter, B::mcp, "",
     "How often the event loop was held up for `watchdog.warn`.", ""},
    {M::process_cpu, "process_cpu_seconds_total", T::counter, B::mcp, "", "CPU time of Lineward itself.", ""},
    {M::process_memory, "process_resident_memory_bytes", T::gauge, B::mcp, "",
     "Resident memory of Lineward itself.", ""},
    {M::process_virtual, "process_virtual_memory_bytes", T::gauge, B::mcp, "",
     "Virtual memory of Lineward itself.", ""},
    {M::process_open_fds, "process_open_fds", T::gauge, B::mcp, "",
     "Open file descriptors of Lineward itself.", ""},
    {M::process_max_fds, "process_max_fds", T::gauge, B::mcp, "", "How many it may have.", ""},
    {M::process_start, "process_start_time_seconds", T::gauge, B::mcp, "",
     "When Lineward started, as Unix time.", ""},
}};

constexpr bool in_order() {
  for (size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].metric != static_cast<M>(i)) return false;
  }
  return true;
}
static_assert(in_order());

constexpr std::string_view kPageHead = R"(# Metrics

`http://127.0.0.1:9464/metrics` (`ops.address`, `--ops`), in the Prometheus text format, and in that of
OpenMetrics 1.0 for a scraper that asks for it (`Accept: application/openmetrics-text`, as Prometheus does). This page is printed
by `lineward metrics` from the table behind it; a test compares. The same numbers go to an OTLP collector with the plugin
`otlpMetrics` ([telemetry.md](telemetry.md)).

Names follow OpenTelemetry's translation to Prometheus; those that begin with `mcp_` are the semantic conventions' for
MCP, which are still in development. Labels without a value are left out.

Labels are bounded. `gen_ai_tool_name` and `gen_ai_prompt_name` hold names from the upstream's own answers to
`tools/list` and `prompts/list`, at most 200 of each for one upstream. All other names are `_other`, and so is an
unknown method, revision or error code. URIs, sessions, clients and calls are never labels. `instance` is a small number
that is used again after a process has ended. `upstream="_none"` counts requests that were refused before they became a
call, by the `reason` of the log. A request without credentials is among them (`unauthorized`), though no plugin has
refused it. `route` is the path of several servers as one, for calls that came to their upstream by it. Calls directly
to the upstream have no such label. Calls of that path itself have the upstream of its name.

Exemplars: the plugin `trace` samples calls. Buckets of `mcp_server_operation_duration_seconds` and
`mcp_client_operation_duration_seconds` name their last sampled call by `trace_id` and `span_id`, in OpenMetrics and
over OTLP; for at most 200 series of each server.

The outcome of a cancel (`outcome`) is one of three. `stopped`: the request had not been sent yet, its HTTP stream was
closed, its process ended, or the server answered with an error. `raced`: the server answered with a result after all.
`ignored`: it sent nothing more within `cancelGrace`. A request that other callers wait for goes on: its server gets no
cancel, and no outcome is counted. The specification asks servers to be silent after a cancel, so `ignored` on stdio
does not say that the work went on; see `cancel: kill`.

)";

constexpr std::string_view kPageBuckets = R"(
Upper bounds of the buckets, in seconds:

)";

std::string spell_labels(std::string_view labels) {
  std::string out;
  while (!labels.empty()) {
    std::string_view one = labels.substr(0, labels.find(' '));
    labels.remove_prefix(std::min(labels.size(), one.size() + 1));
    out += fmt::format("{}`{}`", out.empty() ? "" : " ", one);
  }
  return out.empty() ? "–" : out;
}

std::string_view letter(metrics::Buckets buckets) {
  switch (buckets) {
    case B::mcp: return "M";
    case B::http: return "H";
    case B::precise: return "P";
    case B::turn: return "T";
  }
  return "";
}

}  // namespace

std::span<const MetricRow> metric_rows() {
  return kRows;
}

const MetricRow& row(Metric metric) {
  return kRows[static_cast<size_t>(metric)];
}

std::string_view name(MetricType type) {
  switch (type) {
    case T::counter: return "counter";
    case T::gauge: return "gauge";
    case T::histogram: return "histogram";
  }
  return "";
}

std::string metrics_page(plugin::Registry plugins) {
  std::string out(kPageHead);
  out += "| metric | type | labels | what |\n|---|---|---|---|\n";
  for (const MetricRow& one : kRows) {
    std::string type(name(one.type));
    if (one.type == T::histogram) type += fmt::format(" {}", letter(one.buckets));
    std::string help(one.help);
    if (!one.later.empty()) help += fmt::format(" Comes with {}; not shown until then.", one.later);
    out += fmt::format("| `{}` | {} | {} | {} |\n", one.name, type, spell_labels(one.labels), help);
  }
  out += "\nMetrics of configured plugins; each has the label `plugin`, the plugin's name:\n\n";
  out += "| metric | plugin | type | label | what |\n|---|---|---|---|---|\n";
  for (const plugin::Type& type : plugins) {
    for (const plugin::MetricRow& one : type.metrics)
      out += fmt::format("| `{}` | {} | {} | {} | {} |\n", one.name, type.spec->name, one.type,
                         spell_labels(one.label), one.help);
  }
  out += kPageBuckets;
  for (metrics::Buckets buckets : {B::mcp, B::http, B::precise, B::turn})
    out += fmt::format("- {}: {}\n", letter(buckets), fmt::join(bounds(buckets), " "));
  return out;
}

}  // namespace lineward::admin
