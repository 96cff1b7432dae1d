#include "operate/admin/metrics_reader.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foundation/base/memory_charge.h"
#include "foundation/log/log.h"
#include "operate/admin/metric_table.h"
#include "operate/admin/process_info.h"
#include "proxy/audit/audit.h"
#include "proxy/metrics/stats.h"

namespace lineward::admin {
namespace {

using metrics::MetricPoint;
using metrics::UpstreamStats;
using M = Metric;
using Labels = std::initializer_list<std::pair<const char*, std::string_view>>;
using State = core::UpstreamStatus::State;

class Families {
 public:
  Families() : all_(static_cast<size_t>(M::count_)) {
    for (const MetricRow& one : metric_rows()) {
      auto& family = all_[static_cast<size_t>(one.metric)];
      family.name = one.name;
      family.help = one.help;
      family.type = one.type;
    }
  }

  // A counter or a gauge. Labels without a value are omitted.
  void add(M metric, Labels labels, double value) { make(metric, labels).value = value; }
  void add(M metric, Labels labels, uint64_t value) { add(metric, labels, static_cast<double>(value)); }

  void add(M metric, Labels labels, const metrics::Histogram& histogram,
           const metrics::OperationSeries::Exemplars* exemplars = nullptr) {
    MetricPoint& made = make(metric, labels);
    made.histogram = histogram;
    if (exemplars == nullptr) return;
    for (size_t i = 0; i < exemplars->size(); ++i) {
      if ((*exemplars)[i].there()) made.exemplars.emplace_back(i, (*exemplars)[i]);
    }
  }

  // A plugin's metric: its type's row, and one more label if it has one.
  void add(const plugin::MetricRow& one, std::string_view plugin, std::string_view label, double value) {
    auto found =
        std::find_if(all_.begin(), all_.end(), [&](const auto& family) { return family.name == one.name; });
    if (found == all_.end()) {
      metrics::MetricFamily family;
      family.name = one.name;
      family.help = one.help;
      family.type = one.type == "gauge" ? MetricType::gauge : MetricType::counter;
      found = all_.insert(all_.end(), std::move(family));
    }
    MetricPoint& made = found->points.emplace_back();
    made.labels.emplace_back("plugin", std::string(plugin));
    if (!one.label.empty()) made.labels.emplace_back(std::string(one.label), std::string(label));
    made.value = value;
  }

  // Metrics without points are omitted.
  std::vector<metrics::MetricFamily> take() {
    std::erase_if(all_, [](const auto& family) { return family.points.empty(); });
    return std::move(all_);
  }

 private:
  MetricPoint& make(M metric, Labels labels) {
    MetricPoint& made = all_[static_cast<size_t>(metric)].points.emplace_back();
    for (const auto& [name, value] : labels) {
      if (!value.empty()) made.labels.emplace_back(name, std::string(value));
    }
    return made;
  }

