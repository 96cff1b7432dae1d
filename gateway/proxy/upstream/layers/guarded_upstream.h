// A server of an aggregate, behind the plugins that judge its requests. Plugins that use names, or are
// configured for some servers only, see its requests and answers under the server's own names, before the
// merge (docs/many-servers.md). Its view of tools is outside of them (ViewedCall). An upstream around an
// upstream, which it does not own.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "config/config.h"
#include "foundation/net/loop.h"
#include "proxy/core/passing_upstream.h"
#include "proxy/plugin/plugin_set.h"

namespace lineward::plugin {

class GuardedUpstream final : public core::PassingUpstream {
 public:
  // `plugins`: the current ones, or null. A call ends with the plugins that it began with.
  using Plugins = std::function<std::shared_ptr<PluginSet>()>;
  GuardedUpstream(net::Loop& loop, core::Upstream& inner, const config::Server& server, Plugins plugins)
      : PassingUpstream(inner), loop_(loop), server_(server), plugins_(std::move(plugins)) {}

  // May a plugin answer one caller differently from another?
  bool is_judged() const;

  Result<std::unique_ptr<core::Call>, core::Failure> start(core::UpstreamRequest&& request,
                                                           core::CallCallbacks& owner) override;
  void send(const core::Scope& scope, mcp::Era client_era, const mcp::Message& message,
            const core::HeaderFields& headers) override;

 private:
  // The notification after the plugins; empty: it is not sent to this server.
  std::optional<mcp::Message> judged(const core::Scope& scope, const mcp::Message& message) const;
  Result<std::unique_ptr<core::Call>, core::Failure> start_guarded(core::UpstreamRequest&& request,
                                                                   core::CallCallbacks& owner);

  net::Loop& loop_;
  const config::Server& server_;
  const Plugins plugins_;
};

}  // namespace lineward::plugin
