// What plugins get from this worker (plugin/host.h).
//
// Owned by the Worker; outlives the plugins.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "config/config.h"
#include "net/loop.h"
#include "net/tls.h"
#include "plugin/host.h"
#include "process/spawner.h"

namespace lineward {

class PluginHost final : public plugin::Host {
 public:
  // Reads all metrics; false where they cannot be read.
  using ReadMetrics = std::function<bool(core::MetricSnapshot&)>;

  // `worker`: which one it is of.
  PluginHost(net::Loop& loop, net::Spawner& spawner, const config::Config& config, size_t worker)
      : loop_(loop), spawner_(spawner), config_(config), worker_(worker) {}
  // Of the first one; null: there are none any more.
  void use_metrics(ReadMetrics read) { read_metrics_ = std::move(read); }

  net::Loop& loop() override { return loop_; }
  net::Spawner& spawner() override { return spawner_; }
  const config::Config& config() const override { return config_; }
  bool is_first() const override { return worker_ == 0; }
  bool read_metrics(core::MetricSnapshot& out) const override {
    return read_metrics_ != nullptr && read_metrics_(out);
  }
  std::unique_ptr<plugin::WebTask> fetch(plugin::WebRequest request,
                                         std::function<void(plugin::WebAnswer)> done) override;
  std::string redacted(std::string_view json) const override;
  std::shared_ptr<void> add_redactor(Redactor redactor) override;

 private:
  net::Loop& loop_;
  net::Spawner& spawner_;
  const config::Config& config_;
  const size_t worker_;
  ReadMetrics read_metrics_;
  std::unordered_map<std::string, std::shared_ptr<net::TlsContext>> tls_;  // by CA file
};

}  // namespace lineward