  std::vector<metrics::MetricFamily> all_;
};

std::string_view method_label(mcp::Method method) {
  return method == mcp::Method::other ? std::string_view("_other") : mcp::row(method)->name;
}

// `route`: the aggregate's path for calls routed by it, else empty. `of`: the server's own counters, which
// have its transport.
void operations(Families& out, const UpstreamStats& stats, const UpstreamStats& of, std::string_view route,
                std::string_view client_transport) {
  using Exemplars = metrics::OperationSeries::Exemplars;
  auto add = [&](M metric, const metrics::Operation& operation, const metrics::Histogram& histogram,
                 const Exemplars* exemplars, std::string_view transport, std::string_view protocol,
                 std::string_view address, std::string_view port) {
    bool tool = operation.method == mcp::Method::tools_call;
    bool prompt = operation.method == mcp::Method::prompts_get;
    out.add(metric,
            {{"mcp_method_name", method_label(operation.method)},
             {"gen_ai_tool_name", tool ? stats.tools.name(operation.name) : std::string_view()},
             {"gen_ai_prompt_name", prompt ? stats.prompts.name(operation.name) : std::string_view()},
             {"error_type", metrics::error_type(operation)},
             {"rpc_response_status_code", metrics::status_code(operation)},
             {"mcp_protocol_version", metrics::revision_label(operation.revision)},
             {"network_transport", transport},
             {"network_protocol_name", protocol},
             {"upstream", stats.name},
             {"route", route},
             {"server_address", address},
             {"server_port", port}},
            histogram, exemplars);
  };
  stats.server_operations.for_each_with_exemplars([&](const metrics::Operation& operation,
                                                      const metrics::Histogram& histogram,
                                                      const Exemplars* exemplars) {
    add(M::server_operation, operation, histogram, exemplars, client_transport,
        client_transport == "pipe" ? "" : "http", "", "");
  });
  stats.client_operations.for_each_with_exemplars([&](const metrics::Operation& operation,
                                                      const metrics::Histogram& histogram,
                                                      const Exemplars* exemplars) {
    add(M::client_operation, operation, histogram, exemplars, of.transport,
        of.transport == "pipe" ? "" : "http", of.server_address, of.server_port);
  });
}

void ends(Families& out, const UpstreamStats& stats, std::string_view route) {
  constexpr std::string_view kTimeout = "timeout_";
  for (size_t method = 0; method < stats.ends.size(); ++method) {
    for (size_t reason = 0; reason < stats.ends[method].size(); ++reason) {
      uint64_t count = stats.ends[method][reason];
      bool first = static_cast<mcp::Method>(method) == mcp::Method::tools_call && reason == 0;
      if (count == 0 && !first) continue;
      out.add(M::requests,
              {{"upstream", stats.name},
               {"route", route},
               {"method", method_label(static_cast<mcp::Method>(method))},
               {"reason", mcp::kEndReasons[reason].name}},
              count);
    }
  }
  for (const mcp::EndReasonRow& row : mcp::kEndReasons) {
    if (row.kind != mcp::EndKind::timeout) continue;
    uint64_t count = 0;
    for (const auto& by_reason : stats.ends)
      count += by_reason[static_cast<size_t>(row.reason)];
    if (row.reason == mcp::EndReason::timeout_park) count = stats.park_timeouts;
    out.add(M::timeouts,
            {{"upstream", stats.name}, {"route", route}, {"kind", row.name.substr(kTimeout.size())}}, count);
  }
}

template <class Enum>
void by_label(Families& out, M metric, const UpstreamStats& stats, const char* label_name,
              const std::array<uint64_t, metrics::size_of<Enum>>& counts) {
  for (size_t i = 0; i < counts.size(); ++i)
    out.add(metric, {{"upstream", stats.name}, {label_name, metrics::label(static_cast<Enum>(i))}},
            counts[i]);
}

void waits_and_cancels(Families& out, const UpstreamStats& stats, std::string_view route) {
  std::string_view name = stats.name;
  out.add(M::queue_wait, {{"upstream", name}, {"route", route}}, stats.queue_wait);
  for (size_t i = 0; i < stats.cancellations.size(); ++i) {
    for (size_t o = 0; o < stats.cancellations[i].size(); ++o) {
      out.add(M::cancellations,
              {{"upstream", name},
               {"route", route},
               {"initiator", metrics::label(static_cast<metrics::CancelInitiator>(i))},
               {"outcome", metrics::label(static_cast<metrics::CancelOutcome>(o))}},
              stats.cancellations[i][o]);
    }
  }
}

// `first`: the first worker's counters for the server, where the aggregate counts missing parts.
void counters(Families& out, const UpstreamStats& stats, const UpstreamStats& first) {
  std::string_view name = stats.name;
  out.add(M::cancel_latency, {{"upstream", name}}, stats.cancel_latency);
  out.add(M::late_responses, {{"upstream", name}}, stats.late_responses);
  if (stats.cache_hits + stats.cache_misses > 0) {
    for (auto [result, count] : {std::pair("hit", stats.cache_hits), std::pair("miss", stats.cache_misses),
                                 std::pair("shared", stats.cache_shared)})
      out.add(M::cache, {{"upstream", name}, {"result", result}}, count);
  }
  if (stats.remembered.front() > 0)
    by_label<metrics::Remembered>(out, M::remembered, stats, "result", stats.remembered);
  if (stats.http2_streams > 0) {
    out.add(M::upstream_http2_connections, {{"upstream", name}},
            static_cast<double>(stats.http2_connections));
    out.add(M::upstream_http2_streams, {{"upstream", name}}, stats.http2_streams);
  }
  by_label<metrics::ListenType>(out, M::subscription_events, stats, "type", stats.subscription_events);
  out.add(M::upstream_starts, {{"upstream", name}, {"result", "ok"}}, stats.starts_ok);
  out.add(M::upstream_starts, {{"upstream", name}, {"result", "failed"}}, stats.starts_failed);
  out.add(M::upstream_abandoned, {{"upstream", name}}, stats.abandoned);
  by_label<metrics::ExitCause>(out, M::upstream_exits, stats, "cause", stats.exits);
  out.add(M::upstream_start_duration, {{"upstream", name}}, stats.start_duration);
  out.add(M::upstream_stderr, {{"upstream", name}}, stats.stderr_lines);
  by_label<metrics::MessageError>(out, M::message_errors, stats, "kind", stats.message_errors);
  by_label<metrics::RetryOn>(out, M::retries, stats, "on", stats.retries);
  out.add(M::missing_parts, {{"upstream", name}}, first.missing_parts);
  out.add(M::left_out_items, {{"upstream", name}}, first.left_out_items);
}

struct ServerProcess {
  std::string server;
  pid_t pid = 0;
  uint32_t instance = 0;
};

void process_of_server(Families& out, const ServerProcess& one) {
  ProcessInfo info;
  if (!read_tree(one.pid, info)) return;
  const std::string instance = std::to_string(one.instance);
  const Labels labels{{"upstream", one.server}, {"instance", instance}};
  out.add(M::upstream_cpu, labels, info.cpu_seconds);
  out.add(M::upstream_memory, labels, info.resident_bytes);
  out.add(M::upstream_fds, labels, info.open_fds);
}

void upstream_now(Families& out, const Sources& sources, const config::Server& server, size_t sessions,
                  std::vector<ServerProcess>& processes) {
  std::string_view name = server.name;
  const auto load = sources.load(server.name);
  out.add(M::in_flight, {{"upstream", name}}, uint64_t{load.in_flight});
  out.add(M::queued, {{"upstream", name}}, uint64_t{load.waiting});
  if (const config::Server* all = sources.aggregate(); all != nullptr && all != &server) {
    const auto routed = sources.routed(server.name);
    out.add(M::in_flight, {{"upstream", name}, {"route", all->name}}, uint64_t{routed.in_flight});
    out.add(M::queued, {{"upstream", name}, {"route", all->name}}, uint64_t{routed.waiting});
  }
  for (size_t i = 0; i < load.listens.size(); ++i)
    out.add(M::subscriptions,
            {{"upstream", name}, {"type", metrics::label(static_cast<metrics::ListenType>(i))}},
            load.listens[i]);
  out.add(M::sessions, {{"upstream", name}}, uint64_t{sessions});
  auto status = sources.status(server);
  for (size_t i = 0; i < static_cast<size_t>(State::count_); ++i) {
    auto state = static_cast<State>(i);
    out.add(M::upstream_state, {{"upstream", name}, {"state", core::name(state)}},
            status.state == state ? 1.0 : 0.0);
  }
  using OriginState = core::UpstreamStatus::Origin::State;
  for (const auto& origin : status.origins) {
    const Labels labels{{"upstream", name}, {"origin", origin.name}};
    for (size_t i = 0; i < static_cast<size_t>(OriginState::count_); ++i) {
      const auto state = static_cast<OriginState>(i);
      out.add(M::origin_state, {{"upstream", name}, {"origin", origin.name}, {"state", core::name(state)}},
              origin.state == state ? 1.0 : 0.0);
    }
    out.add(M::origin_in_flight, labels, uint64_t{origin.in_flight});
    out.add(M::origin_sessions, labels, uint64_t{origin.sessions});
    out.add(M::origin_calls, labels, origin.calls);
    out.add(M::origin_failures, labels, origin.failures);
    out.add(M::origin_ejections, labels, origin.ejections);
  }
  for (const auto& process : status.processes)
    processes.push_back({server.name, process.pid, process.instance});
}

// Several upstreams may have the same labels: they become one series, summed by revision.
void session_durations(Families& out, M metric, const std::array<metrics::Histogram, 8>& by_revision,
                       std::string_view transport) {
  for (size_t slot = 0; slot < by_revision.size(); ++slot) {
    if (by_revision[slot].count() == 0) continue;
    out.add(metric,
            {{"mcp_protocol_version", metrics::revision_label(static_cast<uint8_t>(slot))},
             {"network_transport", transport}},
            by_revision[slot]);
  }
}

// As Unix time.
double started_at(const Sources& sources) {
  auto up = sources.loop.now() - sources.started;
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch() - up).count();
}

void process_now(Families& out, const Sources& sources) {
  ProcessInfo info;
  if (!read_process(getpid(), info)) return;
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  const double started = started_at(sources);
  out.add(M::process_cpu, {}, seconds(usage.ru_utime) + seconds(usage.ru_stime));
  out.add(M::process_memory, {}, info.resident_bytes);
  out.add(M::process_virtual, {}, info.virtual_bytes);
  out.add(M::process_open_fds, {}, info.open_fds);
  out.add(M::process_max_fds, {}, static_cast<double>(files.rlim_cur));
  out.add(M::process_start, {}, started);
  const ReloadCounts& reloads = sources.reload.counts();
  out.add(M::reload_successful, {}, reloads.last_ok ? 1.0 : 0.0);
  out.add(M::reload_timestamp, {}, reloads.last_ok_at > 0 ? reloads.last_ok_at : started);
}

// Turns of a worker's loop; turns of less than 1 ms are not recorded individually.
metrics::Histogram turns_of(const net::Loop& loop) {
  const net::Loop::SlowTurns& slow = loop.slow_turns();
  metrics::Histogram out(metrics::Buckets::turn);
  uint64_t noted = 0;
  for (size_t i = 0; i < slow.counts.size(); ++i) {
    out.add_to(i, slow.counts[i]);
    noted += slow.counts[i];
  }
  const uint64_t turns = loop.turn();
  if (turns > noted) out.add_to(0, turns - noted);
  out.add_sum(static_cast<double>(slow.sum) / 1000);
  return out;
}

void loops_now(Families& out, const Sources& sources) {
  size_t number = 0;
  sources.each([&](const WorkerView& worker) {
    const std::string label = std::to_string(number++);
    out.add(M::loop_turns, {{"worker", label}}, turns_of(worker.loop));
    out.add(M::loop_longest_turn, {{"worker", label}},
            static_cast<double>(worker.loop.slow_turns().longest) / 1000);
    out.add(M::loop_lag_max, {{"worker", label}}, worker.stats.loop_lag_now);
  });
}

void gateway_now(Families& out, const Sources& sources, std::string_view client_transport) {
  metrics::GatewayStats all;
  uint64_t stalls = 0;
  sources.each([&](const WorkerView& worker) {
    all.add(worker.stats);
    stalls += worker.loop_watch.stalls();
  });
  const net::TlsListenerPtr tls = sources.tls();
  const std::string_view scheme = tls ? "https" : "http";
  all.http_requests.for_each([&](std::string_view method, int status, const metrics::Histogram& histogram) {
    out.add(M::http_request,
            {{"http_request_method", method},
             {"http_response_status_code", std::to_string(status)},
             {"url_scheme", scheme}},
            histogram);
  });
  out.add(M::http_active, {{"url_scheme", scheme}}, static_cast<double>(all.http_active));
  // A reason is always present, so that the series begins at 0.
  for (size_t i = 0; i < all.refused.size(); ++i) {
    const auto reason = static_cast<mcp::EndReason>(i);
    if (all.refused[i] == 0 && reason != mcp::EndReason::invalid_request) continue;
    out.add(M::requests, {{"upstream", "_none"}, {"method", "_other"}, {"reason", mcp::name(reason)}},
            all.refused[i]);
  }
  out.add(M::overhead, {{"direction", "request"}}, all.overhead_request);
  out.add(M::overhead, {{"direction", "response"}}, all.overhead_response);
  out.add(M::client_connections, {}, uint64_t{sources.connections()});
  for (const auto& [listener, count] : sources.listeners())
    out.add(M::listener_connections, {{"listener", listener}}, uint64_t{count});
  out.add(M::held_bytes, {}, static_cast<double>(MemoryCharge::total()));
  for (size_t i = 0; i < kHeldNames.size(); ++i)
    out.add(M::held_by_owner, {{"owner", kHeldNames[i]}}, MemoryCharge::total(static_cast<Held>(i)));
  for (size_t i = 0; i < all.limits.size(); ++i)
    out.add(M::limits, {{"limit", metrics::label(static_cast<metrics::Limit>(i))}}, all.limits[i]);
  for (size_t i = 0; i < all.overload.size(); ++i)
    out.add(M::overload, {{"limit", metrics::label(static_cast<metrics::Overload>(i))}}, all.overload[i]);
  out.add(M::log_left_out, {}, log::counts().left_out);
  out.add(M::log_lost, {}, log::counts().lost);
  if (audit::active()) {
    const audit::Counts records = audit::counts();
    out.add(M::audit_records, {}, records.records);
    out.add(M::audit_lost, {}, records.lost);
    out.add(M::audit_counted, {}, records.counted);
    out.add(M::audit_writable, {}, records.writable ? 1.0 : 0.0);
  }
  out.add(M::http2_connections, {}, static_cast<double>(all.http2_connections));
  for (size_t i = 0; i < all.http2_streams.size(); ++i)
    out.add(M::http2_streams, {{"result", metrics::label(static_cast<metrics::Http2Stream>(i))}},
            all.http2_streams[i]);
  for (size_t i = 0; i < all.http2_faults.size(); ++i)
    out.add(M::http2_faults, {{"fault", metrics::label(static_cast<metrics::Http2Fault>(i))}},
            all.http2_faults[i]);
  if (sources.config.listen.proxy_protocol != config::ProxyProtocol::off) {
    for (size_t i = 0; i < all.proxy_headers.size(); ++i)
      out.add(M::proxy_headers, {{"result", metrics::label(static_cast<metrics::ProxyHeader>(i))}},
              all.proxy_headers[i]);
  }
  const std::vector<Sources::Shown> certificates = sources.certificates();
  if (!certificates.empty()) {
    for (size_t i = 0; i < all.tls_handshakes.size(); ++i)
      out.add(M::tls_handshakes, {{"result", metrics::label(static_cast<metrics::TlsHandshake>(i))}},
              all.tls_handshakes[i]);
    // Two may have the same name, as those of RSA and ECDSA: the first to expire counts.
    std::map<std::pair<std::string_view, std::string>, std::chrono::system_clock::time_point> ends;
    for (const Sources::Shown& one : certificates) {
      const auto end = one.certificate->not_after();
      const auto known = ends.try_emplace({one.listener, one.certificate->title()}, end).first;
      known->second = std::min(known->second, end);
    }
    for (const auto& [of, end] : ends) {
      const auto left = end - std::chrono::system_clock::now();
      out.add(M::tls_expiry, {{"listener", of.first}, {"certificate", of.second}},
              std::chrono::duration<double>(left).count());
    }
  }
  if (!sources.config.replicas.key_file.empty()) {
    for (size_t i = 0; i < all.passed.size(); ++i)
      out.add(M::replica_passed, {{"outcome", metrics::label(static_cast<metrics::Passed>(i))}},
              all.passed[i]);
  }
  for (auto [side, label] :
       {std::pair(metrics::Side::client, "client"), std::pair(metrics::Side::upstream, "upstream")}) {
    out.add(M::bytes, {{"side", label}, {"direction", "in"}}, all.bytes_in[static_cast<size_t>(side)]);
    out.add(M::bytes, {{"side", label}, {"direction", "out"}}, all.bytes_out[static_cast<size_t>(side)]);
  }
  session_durations(out, M::server_session, all.server_sessions, client_transport);
  out.add(M::loop_lag, {}, all.loop_lag);
  loops_now(out, sources);
  out.add(M::loop_stalls, {}, stalls);
  out.add(M::reloads, {{"result", "ok"}}, sources.reload.counts().ok);
  out.add(M::reloads, {{"result", "failed"}}, sources.reload.counts().failed);
  out.add(M::build_info,
          {{"version", sources.version}, {"revision", sources.revision}, {"compiler", __VERSION__}}, 1.0);
}

// Counters of one plugin, summed over all workers.
class PluginNumbers final : public plugin::CounterSink {
 public:
  explicit PluginNumbers(std::span<const plugin::MetricRow> rows) : rows_(rows) {}
  void add(std::string_view metric, std::string_view label_value, double value) override {
    auto [found, first] = numbers.try_emplace({std::string(metric), std::string(label_value)}, value);
    if (first) return;
    const bool lowest = std::any_of(rows_.begin(), rows_.end(),
                                    [&](const auto& row) { return row.name == metric && row.lowest; });
    found->second = lowest ? std::min(found->second, value) : found->second + value;
  }
  std::map<std::pair<std::string, std::string>, double> numbers;

