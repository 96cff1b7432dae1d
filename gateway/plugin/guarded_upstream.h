// A server among many, behind the plugins that judge what it is asked: those that know names, or are for some
// servers only, see what the aggregate asks it and what it answers, under its own names, before anything is
// merged (docs/many-servers.md). An upstream around an upstream, which it does not own.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/upstream.h"
#include "net/loop.h"
#include "plugin/plugin_set.h"

namespace lineward::plugin {

class GuardedUpstream final : public core::Upstream {
 public:
  // `plugins`: those in effect, or null. Calls end with the ones that they began with.
  using Plugins = std::function<std::shared_ptr<PluginSet>()>;
  GuardedUpstream(net::Loop& loop, core::Upstream& inner, Plugins plugins)
      : loop_(loop), inner_(inner), plugins_(std::move(plugins)) {}

  // Is there a plugin that may answer one caller otherwise than another?
  bool is_judged() const;

  // core::Upstream
  const std::string& name() const override { return inner_.name(); }
  Result<std::unique_ptr<core::Call>, core::Failure> start(core::CallRequest request,
                                                           core::CallOwner& owner) override;
  void open_scope(const core::Scope& scope, core::ScopeOwner& owner) override {
    inner_.open_scope(scope, owner);
  }
  void close_scope(const core::Scope& scope) override { inner_.close_scope(scope); }
  void forward(const core::Scope& scope, mcp::Era client_era, const mcp::Message& message) override {
    inner_.forward(scope, client_era, message);
  }
  void notify(const core::Scope& scope, const mcp::Message& message,
              const core::HeaderFields& headers) override {
    inner_.notify(scope, message, headers);
  }
  std::optional<std::vector<std::string>> versions() const override { return inner_.versions(); }
  std::optional<mcp::Era> era() const override { return inner_.era(); }
  core::UpstreamStatus status() const override { return inner_.status(); }
  void wake() override { inner_.wake(); }
  void reconfigured() override { inner_.reconfigured(); }
  void stop(std::function<void()> done) override { inner_.stop(std::move(done)); }

 private:
  net::Loop& loop_;
  core::Upstream& inner_;
  const Plugins plugins_;
};

}  // namespace lineward::plugin
