// The upstream that an exchange sees, in front of all others. It answers `lineward/probe`
// (protocol/mcp/probe.h), which is never forwarded, so that it passes the gate, policies and limits of a
// call. Everything else passes straight through.
#pragma once

#include <memory>

#include "config/config.h"
#include "foundation/net/loop.h"
#include "proxy/core/passing_upstream.h"
#include "proxy/upstream/layers/probe_book.h"

namespace lineward::upstream {

class ProbeUpstream final : public core::PassingUpstream {
 public:
  // `listen`: what is in effect, also after a reload. The book outlives its calls.
  ProbeUpstream(net::Loop& loop, std::unique_ptr<core::Upstream> inner, const config::Listen& listen,
                ProbeBook& book = ProbeBook::of_process());

  Result<std::unique_ptr<core::Call>, core::Failure> start(core::UpstreamRequest&& request,
                                                           core::CallCallbacks& owner) override;

 private:
  net::Loop& loop_;
  const config::Listen& listen_;
  ProbeBook& book_;
};

}  // namespace lineward::upstream
