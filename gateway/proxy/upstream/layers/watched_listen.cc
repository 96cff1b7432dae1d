#include "proxy/upstream/layers/watched_listen.h"

#include <utility>

#include "protocol/mcp/methods.h"
#include "proxy/upstream/layers/remembered_changes.h"

namespace lineward::upstream {

using mcp::Field;
using mcp::Method;

uint8_t WatchedListen::bit_of(Method method) {
  switch (method) {
    case Method::tools_list: return kTools;
    case Method::prompts_list: return kPrompts;
    case Method::resources_list:
    case Method::resources_templates_list: return kResources;
    default: return 0;
  }
}

std::optional<mcp::Message> WatchedListen::notice_of(uint8_t bit) {
  const Method method = bit == kTools     ? Method::tools_list_changed
                        : bit == kPrompts ? Method::prompts_list_changed
                                          : Method::resources_list_changed;
  std::string text = R"({"jsonrpc":"2.0","method":")";
  text += mcp::row(method)->name;
  auto message = mcp::Message::parse(text + "\"}");
  return message ? std::optional(std::move(*message)) : std::nullopt;
}

WatchedListen::WatchedListen(RememberedChanges& upstream, core::UpstreamRequest request,
                             core::CallCallbacks& owner)
    : PassingCall(std::move(request), &owner), upstream_(upstream), asker_(asker_of(request_.scope)) {
  const mcp::ListenFilter filter(request_.message.raw(Field::params_notifications));
  for (const uint8_t bit : {kTools, kPrompts, kResources}) {
    const auto notice = notice_of(bit);
    if (notice && filter.passes(*notice)) wanted_ |= bit;
  }
  upstream_.opened(*this);
}

WatchedListen::~WatchedListen() {
  lifetime_.end();
  if (live()) cancel_alive(upstream_.name());
}

std::optional<core::Failure> WatchedListen::begin() {
  pending_ = upstream_.owed_to(asker_, wanted_);
  core::UpstreamRequest request = std::move(request_);
  request_.method = request.method;
  auto call = upstream_.inner().start(std::move(request), *this);
  if (!call) return call.error();
  inner_ = std::move(*call);
  return std::nullopt;
}

core::CallCallbacks* WatchedListen::leave() {
  if (live()) upstream_.closed(*this);
  return take_owner();
}

void WatchedListen::cancel(core::CancelCause why) {
  if (leave() != nullptr) cancel_inner(why);
}

void WatchedListen::changed(uint8_t bits) {
  const bool is_new = pending_ == 0;
  pending_ |= bits;
  if (granted_ && is_new) upstream_.loop().defer(lifetime_, [this] { tell(); });
}

void WatchedListen::tell() {
  const auto watch = lifetime_.watch();
  const uint8_t bits = std::exchange(pending_, uint8_t{0});
  for (const uint8_t bit : {kTools, kPrompts, kResources}) {
    auto notice = (bits & bit) != 0 ? notice_of(bit) : std::nullopt;
    if (!notice || !granted_ || !granted_->passes(*notice)) continue;
    if (live()) owner_->on_call_message(std::move(*notice));
    if (watch.gone()) return;
  }
}

void WatchedListen::on_call_phase(core::CallPhase phase) {
  if (live()) owner_->on_call_phase(phase);
}

void WatchedListen::on_call_message(mcp::Message&& message) {
  if (!live()) return;
  // The last one may be a notification.
  const bool is_last = message.kind() == mcp::MessageKind::result ||
                       message.kind() == mcp::MessageKind::error || !inner_ || !inner_->live();
  if (is_last) return leave()->on_call_message(std::move(message));
  if (mcp::method_of(message.method()) == Method::subscriptions_acknowledged) {
    granted_.emplace(message.raw(Field::params_notifications));
    if (pending_ != 0) upstream_.loop().defer(lifetime_, [this] { tell(); });
  }
  owner_->on_call_message(std::move(message));
}

void WatchedListen::on_call_failed(const core::Failure& failure) {
  if (core::CallCallbacks* owner = leave()) owner->on_call_failed(failure);
}

std::string asker_of(const core::Scope& scope) {
  return scope.principal + "\n" + scope.session + "\n" + scope.bridged_session;
}

}  // namespace lineward::upstream
