// Sends spans to a collector: OTLP over HTTP, JSON encoding. In batches, one at a time; bounded; never waits.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "core/headers.h"
#include "plugin/host.h"

namespace lineward::plugins {

class TraceExporter {
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
  struct Numbers {
    uint64_t sent = 0, dropped = 0, failed = 0;
  };

  TraceExporter(plugin::Host& host, std::string name, Options options)
      : host_(host), name_(std::move(name)), options_(std::move(options)), timer_(host.loop()) {}

  // The JSON text of one span.
  void add(std::string span);
  const Numbers& numbers() const { return numbers_; }
  size_t queued() const { return queue_.size(); }

 private:
  void send();
  void answered(const plugin::WebAnswer& answer);
  plugin::Host& host_;
  std::string name_;
  Options options_;
  net::Timer timer_;
  std::deque<std::string> queue_;
  std::unique_ptr<plugin::WebTask> task_;
  size_t under_way_ = 0;  // of the queue's first ones
  int tries_ = 0;
  bool waits_ = false;  // for the end of a pause
  Numbers numbers_;
};

}  // namespace lineward::plugins
