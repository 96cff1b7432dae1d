#include "proxy/upstream/layers/probe_upstream.h"

#include <fmt/format.h>

#include <utility>

#include "foundation/base/peer_address.h"
#include "protocol/mcp/errors.h"
#include "protocol/mcp/probe.h"
#include "proxy/upstream/layers/probe_call.h"

namespace lineward::upstream {
namespace {

// Callers without a principal share the streams by address. Their outcomes are found by the nonce alone,
// since the request may come by another proxy.
ProbeBook::Caller caller_of(const core::UpstreamRequest& request) {
  const std::string& principal = request.scope.principal;
  const bool known = !core::is_anonymous(principal) && !principal.empty();
  const std::string peer = request.from ? address_of_peer(request.from->peer) : std::string();
  return {principal, known ? "principal " + principal : "address " + peer};
}

core::Failure no_such_method(const core::UpstreamRequest& request, std::string text) {
  core::Failure failure{mcp::EndReason::invalid_request, std::move(text)};
  failure.code = mcp::kMethodNotFound;
  if (request.client_era == mcp::Era::modern) failure.http_status = 404;
  return failure;
}

}  // namespace

ProbeUpstream::ProbeUpstream(net::Loop& loop, std::unique_ptr<core::Upstream> inner,
                             const config::Listen& listen, ProbeBook& book)
    : PassingUpstream(std::move(inner)), loop_(loop), listen_(listen), book_(book) {}

Result<std::unique_ptr<core::Call>, core::Failure> ProbeUpstream::start(core::UpstreamRequest&& request,
                                                                        core::CallCallbacks& owner) {
  using Refused = Unexpected<core::Failure>;
  if (request.method != mcp::Method::other || request.message.method() != mcp::kProbe)
    return inner_->start(std::move(request), owner);
  if (!listen_.probe)
    return Refused{no_such_method(request, fmt::format("{} is switched off (listen.probe)", mcp::kProbe))};
  if (request.client_era != mcp::Era::modern)
    return Refused{
        no_such_method(request, fmt::format("{} is a request of {} only", mcp::kProbe, mcp::kNewestModern))};
  auto probe = mcp::read_probe(request.message);
  if (!probe) return Refused{{mcp::EndReason::invalid_request, std::move(probe.error().text)}};
  ProbeBook::Caller caller = caller_of(request);
  if (!probe->nonce.empty() && !probe->asks_outcome) {
    auto begun = book_.begin(caller, probe->nonce, std::chrono::nanoseconds(net::Loop::nanoseconds()));
    if (!begun) return Refused{{mcp::EndReason::queue_full, std::move(begun.error().text)}};
  }
  return Result<std::unique_ptr<core::Call>, core::Failure>(std::make_unique<ProbeCall>(
      loop_, std::move(request), owner, std::move(*probe), book_, std::move(caller)));
}

}  // namespace lineward::upstream
