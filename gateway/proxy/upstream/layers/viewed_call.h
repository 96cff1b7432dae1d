// A request to one member of several that names or lists tools: the client knows them by other names, or sees
// not all of them (docs/views.md). Outside of the member's plugins, which see the server's own names.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "config/config.h"
#include "proxy/core/owned_call.h"

namespace lineward::plugin {

class ViewedCall final : public core::PassingCall {
 public:
  // Does a request of this method need it?
  static bool concerns(const config::Server& server, mcp::Method method);

  ViewedCall(const config::Server& server, core::UpstreamRequest request, core::CallCallbacks& owner);
  ~ViewedCall() override;

  // To be called once, from start(); `inner` gets the request. On failure nothing was begun.
  std::optional<core::Failure> begin(const std::function<Result<std::unique_ptr<core::Call>, core::Failure>(
                                         core::UpstreamRequest&&, core::CallCallbacks&)>& inner);

  void cancel(core::CancelCause why) override;
  void retried(mcp::Message request) override;

 private:
  void on_call_phase(core::CallPhase phase) override;
  void on_call_message(mcp::Message&& message) override;
  void on_call_failed(const core::Failure& failure) override;

  const config::Server& server_;
  const mcp::Method method_;
  bool renamed_ = false;
};

}  // namespace lineward::plugin
