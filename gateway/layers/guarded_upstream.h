// A server among many, behind the plugins that judge what it is asked: those that know names, or are for some
// servers only, see what the aggregate asks it and what it answers, under its own names, before anything is
// merged (docs/many-servers.md). An upstream around an upstream, which it does not own.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/passing_upstream.h"
#include "net/loop.h"
#include "plugin/plugin_set.h"

namespace lineward::plugin {

class GuardedUpstream final : public core::PassingUpstream {
 public:
  // `plugins`: those in effect, or null. Calls end with the ones that they began with.
  using Plugins = std::function<std::shared_ptr<PluginSet>()>;
  GuardedUpstream(net::Loop& loop, core::Upstream& inner, Plugins plugins)
      : PassingUpstream(inner), loop_(loop), plugins_(std::move(plugins)) {}

  // Is there a plugin that may answer one caller otherwise than another?
  bool is_judged() const;

  Result<std::unique_ptr<core::Call>, core::Failure> start(core::CallRequest&& request,
                                                           core::CallOwner& owner) override;
  void notify(const core::Scope& scope, mcp::Era client_era, const mcp::Message& message,
              const core::HeaderFields& headers) override;
  void forward(const core::Scope& scope, mcp::Era client_era, const mcp::Message& message) override;

 private:
  // The notification as the plugins leave it; nothing: it does not go to this server.
  std::optional<mcp::Message> judged(const core::Scope& scope, const mcp::Message& message) const;
  net::Loop& loop_;
  const Plugins plugins_;
};

}  // namespace lineward::plugin