 private:
  std::span<const plugin::MetricRow> rows_;
};

void plugin_numbers(Families& out, const Sources& sources) {
  auto first = sources.workers.view(0).exchanges.plugins();
  if (!first) return;
  for (size_t i = 0; i < first->members().size(); ++i) {
    const auto& member = *first->members()[i];
    plugin::Decisions made;
    PluginNumbers numbers(member.type->metrics);
    sources.each([&](const WorkerView& worker) {
      auto plugins = worker.exchanges.plugins();
      if (!plugins || i >= plugins->members().size()) return;
      const auto& same = *plugins->members()[i];
      made.add(same.decisions);
      same.plugin->count(numbers);
    });
    for (auto [decision, count] : {std::pair("proceeded", made.proceeded), std::pair("refused", made.refused),
                                   std::pair("answered", made.answered), std::pair("dropped", made.dropped),
                                   std::pair("waited", made.waited), std::pair("failed", made.failed)})
      out.add(M::plugin_decisions,
              {{"plugin", member.entry.name}, {"decision", decision}, {"kind", member.type->spec->name}},
              count);
    for (const auto& [labels, value] : numbers.numbers) {
      for (const plugin::MetricRow& one : member.type->metrics) {
        if (one.name == labels.first) out.add(one, member.entry.name, labels.second, value);
      }
    }
  }
}

}  // namespace

