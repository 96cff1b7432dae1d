#include "upstream/shared/transport_call.h"

#include "core/answer_size.h"

namespace lineward::upstream {

void TransportCall::phase(core::CallPhase phase) {
  if (!live() || (phase_told_ && phase == phase_)) return;
  phase_told_ = true;
  phase_ = phase;
  owner_->on_call_phase(phase);
}

void TransportCall::message(mcp::Message message) {
  if (!live()) return;
  if (message.kind() == mcp::MessageKind::request) open_questions.asked(message);
  if (mcp::method_of(message.method()) == mcp::Method::cancelled) open_questions.withdrawn(message);
  owner_->on_call_message(std::move(message));
}

void TransportCall::pass_answer(mcp::Message&& message, const config::Server& server) {
  give_place();
  core::CallOwner* owner = take_owner();
  if (owner == nullptr) return;
  if (auto failure = core::too_long(server, request.method, message)) return owner->on_call_failed(*failure);
  owner->on_call_message(std::move(message));
}

void TransportCall::pass_failure(const core::Failure& failure) {
  give_place();
  if (core::CallOwner* owner = take_owner()) owner->on_call_failed(failure);
}

}  // namespace lineward::upstream
