// Sends spans, metrics or log records to a collector: OTLP over HTTP, JSON encoding. In batches, one request
// at a time; bounded in items and bytes; never blocks.
//
// Owned by a plugin of one worker, and used on its thread; destroying it abandons the request under way.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "foundation/base/memory_charge.h"
#include "plugins/common/otlp_json.h"
#include "proxy/core/headers.h"
#include "proxy/plugin/host.h"

namespace lineward::plugins {

class OtlpExporter {
 public:
  struct Options {
    std::string url;  // empty: nothing is sent
    std::string ca_file;
    core::HeaderFields headers;
    std::string resource;  // the resource attributes, a JSON array
    size_t batch = 512;
    size_t queue = 2048;
    std::chrono::milliseconds interval{5000};
    std::chrono::milliseconds timeout{10000};
  };
  // Counts of items. `failed`: batches that were retried.
  struct Numbers {
    uint64_t sent = 0, dropped = 0, failed = 0;
  };
  // Limits of the queue, besides `queue`, and of one request: the last item may exceed them.
  static constexpr size_t kMaxQueueBytes = 16u << 20;
  static constexpr size_t kMaxBatchBytes = 4u << 20;

  OtlpExporter(plugin::Host& host, std::string name, OtlpSignal signal, Options options)
      : host_(host),
        name_(std::move(name)),
        signal_(signal),
        options_(std::move(options)),
        timer_(host.loop()) {}

  // `item`: JSON text of one span, metric or log record.
  void add(std::string item);
  // Counts items dropped before they were added.
  void drop(uint64_t count) { numbers_.dropped += count; }
  // Sends queued and later items at once, or after a pause requested by the collector.
  void finish();
  // The gateway ends: tries each batch once more, now, without further pauses.
  void finish_now();
  // The pause after `tries` consecutive failures; `wish`: requested by the collector, if any.
  static std::chrono::milliseconds pause_after(int tries, std::optional<std::chrono::seconds> wish);
  const Numbers& numbers() const { return numbers_; }
  size_t queued() const { return queue_.size(); }
  bool sends() const { return !options_.url.empty(); }

 private:
  void send();
  void answered(const plugin::WebAnswer& answer);
  void took(size_t count, std::string_view answer);
  plugin::Host& host_;
  std::string name_;
  const OtlpSignal signal_;
  const Options options_;
  net::Timer timer_;
  std::deque<std::string> queue_;
  HeldCount bytes_{Held::telemetry};  // of the queue
  std::unique_ptr<plugin::WebTask> task_;
  size_t under_way_ = 0;  // number of items in the request, from the front of the queue
  int tries_ = 0;
  bool waits_ = false;  // for the end of a pause
  bool finishing_ = false;
  bool ending_ = false;
  Numbers numbers_;
};

}  // namespace lineward::plugins