struct MetricsReading::State {
  Families out;
  bool begun = false;
  std::string_view client_transport;
  std::map<std::string, size_t> sessions;
  std::map<std::string, std::array<metrics::Histogram, 8>> client_sessions;
  std::vector<std::string> servers;  // by name: the objects may be destroyed between two pieces
  size_t next = 0;
  std::vector<ServerProcess> processes;
  size_t next_process = 0;
  double started = 0;

  void begin(const Sources& sources);
  void read_server(const Sources& sources, const config::Server& server);
  void read_gateway(const Sources& sources);
};

MetricsReading::MetricsReading(const Sources& sources)
    : sources_(sources), state_(std::make_unique<State>()) {}

MetricsReading::~MetricsReading() = default;

void MetricsReading::State::begin(const Sources& sources) {
  begun = true;
  bool unix_socket = sources.front().address().rfind("unix:", 0) == 0;
  bool pipe = sources.front().address() == "stdio";
  client_transport = pipe ? "pipe" : unix_socket ? "unix" : "tcp";
  sessions = sources.sessions();
  for (const config::Server* shown : sources.servers())
    servers.push_back(shown->name);
}

void MetricsReading::State::read_server(const Sources& sources, const config::Server& server) {
  const auto sum = sources.stats(server.name);
  const UpstreamStats& stats = *sum;
  const auto at_all = sources.at_aggregate(server.name);
  const UpstreamStats& together = *at_all;
  operations(out, stats, stats, {}, client_transport);
  ends(out, stats, {});
  waits_and_cancels(out, stats, {});
  if (together.routed) {
    const std::string& route = sources.config.aggregate_server.name;
    operations(out, *together.routed, stats, route, client_transport);
    ends(out, *together.routed, route);
    waits_and_cancels(out, *together.routed, route);
  }
  counters(out, stats, together);
  upstream_now(out, sources, server, sessions[server.name], processes);
  for (size_t slot = 0; slot < stats.client_sessions.size(); ++slot)
    client_sessions[stats.transport][slot].add(stats.client_sessions[slot]);
}

