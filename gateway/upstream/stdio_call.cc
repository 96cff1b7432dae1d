#include "upstream/stdio_call.h"

#include "core/answer_size.h"
#include "upstream/stdio_instance.h"
#include "upstream/stdio_upstream.h"

namespace lineward::upstream {

StdioCall::StdioCall(StdioUpstream& upstream, core::CallRequest&& what, core::CallOwner& owner)
    : OwnedCall(&owner), request(std::move(what)), upstream_(upstream) {
  if (is_listen()) return;
  upstream_.count_call(1);
  place.take(upstream_.shares(), request.account());
}

StdioCall::~StdioCall() {
  if (!is_listen() && !parked_) upstream_.count_call(-1);
  if (live()) cancel_alive(upstream_.name());
}

void StdioCall::cancel(std::string_view why) {
  if (!live()) return;
  owner_ = nullptr;
  if (trial) upstream_.trial_withdrawn();
  if (instance != nullptr) {
    std::exchange(instance, nullptr)->cancel(*this, why);
  } else {
    upstream_.withdraw(*this);
    core::upstream_stats(upstream_.name()).cancel_settled(request.tag, {});
  }
}

void StdioCall::reply(std::string message) {
  if (!live() || instance == nullptr) return;
  open_questions.answered(message);
  instance->write(std::move(message));
}

void StdioCall::hand_over(core::CallOwner& owner, core::Handover how) {
  if (!live()) return;
  const bool parked = how == core::Handover::parked;
  owner_ = &owner;
  if (instance != nullptr) instance->set_parked(*this, parked);
  if (std::exchange(parked_, parked) != parked) upstream_.count_call(parked ? -1 : 1);
}

void StdioCall::retried(mcp::Message message) {
  request.message = std::move(message);
  if (live() && instance != nullptr && crosses_eras()) instance->want_level(*this);
}

std::string StdioCall::server_info() const {
  return instance != nullptr ? instance->legacy_server().info : std::string();
}

void StdioCall::phase(core::CallPhase phase) {
  if (!live() || (phase_told_ && phase == phase_)) return;
  phase_told_ = true;
  phase_ = phase;
  owner_->on_call_phase(phase);
}

void StdioCall::message(mcp::Message message) {
  if (!live()) return;
  if (message.kind() == mcp::MessageKind::request) open_questions.asked(message);
  mcp::Method method = mcp::method_of(message.method());
  if (method == mcp::Method::cancelled) open_questions.withdrawn(message);
  if (method == mcp::Method::subscriptions_acknowledged) acknowledged = true;
  owner_->on_call_message(std::move(message));
}

void StdioCall::answer(mcp::Message message) {
  // Not where it was answered in the server's place, nor by a handshake, whoever's it was.
  const bool work_done = id != 0 && request.method != mcp::Method::initialize;
  if (work_done) upstream_.call_answered(trial);
  if (std::exchange(trial, false) && !work_done) upstream_.trial_withdrawn();
  core::CallOwner* owner = take_owner();
  if (owner == nullptr) return;
  if (auto failure = core::too_long(upstream_.server(), request.method, message))
    return owner->on_call_failed(*failure);
  owner->on_call_message(std::move(message));
}

void StdioCall::fail(const core::Failure& failure) {
  if (std::exchange(trial, false)) upstream_.trial_withdrawn();  // what it failed of was counted
  if (core::CallOwner* owner = take_owner()) owner->on_call_failed(failure);
}

}  // namespace lineward::upstream
