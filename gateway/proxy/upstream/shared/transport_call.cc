#include "proxy/upstream/shared/transport_call.h"

#include "foundation/json/json_member.h"
#include "proxy/core/answer_size.h"

namespace lineward::upstream {
namespace {

// The first ones of a call.
constexpr size_t kMaxElicitations = 64;
constexpr size_t kMaxElicitationId = 256;

}  // namespace

void TransportCall::phase(core::CallPhase phase) {
  if (!live() || (phase_told_ && phase == phase_)) return;
  phase_told_ = true;
  phase_ = phase;
  owner_->on_call_phase(phase);
}

void TransportCall::message(mcp::Message message) {
  if (!live()) return;
  if (message.kind() == mcp::MessageKind::request) {
    open_questions.asked(message);
    note_elicitation(message);
  }
  if (mcp::method_of(message.method()) == mcp::Method::cancelled) open_questions.withdrawn(message);
  owner_->on_call_message(std::move(message));
}

// The completion is sent when the user is done, after the request was answered. It names the elicitation's
// id, but no request.
void TransportCall::note_elicitation(const mcp::Message& question) {
  if (!is_of_legacy_client() || elicitations_.size() >= kMaxElicitations) return;
  std::string name = json::string_value(json::member(question.raw(mcp::Field::params), "elicitationId"));
  if (!name.empty() && name.size() <= kMaxElicitationId)
    elicitations_.insert(std::move(name), request.account());
}

bool TransportCall::asked_what_is_named(const mcp::Message& notification) const {
  switch (mcp::method_of(notification.method())) {
    case mcp::Method::cancelled: return open_questions.names_one(notification);
    case mcp::Method::elicitation_complete:
      return !elicitations_.empty() && elicitations_.contains(json::string_value(json::member(
                                           notification.raw(mcp::Field::params), "elicitationId")));
    default: return false;
  }
}

void TransportCall::pass_answer(mcp::Message&& message, const config::Server& server) {
  give_place();
  core::CallCallbacks* owner = take_owner();
  if (owner == nullptr) return;
  if (auto failure = core::too_long(server, request.method, message)) return owner->on_call_failed(*failure);
  owner->on_call_message(std::move(message));
}

void TransportCall::pass_failure(const core::Failure& failure) {
  give_place();
  if (core::CallCallbacks* owner = take_owner()) owner->on_call_failed(failure);
}

}  // namespace lineward::upstream
