// The worker's services for plugins (proxy/plugin/host.h).
//
// Owned by the Worker; outlives the plugins.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "config/config.h"
#include "foundation/net/loop.h"
#include "foundation/net/tls.h"
#include "foundation/process/spawner.h"
#include "proxy/plugin/host.h"
#include "proxy/plugin/plugin_set.h"

namespace lineward::runtime {

class PluginHost final : public plugin::Host {
 public:
  // Reads all metrics; false if they cannot be read.
  using ReadMetrics = std::function<bool(metrics::MetricSnapshot&)>;

  // `worker`: the worker's index.
  PluginHost(net::Loop& loop, process::Spawner& spawner, const config::Config& config, size_t worker)
      : loop_(loop),
        spawner_(spawner),
        config_(config),
        worker_(worker),
        linger_timer_(loop),
        farewell_(loop) {}
  // Keeps plugins that a reload removed while exchanges use them, and then while they are finishing: kLonger
  // at most, and kMostLingering of them.
  void linger(std::vector<std::shared_ptr<plugin::PluginSet::Member>> retired);
  // Ends the plugins with the gateway: all are notified, and those with data to send get kFarewell for it.
  // `done` is called once, later, unless the host is destroyed before.
  void end(const std::vector<std::shared_ptr<plugin::PluginSet::Member>>& members,
           std::function<void()> done);
  static constexpr std::chrono::milliseconds kFarewell{2000};
  // For the first worker; null: metrics are gone.
  void use_metrics(ReadMetrics read) { read_metrics_ = std::move(read); }

  net::Loop& loop() override { return loop_; }
  process::Spawner& spawner() override { return spawner_; }
  const config::Config& config() const override { return config_; }
  bool is_first() const override { return worker_ == 0; }
  bool read_metrics(metrics::MetricSnapshot& out) const override {
    return read_metrics_ != nullptr && read_metrics_(out);
  }
  std::unique_ptr<plugin::WebTask> fetch(plugin::WebRequest request,
                                         std::function<void(plugin::WebAnswer)> done) override;
  std::string redacted(std::string_view json) const override;
  std::shared_ptr<void> add_redactor(Redactor redactor) override;

 private:
  static constexpr std::chrono::milliseconds kLonger{15000};
  static constexpr size_t kMostLingering = 32;
  struct Lingering {
    std::shared_ptr<plugin::PluginSet::Member> member;
    std::optional<std::chrono::milliseconds> until;  // set once no exchange uses it
  };
  void look_at_lingering();
  void look_at_ending();

  net::Loop& loop_;
  process::Spawner& spawner_;
  const config::Config& config_;
  const size_t worker_;
  ReadMetrics read_metrics_;
  std::unordered_map<std::string, std::shared_ptr<net::TlsContext>> tls_;  // by CA file
  net::Timer linger_timer_, farewell_;
  std::chrono::milliseconds farewell_until_{0};
  std::function<void()> ended_;
  std::deque<Lingering> lingering_;  // last, so that they are destroyed first
};

}  // namespace lineward::runtime
