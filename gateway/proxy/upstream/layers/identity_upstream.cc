#include "proxy/upstream/layers/identity_upstream.h"

#include <utility>

#include "foundation/json/json_scan.h"
#include "protocol/mcp/meta_members.h"
#include "proxy/core/identity.h"

namespace lineward::upstream {

Result<mcp::Message, core::Failure> IdentityUpstream::told(const mcp::Message& message,
                                                           const core::HeaderFields& headers) const {
  mcp::MetaMembers members;
  for (const auto& [name, words] : server_.identity.meta)
    members.emplace_back(name, core::identity_value(headers, words));
  auto made = mcp::Message::parse(mcp::with_meta_members(message, members), json::kWrappedDepth);
  if (made) return std::move(*made);
  // There is no place for one more member (kMaxMembers).
  return Unexpected<core::Failure>{{mcp::EndReason::invalid_request, made.error().text}};
}

Result<std::unique_ptr<core::Call>, core::Failure> IdentityUpstream::start(core::UpstreamRequest&& request,
                                                                           core::CallCallbacks& owner) {
  auto message = told(request.message, request.headers);
  if (!message) return Unexpected<core::Failure>{message.error()};
  request.message = std::move(*message);
  return inner_->start(std::move(request), owner);
}

void IdentityUpstream::send(const core::Scope& scope, mcp::Era client_era, const mcp::Message& message,
                            const core::HeaderFields& headers) {
  const bool has_params =
      message.kind() == mcp::MessageKind::request || message.kind() == mcp::MessageKind::notification;
  if (!has_params) return inner_->send(scope, client_era, message, headers);
  if (auto made = told(message, headers)) inner_->send(scope, client_era, *made, headers);
}

}  // namespace lineward::upstream
