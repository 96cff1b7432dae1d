// A fake host for plugins: fetches are kept until the test answers them.
#pragma once

#include <deque>
#include <string>
#include <utility>

#include "proxy/plugin/host.h"

namespace lineward::test {

class FakeHost final : public plugin::Host {
 public:
  struct Asked {
    plugin::WebRequest request;
    std::function<void(plugin::WebAnswer)> done;
  };

  net::Loop& loop() override { return loop_; }
  process::Spawner& spawner() override { std::abort(); }
  std::chrono::system_clock::time_point wall_clock() const override {
    return plugin::Host::wall_clock() + passed;
  }
  const config::Config& config() const override { return config_; }
  std::unique_ptr<plugin::WebTask> fetch(plugin::WebRequest request,
                                         std::function<void(plugin::WebAnswer)> done) override {
    asked.push_back({std::move(request), std::move(done)});
    return std::make_unique<Task>();
  }
  std::string redacted(std::string_view json) const override { return std::string(json); }
  std::shared_ptr<void> add_redactor(Redactor) override { return nullptr; }
  void answer(int status, std::string body) {
    Asked one = std::move(asked.front());
    asked.pop_front();
    one.done({status, status == 0 ? "could not be reached" : "", std::move(body), {}});
  }

  std::chrono::seconds passed{0};  // that passed without a wait
  config::Config config_;
  std::deque<Asked> asked;

 private:
  class Task final : public plugin::WebTask {};
  net::Loop loop_;
};

}  // namespace lineward::test
