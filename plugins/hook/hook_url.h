// A hook that is an HTTP service: each question is a POST, the response body is the answer.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "plugins/hook/hook_dispatcher.h"
#include "plugins/hook/hook_transport.h"
#include "proxy/plugin/host.h"

namespace lineward::plugins {

struct HookUrl {
  std::string url, ca_file;
  std::vector<std::pair<std::string, std::string>> headers;
  std::chrono::milliseconds timeout{2000};
};

class HookService final : public HookTransport {
 public:
  HookService(plugin::Host& host, HookUrl where, HookDispatcher& owner)
      : host_(host), where_(std::move(where)), owner_(owner) {}

  bool ready() const override { return under_way_.size() < kMaxEntries; }
  std::string_view broken() const override { return {}; }
  void send(uint64_t id, std::string line) override;
  void forget(uint64_t id) override { under_way_.erase(id); }
  void unresponsive() override {}
  uint64_t restarts() const override { return 0; }

 private:
  static constexpr size_t kMaxEntries = 4096;  // including messages without an answer
  void answered(uint64_t id, const plugin::WebAnswer& answer);
  plugin::Host& host_;
  HookUrl where_;
  HookDispatcher& owner_;
  std::map<uint64_t, std::unique_ptr<plugin::WebTask>> under_way_;
};

}  // namespace lineward::plugins
