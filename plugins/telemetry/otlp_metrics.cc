// Sends all metrics of docs/metrics.md to a collector at an interval. docs/telemetry.md.
#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "plugins/common/otlp_exporter.h"
#include "plugins/common/otlp_options.h"
#include "plugins/common/types.h"
#include "plugins/telemetry/otlp_metrics_json.h"
#include "plugins/telemetry/telemetry_rows.h"
#include "proxy/plugin/host.h"

namespace lineward::plugins {
namespace {

using config::Kind;
using config::plugin_option;
using std::chrono::milliseconds;

constexpr uint64_t kDefaultInterval = 60000, kLongestInterval = 24 * 60 * 60 * 1000;  // ms
// Maximum size of one reading, enough for a thousand servers; sent in one request.
constexpr size_t kMaxItems = 4096;

const config::PluginSpec& metrics_spec() {
  static const config::PluginSpec kSpec = [] {
    config::PluginSpec made{"otlpMetrics",
                            "All metrics by OTLP over HTTP, as /metrics has them.",
                            false,
                            otlp_option_rows(OtlpSignal::metrics),
                            {}};
    made.options.push_back(
        plugin_option("interval", Kind::duration, "60s", 10, kLongestInterval,
                      "How often; where it is 60s, OTEL_METRIC_EXPORT_INTERVAL (in ms) counts."));
    return made;
  }();
  return kSpec;
}

class OtlpMetrics final : public plugin::Plugin {
 public:
  OtlpMetrics(const config::PluginEntry& entry, plugin::Host& host, OtlpExporter::Options options,
              milliseconds interval)
      : host_(host),
        exporter_(host, entry.name, OtlpSignal::metrics, std::move(options)),
        timer_(host.loop()),
        interval_(interval) {
    if (host_.is_first() && exporter_.sends()) again();
  }
  std::unique_ptr<plugin::Hook> attach(plugin::ExchangeView&) override { return nullptr; }
  void count(plugin::CounterSink& sink) const override { count_telemetry(exporter_, sink); }
  void retired() override {
    timer_.stop();
    exporter_.finish();
  }
  // The last interval would otherwise be lost, so it is queued behind an unsent reading.
  void ending() override {
    if (timer_.running()) add_reading();
    timer_.stop();
    exporter_.finish_now();
  }
  bool is_finishing() const override { return exporter_.queued() > 0; }

 private:
  void again() {
    timer_.start(interval_, [this] {
      read();
      again();
    });
  }
  // An unsent reading is kept: while it waits, no further reading is made.
  void read() { exporter_.queued() > 0 ? exporter_.drop(1) : add_reading(); }
  void add_reading() {
    metrics::MetricSnapshot metrics;
    if (!host_.read_metrics(metrics)) return exporter_.drop(1);
    const auto now =
        std::chrono::duration_cast<std::chrono::nanoseconds>(host_.wall_clock().time_since_epoch());
    for (std::string& one : otlp_metrics_json(metrics, static_cast<uint64_t>(now.count())))
      exporter_.add(std::move(one));
  }

  plugin::Host& host_;
  OtlpExporter exporter_;
  net::Timer timer_;
  const milliseconds interval_;
};

Result<std::unique_ptr<plugin::Plugin>> make_metrics(const config::PluginEntry& entry, plugin::Host& host) {
  const Environment environment = [](const char* name) { return std::getenv(name); };
  auto options = read_otlp_options(OtlpSignal::metrics, entry.values, environment);
  if (!options) return fail(options.error().text);
  milliseconds interval = entry.values.duration("interval");
  if (interval == milliseconds(kDefaultInterval)) {
    if (auto given = number_in(environment, "OTEL_METRIC_EXPORT_INTERVAL", 10, kLongestInterval))
      interval = milliseconds(*given);
  }
  options->batch = options->queue = kMaxItems;
  options->interval = milliseconds(0);  // a reading is complete when it is added
  return Result<std::unique_ptr<plugin::Plugin>>(
      std::make_unique<OtlpMetrics>(entry, host, std::move(*options), interval));
}

}  // namespace

plugin::Type otlp_metrics() {
  return {&metrics_spec(), kTelemetryRows, make_metrics};
}

}  // namespace lineward::plugins
