#include "proxy/upstream/layers/guarded_call.h"

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "proxy/plugin/host.h"
#include "unit/proxy/upstream/layers/layers_world.h"

using namespace lineward;
using namespace lineward::upstream;

namespace {

// Waits at the first message of a server until it is told to go on.
struct Waiting final : plugin::Plugin {
  struct Waits final : plugin::Hook {
    plugin::Verdict on_upstream_message(plugin::ExchangeView& exchange, mcp::Message&) override {
      if (std::exchange(has_waited, true)) return plugin::Verdict::proceed;
      waits_for = &exchange;
      return plugin::Verdict::wait;
    }
    bool has_waited = false;
  };
  std::unique_ptr<plugin::Hook> attach(plugin::ExchangeView&) override { return std::make_unique<Waits>(); }
  static Result<std::unique_ptr<plugin::Plugin>> make(const config::PluginEntry&, plugin::Host&) {
    return Result<std::unique_ptr<plugin::Plugin>>(std::make_unique<Waiting>());
  }
  static inline plugin::ExchangeView* waits_for = nullptr;
};

struct NoHost final : plugin::Host {
  explicit NoHost(net::Loop& its_loop) : in(its_loop) {}
  net::Loop& loop() override { return in; }
  process::Spawner& spawner() override { std::abort(); }
  const config::Config& config() const override { return its_config; }
  std::unique_ptr<plugin::WebTask> fetch(plugin::WebRequest,
                                         std::function<void(plugin::WebAnswer)>) override {
    return nullptr;
  }
  std::string redacted(std::string_view json) const override { return std::string(json); }
  std::shared_ptr<void> add_redactor(Redactor) override { return nullptr; }
  net::Loop& in;
  config::Config its_config;
};

struct HeldCall final : core::Call {
  HeldCall(core::UpstreamRequest its_request, core::CallCallbacks& its_owner)
      : asked(std::move(its_request)), owner(&its_owner) {}
  void cancel(core::CancelCause) override { owner = nullptr; }
  bool live() const override { return owner != nullptr; }
  void reply(std::string) override {}
  bool hold(bool on) override {
    pauses.push_back(on);
    return has_stream;
  }
  void hand_over(core::CallCallbacks&, core::Handover) override {}
  core::CallFacts call_facts() const override { return {&asked.message}; }
  void retried(mcp::Message) override {}
  core::UpstreamRequest asked;
  core::CallCallbacks* owner;
  bool has_stream = false;  // it can be paused
  std::vector<bool> pauses;
};

struct HeldServer final : core::PassingUpstream {
  HeldServer() : PassingUpstream("s") {}
  core::ServerFacts facts() const override { return {mcp::Era::modern}; }
  core::UpstreamStatus status() const override { return {}; }
  Result<std::unique_ptr<core::Call>, core::Failure> start(core::UpstreamRequest&& request,
                                                           core::CallCallbacks& owner) override {
    auto made = std::make_unique<HeldCall>(std::move(request), owner);
    last = made.get();
    return Result<std::unique_ptr<core::Call>, core::Failure>(std::move(made));
  }
  HeldCall* last = nullptr;
};

}  // namespace

TEST_CASE("a pause that a server refuses is not made up for by a plugin's pause") {
  static const config::PluginSpec kSpec{.name = "waiting", .summary = "", .options = {}, .required = {}};
  const std::array<plugin::Type, 1> types{{{&kSpec, {}, &Waiting::make}}};
  net::Loop loop;
  NoHost host(loop);
  config::PluginEntry entry;
  entry.type = entry.name = "waiting";
  host.its_config.plugins.push_back(entry);
  auto plugins = plugin::PluginSet::make(host.its_config, types, host);
  REQUIRE(plugins);
  HeldServer server;
  Caller caller;
  core::UpstreamRequest request;
  request.message = parse(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}})");
  request.method = mcp::Method::tools_call;
  plugin::GuardedCall call(loop, server, *plugins, std::move(request));
  REQUIRE(call.attach());
  call.begin(caller);
  REQUIRE(server.last != nullptr);
  HeldCall& held = *server.last;
  CHECK_FALSE(call.pause());
  held.has_stream = true;
  for (int i = 0; i < 20; ++i) {
    held.owner->on_call_message(
        parse(R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}})"));
  }
  REQUIRE(Waiting::waits_for != nullptr);
  CHECK(held.pauses.back() == true);
  Waiting::waits_for->resume(plugin::Verdict::proceed);
  CHECK(caller.heard.size() == 20);
  CHECK(held.pauses.back() == false);
  CHECK(call.pause());
  CHECK(held.pauses.back() == true);
  CHECK(call.hold(false));
  CHECK(held.pauses.back() == false);
  call.cancel({"done", mcp::EndReason::cancelled_client});
}
