#include "upstream/http_call.h"

#include "core/answer_size.h"
#include "upstream/http_upstream.h"

namespace lineward::upstream {

HttpCall::HttpCall(HttpUpstream& upstream, core::CallRequest&& what, core::CallOwner& owner)
    : OwnedCall(&owner), request(std::move(what)), timer(upstream.loop()), upstream_(upstream) {
  if (!is_listen()) place.take(upstream_.shares(), request.account());
}

HttpCall::~HttpCall() {
  if (live()) cancel_alive(upstream_.name());
  if (messages) messages->close();
}

void HttpCall::cancel(std::string_view why) {
  if (!live()) return;
  owner_ = nullptr;
  if (health_probe) upstream_.health().probe_withdrawn();
  timer.stop();
  upstream_.withdraw(*this, why);
}

void HttpCall::reply(std::string message) {
  if (!live()) return;
  open_questions.answered(message);
  upstream_.reply(*this, std::move(message));
}

bool HttpCall::pause() {
  if (!messages || !messages->is_stream()) return false;
  messages->pause();
  return true;
}

bool HttpCall::resume() {
  if (!messages || !messages->is_stream()) return false;
  messages->resume();
  return true;
}

void HttpCall::hand_over(core::CallOwner& owner, core::Handover how) {
  if (!live()) return;
  if (messages) messages->resume();  // who takes over holds nothing back yet
  owner_ = &owner;
  upstream_.set_parked(*this, how == core::Handover::parked);
}

void HttpCall::retried(mcp::Message message) {
  request.message = std::move(message);
  if (live()) upstream_.retried(*this);
}

bool HttpCall::has_session() const {
  return upstream_.has_session(*this);
}

std::string HttpCall::server_info() const {
  return upstream_.server_info(*this);
}

void HttpCall::phase(core::CallPhase phase) {
  if (!live() || (phase_told_ && phase == phase_)) return;
  phase_told_ = true;
  phase_ = phase;
  owner_->on_call_phase(phase);
}

void HttpCall::message(mcp::Message message) {
  if (!live()) return;
  if (message.kind() == mcp::MessageKind::request) open_questions.asked(message);
  if (mcp::method_of(message.method()) == mcp::Method::cancelled) open_questions.withdrawn(message);
  owner_->on_call_message(std::move(message));
}

void HttpCall::answer(mcp::Message&& message) {
  timer.stop();
  if (live()) upstream_.health().answered();
  core::CallOwner* owner = take_owner();
  if (owner == nullptr) return;
  if (auto failure = core::too_long(upstream_.server(), request.method, message))
    return owner->on_call_failed(*failure);
  owner->on_call_message(std::move(message));
}

void HttpCall::fail(const core::Failure& failure) {
  timer.stop();
  if (live()) upstream_.health().failed(failure, health_probe);
  if (core::CallOwner* owner = take_owner()) owner->on_call_failed(failure);
}

void HttpCall::on_messages_sent(HttpMessages&) {
  if (!std::exchange(sent, true)) written_at = upstream_.loop().now();
  // Until its handshake is answered a server is being started, whoever's handshake it is.
  if (request.method != mcp::Method::initialize) phase(core::CallPhase::written);
}

void HttpCall::on_messages_open(HttpMessages& from, const http::ResponseInfo& info) {
  upstream_.call_opened(*this, from, info);
}

void HttpCall::on_message(HttpMessages& from, mcp::Message&& message) {
  upstream_.call_message(*this, from, std::move(message));
}

void HttpCall::on_malformed_request(HttpMessages&, const mcp::MessageFault& fault) {
  upstream_.call_malformed(*this, fault);
}

void HttpCall::on_messages_end(HttpMessages& from, const MessagesEnd& end) {
  if (!from.last_event_id().empty()) last_event_id = from.last_event_id();
  if (from.retry()) retry = *from.retry();
  if (end.kind == MessagesEnd::Kind::complete && !end.is_stream && !from.receipt_only())
    from.distrust();  // it should have held the answer
  upstream_.loop().retire(std::move(messages));
  upstream_.call_ended(*this, end);
}

}  // namespace lineward::upstream
