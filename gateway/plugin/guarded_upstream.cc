#include "plugin/guarded_upstream.h"

#include "plugin/guarded_call.h"

namespace lineward::plugin {

bool GuardedUpstream::is_judged() const {
  auto plugins = plugins_();
  return plugins && plugins->judges_parts(name());
}

Result<std::unique_ptr<core::Call>, core::Failure> GuardedUpstream::start(core::CallRequest&& request,
                                                                          core::CallOwner& owner) {
  auto plugins = request.of_gateway ? nullptr : plugins_();
  if (!plugins || plugins->empty()) return inner_->start(std::move(request), owner);
  auto call = std::make_unique<GuardedCall>(loop_, *inner_, std::move(plugins), std::move(request));
  if (!call->attach()) return inner_->start(call->take_request(), owner);
  call->begin(owner);
  return Result<std::unique_ptr<core::Call>, core::Failure>(std::move(call));
}

void GuardedUpstream::notify(const core::Scope& scope, const mcp::Message& message,
                             const core::HeaderFields& headers) {
  auto plugins = plugins_();
  if (!plugins || plugins->empty()) return inner_->notify(scope, message, headers);
  mcp::Message judged = message;
  const std::string method = message.method();
  Facts facts;
  facts.upstream = facts.endpoint = name();
  facts.method_name = method;
  facts.method = mcp::method_of(method);
  facts.principal = scope.principal;
  facts.session = scope.session;
  facts.bytes_in = message.bytes().size();
  if (!plugins->loose(facts, judged, Way::to_server, Place::part)) inner_->notify(scope, judged, headers);
}

}  // namespace lineward::plugin
