#include "plugins/trace/trace_options.h"

#include <algorithm>
#include <cstdlib>

namespace lineward::plugins {
namespace {

using config::Kind;
using config::plugin_option;

std::optional<double> ratio_of(const std::string& text) {
  char* end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(value >= 0 && value <= 1)) return std::nullopt;
  return value;
}

std::string_view check_ratio(const config::Value& value) {
  return value.text.empty() || ratio_of(value.text) ? "" : "sample is a number from 0 to 1";
}

}  // namespace

const config::PluginSpec& trace_spec() {
  static const config::PluginSpec kSpec = [] {
    config::PluginSpec spec{"trace",
                            "Trace context in _meta and headers, and spans by OTLP over HTTP.",
                            false,
                            otlp_option_rows(OtlpSignal::spans),
                            {}};
    for (auto&& one :
         {plugin_option("sample", Kind::text, "", 0, 0,
                        "Share of the traces that begin here, 0 to 1; a parent decides for its own. Empty: "
                        "OTEL_TRACES_SAMPLER, else 1.",
                        check_ratio),
          plugin_option("arguments", Kind::flag, "false", 0, 0,
                        "Put tools' arguments into spans (4 KiB), after redact."),
          plugin_option("results", Kind::flag, "false", 0, 0,
                        "Put tools' results into spans (4 KiB), after redact."),
          plugin_option("batch", Kind::count, "512", 1, 10000, "Spans in one request."),
          plugin_option("interval", Kind::duration, "5s", 10, 3600000, "How long a span waits for others."),
          plugin_option("queue", Kind::count, "2048", 1, 1000000, "Spans that wait; more are dropped.")})
      spec.options.push_back(one);
    return spec;
  }();
  return kSpec;
}

Result<TraceOptions> read_trace_options(const config::PluginValues& values, const Environment& environment) {
  TraceOptions out;
  auto exporter = read_otlp_options(OtlpSignal::spans, values, environment);
  if (!exporter) return fail(exporter.error().text);
  out.exporter = std::move(*exporter);
  out.exporter.batch = values.number("batch");
  out.exporter.queue = std::max<size_t>(values.number("queue"), out.exporter.batch);
  out.exporter.interval = values.duration("interval");
  out.arguments = values.flag("arguments");
  out.results = values.flag("results");

  std::string sampler = variable(environment, "OTEL_TRACES_SAMPLER");
  std::string argument = variable(environment, "OTEL_TRACES_SAMPLER_ARG");
  if (!values.text("sample").empty()) {
    out.ratio = *ratio_of(values.text("sample"));
  } else if (!sampler.empty()) {
    out.follow_parent = sampler.rfind("parentbased_", 0) == 0;
    std::string kind = out.follow_parent ? sampler.substr(12) : sampler;
    if (kind == "always_off") out.ratio = 0;
    if (kind == "traceidratio") out.ratio = ratio_of(argument).value_or(1);
  }
  return out;
}

void describe_server(const config::Config& config, std::string_view name, OtlpAttributes& out) {
  auto server = std::find_if(config.servers.begin(), config.servers.end(),
                             [&](const config::Server& one) { return one.name == name; });
  if (server == config.servers.end()) return;
  if (server->url.empty()) return out.text("network.transport", "pipe");
  out.text("network.transport", "tcp");
  out.text("network.protocol.name", "http");
  out.text("network.protocol.version", "1.1");  // Lineward's version towards servers
  std::string_view url = server->url;
  size_t begin = url.find("://");
  if (begin == std::string_view::npos) return;
  bool tls = url.substr(0, begin) == "https";
  url.remove_prefix(begin + 3);
  url = url.substr(0, url.find_first_of("/?#"));
  if (size_t at = url.rfind('@'); at != std::string_view::npos) url.remove_prefix(at + 1);
  size_t colon = url.rfind(':');
  if (colon != std::string_view::npos && url.find(']', colon) != std::string_view::npos)
    colon = std::string_view::npos;
  out.text("server.address", url.substr(0, colon));
  out.number("server.port", colon == std::string_view::npos
                                ? (tls ? 443 : 80)
                                : std::atoi(std::string(url.substr(colon + 1)).c_str()));
}

}  // namespace lineward::plugins
