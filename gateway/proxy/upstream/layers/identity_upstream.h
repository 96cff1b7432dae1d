// An upstream around a transport that tells its server the identity of callers, in `params._meta` of each
// request and notification (mcpServers.*.meta; docs/identity.md). A client's own members of these names are
// removed. Made only for servers with that option; calls pass through without an object of their own.
#pragma once

#include <memory>

#include "config/config.h"
#include "proxy/core/passing_upstream.h"

namespace lineward::upstream {

class IdentityUpstream final : public core::PassingUpstream {
 public:
  IdentityUpstream(std::unique_ptr<core::Upstream> inner, const config::Server& server)
      : PassingUpstream(std::move(inner)), server_(server) {}

  Result<std::unique_ptr<core::Call>, core::Failure> start(core::UpstreamRequest&& request,
                                                           core::CallCallbacks& owner) override;
  void send(const core::Scope& scope, mcp::Era client_era, const mcp::Message& message,
            const core::HeaderFields& headers) override;

 private:
  // Fails for a message with too many members.
  Result<mcp::Message, core::Failure> told(const mcp::Message& message,
                                           const core::HeaderFields& headers) const;

  const config::Server& server_;
};

}  // namespace lineward::upstream
