#include "proxy/upstream/stdio/stdio_call.h"

#include <utility>

#include "proxy/upstream/stdio/stdio_instance.h"
#include "proxy/upstream/stdio/stdio_upstream.h"

namespace lineward::upstream {

StdioCall::StdioCall(StdioUpstream& upstream, core::UpstreamRequest&& what, core::CallCallbacks& owner)
    : TransportCall(std::move(what), owner), upstream_(upstream) {
  if (!is_listen()) count(true);
}

void StdioCall::count(bool now) {
  if (std::exchange(counted_, now) != now) upstream_.count_call(now ? 1 : -1);
}

void StdioCall::give_place() {
  TransportCall::give_place();
  count(false);
}

StdioCall::~StdioCall() {
  count(false);
  if (live()) cancel_alive(upstream_.name());
}

void StdioCall::cancel(core::CancelCause why) {
  if (!live()) return;
  owner_ = nullptr;
  give_place();
  if (half_open_probe) upstream_.health().half_open_probe_withdrawn();
  if (instance != nullptr) {
    std::exchange(instance, nullptr)->cancel(*this, why.text);
  } else {
    upstream_.withdraw(*this);
    metrics::upstream_stats(upstream_.name()).cancel_settled(request.tag, {});
  }
}

void StdioCall::reply(std::string message) {
  if (!live() || instance == nullptr) return;
  open_questions.answered(message);
  instance->write(std::move(message));
}

void StdioCall::hand_over(core::CallCallbacks& owner, core::Handover how) {
  if (!live()) return;
  const bool parked = how == core::Handover::parked;
  owner_ = &owner;
  if (instance != nullptr) instance->calls().handed_over(*this, how);
  place.parked(parked);
  if (!is_listen()) count(!parked);
}

void StdioCall::end_parked(const core::Failure& failure) {
  if (!live()) return;
  if (instance != nullptr) std::exchange(instance, nullptr)->cancel(*this, failure.text);
  fail(failure);
}

void StdioCall::retried(mcp::Message message) {
  request.message = std::move(message);
  if (live() && instance != nullptr && crosses_eras()) instance->level().want(request, *instance);
}

core::CallFacts StdioCall::call_facts() const {
  core::CallFacts facts{&request.message};
  if (instance != nullptr) facts.server_info = instance->legacy_server().info;
  return facts;
}

void StdioCall::message(mcp::Message message) {
  if (mcp::method_of(message.method()) == mcp::Method::subscriptions_acknowledged) acknowledged = true;
  TransportCall::message(std::move(message));
}

void StdioCall::answer(mcp::Message&& message) {
  // Not if Lineward answered in the server's place, nor for a handshake of either side.
  const bool work_done = id != 0 && request.method != mcp::Method::initialize;
  if (work_done)
    half_open_probe ? upstream_.health().probe_answered(sent_at) : upstream_.health().call_answered(sent_at);
  if (std::exchange(half_open_probe, false) && !work_done) upstream_.health().half_open_probe_withdrawn();
  pass_answer(std::move(message), upstream_.server());
}

void StdioCall::fail(const core::Failure& failure) {
  if (std::exchange(half_open_probe, false))
    upstream_.health().half_open_probe_withdrawn();  // the failure itself was counted
  pass_failure(failure);
}

}  // namespace lineward::upstream
