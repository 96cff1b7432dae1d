// Sends spans, metrics or log records to a collector: OTLP over HTTP, JSON encoding. In batches, one request
// at a time; bounded in items and bytes; never waits.
//
// Owned by a plugin of one worker, on whose thread it is used; gives up what is under way when it is
// destroyed.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/held_bytes.h"
#include "core/headers.h"
#include "plugin/host.h"
#include "plugins/common/otlp_json.h"

namespace lineward::plugins {

class OtlpExporter {
 public:
  struct Options {
    std::string url;  // empty: nothing is sent
    std::string ca_file;
    core::HeaderFields headers;
    std::string resource;  // the attributes, a JSON array
    size_t batch = 512;
    size_t queue = 2048;
    std::chrono::milliseconds interval{5000};
    std::chrono::milliseconds timeout{10000};
  };
  // Items. `failed`: batches that were tried again.
  struct Numbers {
    uint64_t sent = 0, dropped = 0, failed = 0;
  };
  // Of what waits, beside `queue`, and of one request: the last item may go beyond it.
  static constexpr size_t kMaxQueueBytes = 16u << 20;
  static constexpr size_t kMaxBatchBytes = 4u << 20;

  OtlpExporter(plugin::Host& host, std::string name, OtlpSignal signal, Options options)
      : host_(host),
        name_(std::move(name)),
        signal_(signal),
        options_(std::move(options)),
        timer_(host.loop()) {}

  // The JSON text of one span, metric or log record.
  void add(std::string item);
  // Of some that never came here.
  void drop(uint64_t count) { numbers_.dropped += count; }
  // What waits, and what still comes, is sent at once, or after a pause that the collector wished.
  void finish();
  // The gateway ends: each batch is tried once more, now, and no pause is made any more.
  void finish_now();
  // After so many tries in a row, where the collector said when to come again, or did not.
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
  HeldCount bytes_{Held::telemetry};  // of these
  std::unique_ptr<plugin::WebTask> task_;
  size_t under_way_ = 0;  // of the queue's first ones
  int tries_ = 0;
  bool waits_ = false;  // for the end of a pause
  bool finishing_ = false;
  bool ending_ = false;
  Numbers numbers_;
};

}  // namespace lineward::plugins
