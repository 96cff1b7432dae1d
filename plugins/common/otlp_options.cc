#include "plugins/common/otlp_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "foundation/base/random_id.h"
#include "protocol/http/char_class.h"

namespace lineward::plugins {
namespace {

using config::Kind;
using config::plugin_option;

constexpr uint64_t kLongestTimeout = 60 * 60 * 1000;  // ms

// `a=b,c=d`, values percent-encoded (the W3C baggage format of OpenTelemetry's variables).
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

bool is_plain(const std::pair<std::string, std::string>& header) {
  return !header.first.empty() && std::all_of(header.first.begin(), header.first.end(), http::is_tchar) &&
         std::none_of(header.second.begin(), header.second.end(), http::is_control);
}

bool is_plain_key(std::string_view key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return http::is_alpha(c) || http::is_digit(c) || c == '.' || c == '_' || c == '-';
  });
}

// Distinguishes processes of the same service name.
const std::string& instance_id() {
  static const std::string kId = random_id();
  return kId;
}

// The resource attributes, a JSON array.
std::string resource_of(std::string name, const Environment& environment) {
  if (name.empty()) name = variable(environment, "OTEL_SERVICE_NAME");
  OtlpAttributes resource;
  bool instance = false;
  for (const auto& [key, value] : pairs_of(variable(environment, "OTEL_RESOURCE_ATTRIBUTES"))) {
    if (key == "service.name" && name.empty()) name = value;
    if (!is_plain_key(key) || key == "service.name") continue;
    resource.text(key, value);
    instance = instance || key == "service.instance.id";
  }
  resource.text("service.name", name.empty() ? "lineward" : name);
  if (!instance) resource.text("service.instance.id", instance_id());
  return resource.json();
}

// Help texts of one signal's rows.
struct Help {
  std::string_view endpoint, headers;
};
const Help& help_of(OtlpSignal signal) {
  static constexpr std::array<Help, 3> kAll{{
      {"The collector for spans: http://127.0.0.1:4318/v1/traces. Empty: OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, "
       "OTEL_EXPORTER_OTLP_ENDPOINT and /v1/traces; none: context is passed on, nothing is sent.",
       "On requests to it; values may be secrets. Also OTEL_EXPORTER_OTLP_TRACES_HEADERS, "
       "OTEL_EXPORTER_OTLP_HEADERS."},
      {"The collector for metrics: http://127.0.0.1:4318/v1/metrics. Empty: "
       "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT, "
       "OTEL_EXPORTER_OTLP_ENDPOINT and /v1/metrics.",
       "On requests to it; values may be secrets. Also OTEL_EXPORTER_OTLP_METRICS_HEADERS, "
       "OTEL_EXPORTER_OTLP_HEADERS."},
      {"The collector for log records: http://127.0.0.1:4318/v1/logs. Empty: "
       "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT, "
       "OTEL_EXPORTER_OTLP_ENDPOINT and /v1/logs.",
       "On requests to it; values may be secrets. Also OTEL_EXPORTER_OTLP_LOGS_HEADERS, "
       "OTEL_EXPORTER_OTLP_HEADERS."},
  }};
  return kAll[static_cast<size_t>(signal)];
}

}  // namespace

std::string variable(const Environment& environment, std::string_view name) {
  const char* value = environment(std::string(name).c_str());
  return value == nullptr ? "" : value;
}

std::optional<uint64_t> number_in(const Environment& environment, std::string_view name, uint64_t least,
                                  uint64_t most) {
  const std::string text = variable(environment, name);
  uint64_t value = 0;
  auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value < least || value > most ? std::nullopt : std::optional(value);
}

std::vector<config::Option> otlp_option_rows(OtlpSignal signal) {
  const Help& help = help_of(signal);
  return {plugin_option("endpoint", Kind::text, "", 0, 0, help.endpoint),
          plugin_option("headers", Kind::map, "", 0, 0, help.headers),
          plugin_option("caFile", Kind::text, "", 0, 0, "Authorities to trust for it (PEM)."),
          plugin_option("serviceName", Kind::text, "", 0, 0, "Empty: OTEL_SERVICE_NAME, else lineward.")};
}

Result<OtlpExporter::Options> read_otlp_options(OtlpSignal signal, const config::PluginValues& values,
                                                const Environment& environment) {
  const OtlpSignalRow& its = row(signal);
  // `OTEL_EXPORTER_OTLP_TRACES_HEADERS`, else `OTEL_EXPORTER_OTLP_HEADERS`.
  auto exporter_variable = [&](std::string_view what) {
    std::string own = variable(environment, fmt::format("OTEL_EXPORTER_OTLP_{}_{}", its.variable, what));
    return own.empty() ? variable(environment, fmt::format("OTEL_EXPORTER_OTLP_{}", what)) : own;
  };
  OtlpExporter::Options out;
  out.url = values.text("endpoint");
  if (out.url.empty())
    out.url = variable(environment, fmt::format("OTEL_EXPORTER_OTLP_{}_ENDPOINT", its.variable));
  if (out.url.empty()) {
    out.url = variable(environment, "OTEL_EXPORTER_OTLP_ENDPOINT");
    if (!out.url.empty()) out.url += fmt::format("{}{}", out.url.back() == '/' ? "" : "/", its.path);
  }
  const bool off = variable(environment, "OTEL_SDK_DISABLED") == "true" ||
                   variable(environment, fmt::format("OTEL_{}_EXPORTER", its.variable)) == "none";
  if (off) out.url.clear();
  out.ca_file = values.text("caFile");
  if (out.ca_file.empty()) out.ca_file = exporter_variable("CERTIFICATE");
  out.headers = values.map("headers");
  if (out.headers.empty()) out.headers = pairs_of(exporter_variable("HEADERS"));
  for (const auto& header : out.headers) {
    if (!is_plain(header)) return fail("headers: one is no legal header field");
  }
  for (const std::string& name : {std::string("OTEL_EXPORTER_OTLP_TIMEOUT"),
                                  fmt::format("OTEL_EXPORTER_OTLP_{}_TIMEOUT", its.variable)}) {
    if (auto limit = number_in(environment, name, 1, kLongestTimeout))
      out.timeout = std::chrono::milliseconds(*limit);
  }
  out.resource = resource_of(values.text("serviceName"), environment);
  return out;
}

}  // namespace lineward::plugins
