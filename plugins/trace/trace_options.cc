#include "plugins/trace/trace_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "http/char_class.h"

namespace lineward::plugins {
namespace {

using config::Kind;
using config::plugin_option;

// `a=b,c=d`, values percent-encoded (W3C baggage's form, as OpenTelemetry's variables have it).
std::vector<std::pair<std::string, std::string>> pairs_of(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> out;
  while (!text.empty() && out.size() < 64) {
    std::string_view one = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
    size_t equals = one.find('=');
    if (equals == std::string_view::npos) continue;
    auto trim = [](std::string_view s) {
      while (!s.empty() && s.front() == ' ')
        s.remove_prefix(1);
      while (!s.empty() && s.back() == ' ')
        s.remove_suffix(1);
      return s;
    };
    std::string value;
    std::string_view raw = trim(one.substr(equals + 1));
    for (size_t i = 0; i < raw.size(); ++i) {
      bool coded = raw[i] == '%' && i + 2 < raw.size() && http::hex_value(raw[i + 1]) >= 0 &&
                   http::hex_value(raw[i + 2]) >= 0;
      value +=
          coded ? static_cast<char>(http::hex_value(raw[i + 1]) * 16 + http::hex_value(raw[i + 2])) : raw[i];
      if (coded) i += 2;
    }
    out.emplace_back(trim(one.substr(0, equals)), std::move(value));
  }
  return out;
}

std::optional<double> ratio_of(const std::string& text) {
  char* end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(value >= 0 && value <= 1)) return std::nullopt;
  return value;
}

std::string_view check_ratio(const config::Value& value) {
  return value.text.empty() || ratio_of(value.text) ? "" : "sample is a number from 0 to 1";
}

bool is_plain(const std::pair<std::string, std::string>& header) {
  return !header.first.empty() && std::all_of(header.first.begin(), header.first.end(), http::is_tchar) &&
         std::none_of(header.second.begin(), header.second.end(), http::is_control);
}

}  // namespace

const config::PluginSpec& trace_spec() {
  static const config::PluginSpec kSpec{
      "trace",
      "Trace context in _meta and headers, and spans by OTLP over HTTP.",
      false,
      {plugin_option(
           "endpoint", Kind::text, "", 0, 0,
           "Where spans go: http://127.0.0.1:4318/v1/traces. Empty: OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, "
           "OTEL_EXPORTER_OTLP_ENDPOINT and /v1/traces; none: context is passed on, nothing is sent."),
       plugin_option("headers", Kind::map, "", 0, 0,
                     "On requests to it; values may be secrets. Also OTEL_EXPORTER_OTLP_HEADERS."),
       plugin_option("caFile", Kind::text, "", 0, 0, "Authorities to trust for it (PEM)."),
       plugin_option("serviceName", Kind::text, "", 0, 0, "Empty: OTEL_SERVICE_NAME, else lineward."),
       plugin_option("sample", Kind::text, "", 0, 0,
                     "Share of the traces that begin here, 0 to 1; a parent decides for its own. Empty: "
                     "OTEL_TRACES_SAMPLER, else 1.",
                     check_ratio),
       plugin_option("arguments", Kind::flag, "false", 0, 0,
                     "Put tools' arguments into spans (4 KiB), after redact."),
       plugin_option("batch", Kind::count, "512", 1, 10000, "Spans in one request."),
       plugin_option("interval", Kind::duration, "5s", 10, 3600000, "How long a span waits for others."),
       plugin_option("queue", Kind::count, "2048", 1, 1000000, "Spans that wait; more are dropped.")},
      {}};
  return kSpec;
}

Result<TraceOptions> read_trace_options(const config::PluginValues& values,
                                        const std::function<const char*(const char*)>& environment) {
  auto variable = [&](const char* name) {
    const char* value = environment(name);
    return std::string(value == nullptr ? "" : value);
  };
  TraceOptions out;
  TraceExporter::Options& exporter = out.exporter;
  exporter.url = values.text("endpoint");
  if (exporter.url.empty()) exporter.url = variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
  if (exporter.url.empty()) {
    exporter.url = variable("OTEL_EXPORTER_OTLP_ENDPOINT");
    if (!exporter.url.empty()) exporter.url += exporter.url.back() == '/' ? "v1/traces" : "/v1/traces";
  }
  if (variable("OTEL_SDK_DISABLED") == "true") exporter.url.clear();
  exporter.ca_file = values.text("caFile");
  exporter.headers = values.map("headers");
  if (exporter.headers.empty()) exporter.headers = pairs_of(variable("OTEL_EXPORTER_OTLP_HEADERS"));
  for (const auto& header : exporter.headers) {
    if (!is_plain(header)) return fail("headers: one is no legal header field");
  }
  exporter.batch = values.number("batch");
  exporter.queue = std::max<size_t>(values.number("queue"), exporter.batch);
  exporter.interval = values.duration("interval");

  std::string name = values.text("serviceName");
  if (name.empty()) name = variable("OTEL_SERVICE_NAME");
  TraceAttributes resource;
  for (const auto& [key, value] : pairs_of(variable("OTEL_RESOURCE_ATTRIBUTES"))) {
    bool plain = !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
      return http::is_alpha(c) || http::is_digit(c) || c == '.' || c == '_' || c == '-';
    });
    if (key == "service.name" && name.empty()) name = value;
    if (plain && key != "service.name") resource.text(key, value);
  }
  resource.text("service.name", name.empty() ? "lineward" : name);
  exporter.resource = resource.json();

  std::string sampler = variable("OTEL_TRACES_SAMPLER");
  std::string argument = variable("OTEL_TRACES_SAMPLER_ARG");
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

void describe_server(const config::Config& config, std::string_view name, TraceAttributes& out) {
  auto server = std::find_if(config.servers.begin(), config.servers.end(),
                             [&](const config::Server& one) { return one.name == name; });
  if (server == config.servers.end()) return;
  if (server->url.empty()) return out.text("network.transport", "pipe");
  out.text("network.transport", "tcp");
  out.text("network.protocol.name", "http");
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
