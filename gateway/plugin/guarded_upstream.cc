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

}  // namespace lineward::plugin
