#include "proxy/upstream/layers/viewed_call.h"

#include <utility>

#include "proxy/core/tool_view.h"
#include "proxy/metrics/stats.h"

namespace lineward::plugin {

using mcp::MessageKind;
using mcp::Method;

bool ViewedCall::concerns(const config::Server& server, Method method) {
  if (server.tools.is_empty()) return false;
  if (method == Method::tools_list) return true;
  return !server.tools.shown.empty() &&
         (method == Method::tools_call || method == Method::completion_complete);
}

ViewedCall::ViewedCall(const config::Server& server, core::UpstreamRequest request,
                       core::CallCallbacks& owner)
    : PassingCall(std::move(request), &owner), server_(server), method_(request_.method) {}

ViewedCall::~ViewedCall() {
  if (live()) cancel_alive(server_.name);
}

std::optional<core::Failure> ViewedCall::begin(
    const std::function<Result<std::unique_ptr<core::Call>, core::Failure>(core::UpstreamRequest&&,
                                                                           core::CallCallbacks&)>& inner) {
  const core::Naming naming = core::to_own_name(server_.tools, method_, request_.message);
  if (naming == core::Naming::unknown)
    return core::unknown_tool(core::tool_named_by(method_, request_.message));
  renamed_ = naming == core::Naming::renamed;
  auto call = inner(std::move(request_), *this);
  if (!call) return call.error();
  inner_ = std::move(*call);
  return std::nullopt;
}

void ViewedCall::cancel(core::CancelCause why) {
  if (!live()) return;
  const uint64_t tag = request_.tag;
  owner_ = nullptr;
  if (!cancel_inner(why)) metrics::upstream_stats(server_.name).cancel_settled(tag, {});
}

void ViewedCall::retried(mcp::Message request) {
  core::to_own_name(server_.tools, method_, request);
  PassingCall::retried(std::move(request));
}

void ViewedCall::on_call_phase(core::CallPhase phase) {
  if (live()) owner_->on_call_phase(phase);
}

void ViewedCall::on_call_message(mcp::Message&& message) {
  if (!live()) return;
  const bool last = message.kind() == MessageKind::result || message.kind() == MessageKind::error;
  if (!last) return owner_->on_call_message(std::move(message));
  if (method_ == Method::tools_list) core::show_tools(server_, message);
  take_owner()->on_call_message(std::move(message));
}

void ViewedCall::on_call_failed(const core::Failure& failure) {
  if (!live()) return;
  core::Failure told = failure;
  if (renamed_) told.text = core::with_shown_name(server_.tools, std::move(told.text));
  take_owner()->on_call_failed(told);
}

}  // namespace lineward::plugin