void MetricsReading::State::read_gateway(const Sources& sources) {
  for (const auto& [transport, histograms] : client_sessions)
    session_durations(out, M::client_session, histograms, transport);
  gateway_now(out, sources, client_transport);
  process_now(out, sources);
  plugin_numbers(out, sources);
  started = started_at(sources);
}

bool MetricsReading::read_for(std::chrono::nanoseconds time) {
  const uint64_t until = net::Loop::nanoseconds() + static_cast<uint64_t>(time.count());
  State& state = *state_;
  if (!state.begun) state.begin(sources_);
  std::map<std::string_view, const config::Server*> shown;
  for (const config::Server* server : sources_.servers())
    shown.emplace(server->name, server);
  while (state.next < state.servers.size()) {
    auto server = shown.find(state.servers[state.next++]);
    if (server != shown.end()) state.read_server(sources_, *server->second);
    if (net::Loop::nanoseconds() >= until) return false;
  }
  state.read_gateway(sources_);
  return true;
}

bool MetricsReading::read_processes_for(std::chrono::nanoseconds time) {
  const uint64_t until = net::Loop::nanoseconds() + static_cast<uint64_t>(time.count());
  State& state = *state_;
  while (state.next_process < state.processes.size()) {
    process_of_server(state.out, state.processes[state.next_process++]);
    if (net::Loop::nanoseconds() >= until) return false;
  }
  return true;
}

metrics::MetricSnapshot MetricsReading::take() {
  metrics::MetricSnapshot snapshot;
  snapshot.started = state_->started;
  snapshot.families = state_->out.take();
  return snapshot;
}

std::optional<metrics::MetricSnapshot> read_metrics(const Sources& sources) {
  constexpr std::chrono::hours kWhole{1};
  MetricsReading reading(sources);
  if (!sources.workers.paused([&] { reading.read_for(kWhole); })) return std::nullopt;
  reading.read_processes_for(kWhole);
  return reading.take();
}

}  // namespace lineward::admin
