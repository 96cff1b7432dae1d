// Sends log events to a collector. docs/telemetry.md.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "foundation/base/memory_charge.h"
#include "foundation/log/tap.h"
#include "plugins/common/otlp_exporter.h"
#include "plugins/common/otlp_options.h"
#include "plugins/common/types.h"
#include "plugins/telemetry/otlp_log_record.h"
#include "plugins/telemetry/telemetry_rows.h"
#include "proxy/plugin/host.h"

namespace lineward::plugins {
namespace {

using config::Kind;
using config::plugin_choice;
using config::plugin_option;
using std::chrono::milliseconds;

constexpr milliseconds kCollect{200};
constexpr size_t kMaxInboxBytes = 4u << 20;

// In the order of the choices of `level`.
constexpr log::Level kLevels[] = {log::Level::info, log::Level::warn, log::Level::error};

// Receives events of all threads for the thread that sends them.
class LogInbox final : public log::Tap {
 public:
  LogInbox(log::Level least, size_t most) : least_(least), most_(most) {}

  void told(log::Level level, std::string_view event, std::initializer_list<log::Field> fields,
            std::string_view) override {
    // An export failure is not exported: it would cause the next one.
    constexpr std::string_view kExport = ".export";
    const bool own = event.size() > kExport.size() && event.substr(event.size() - kExport.size()) == kExport;
    if (level < least_ || own) return;
    const auto now = std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::system_clock::now().time_since_epoch());
    std::lock_guard<std::mutex> lock(mutex_);
    if (records_.size() >= most_ || bytes_ > kMaxInboxBytes) {
      ++dropped_;
      return;
    }
    records_.push_back(otlp_log_record(level, event, fields, static_cast<uint64_t>(now.count())));
    bytes_ += records_.back().size();
  }

  // Takes the new records, and the number dropped.
  std::vector<std::string> take(uint64_t& dropped) {
    std::lock_guard<std::mutex> lock(mutex_);
    bytes_ = 0;
    dropped = std::exchange(dropped_, 0);
    return std::exchange(records_, {});
  }

 private:
  const log::Level least_;
  const size_t most_;
  std::mutex mutex_;  // guards everything below
  std::vector<std::string> records_;
  HeldCount bytes_{Held::telemetry};
  uint64_t dropped_ = 0;
};

const config::PluginSpec& logs_spec() {
  static const config::PluginSpec kSpec = [] {
    config::PluginSpec made{"otlpLogs",
                            "Log lines by OTLP over HTTP, redacted as in the log.",
                            false,
                            otlp_option_rows(OtlpSignal::logs),
                            {}};
    for (auto&& one :
         {plugin_choice("level", "info|warn|error", "info",
                        "The least important record that is sent, whatever log.level is."),
          plugin_option("calls", Kind::flag, "true", 0, 0,
                        "The line of each call that went well too; else those of failures alone."),
          plugin_option("batch", Kind::count, "512", 1, 10000,
                        "Records in one request; where it is 512, OTEL_BLRP_MAX_EXPORT_BATCH_SIZE counts."),
          plugin_option(
              "interval", Kind::duration, "1s", 10, 3600000,
              "How long a record waits for others; where it is 1s, OTEL_BLRP_SCHEDULE_DELAY (in ms) "
              "counts."),
          plugin_option("queue", Kind::count, "2048", 1, 1000000,
                        "Records that wait; more are dropped. At 2048, OTEL_BLRP_MAX_QUEUE_SIZE counts.")})
      made.options.push_back(one);
    return made;
  }();
  return kSpec;
}

class OtlpLogs final : public plugin::Plugin {
 public:
  OtlpLogs(const config::PluginEntry& entry, plugin::Host& host, const OtlpExporter::Options& options)
      : exporter_(host, entry.name, OtlpSignal::logs, options), timer_(host.loop()) {
    if (!host.is_first() || !exporter_.sends()) return;
    inbox_ = std::make_shared<LogInbox>(kLevels[entry.values.number("level")], options.queue);
    log::add_tap(inbox_, entry.values.flag("calls") ? log::Wants::everything : log::Wants::warnings);
    again();
  }
  ~OtlpLogs() override {
    if (inbox_) log::end_tap(*inbox_);
  }
  OtlpLogs(const OtlpLogs&) = delete;
  OtlpLogs& operator=(const OtlpLogs&) = delete;
  std::unique_ptr<plugin::Hook> attach(plugin::ExchangeView&) override { return nullptr; }
  void count(plugin::CounterSink& sink) const override { count_telemetry(exporter_, sink); }
  void retired() override {
    end_tap();
    exporter_.finish();
  }
  void ending() override {
    end_tap();
    exporter_.finish_now();
  }
  bool is_finishing() const override { return exporter_.queued() > 0; }

 private:
  void again() {
    timer_.start(kCollect, [this] {
      collect();
      again();
    });
  }
  void end_tap() {
    if (!inbox_) return;
    log::end_tap(*inbox_);
    timer_.stop();
    collect();
    inbox_ = nullptr;
  }
  void collect() {
    uint64_t dropped = 0;
    for (std::string& record : inbox_->take(dropped))
      exporter_.add(std::move(record));
    exporter_.drop(dropped);
  }

  OtlpExporter exporter_;
  net::Timer timer_;
  std::shared_ptr<LogInbox> inbox_;  // null if another worker sends, or none
};

Result<std::unique_ptr<plugin::Plugin>> make_logs(const config::PluginEntry& entry, plugin::Host& host) {
  const Environment environment = [](const char* name) { return std::getenv(name); };
  auto options = read_otlp_options(OtlpSignal::logs, entry.values, environment);
  if (!options) return fail(options.error().text);
  auto also = [&](uint64_t given, uint64_t fallback, const char* name, uint64_t most) {
    return given == fallback ? number_in(environment, name, 1, most).value_or(given) : given;
  };
  options->batch = also(entry.values.number("batch"), 512, "OTEL_BLRP_MAX_EXPORT_BATCH_SIZE", 10000);
  options->queue = std::max<size_t>(
      also(entry.values.number("queue"), 2048, "OTEL_BLRP_MAX_QUEUE_SIZE", 1000000), options->batch);
  const auto interval = static_cast<uint64_t>(entry.values.duration("interval").count());
  options->interval = milliseconds(also(interval, 1000, "OTEL_BLRP_SCHEDULE_DELAY", 3600000));
  return Result<std::unique_ptr<plugin::Plugin>>(std::make_unique<OtlpLogs>(entry, host, *options));
}

}  // namespace

plugin::Type otlp_logs() {
  return {&logs_spec(), kTelemetryRows, make_logs};
}

}  // namespace lineward::plugins
