#include "proxy/upstream/http/http_call.h"

#include <algorithm>

#include "proxy/upstream/http/http_health.h"

namespace lineward::upstream {

HttpCall::HttpCall(HttpCallHost& host, core::UpstreamRequest&& what, core::CallCallbacks& owner)
    : TransportCall(std::move(what), owner), timer(host.loop()), host_(host) {}

HttpCall::~HttpCall() {
  if (live()) cancel_alive(host_.server().name);
  if (messages) messages->close();
}

void HttpCall::cancel(core::CancelCause why) {
  if (!live()) return;
  owner_ = nullptr;
  give_place();
  stream_place.reset();
  if (health_probe) host_.health().probe_withdrawn();
  timer.stop();
  host_.withdraw(*this, why.text);
}

void HttpCall::reply(std::string message) {
  if (!live()) return;
  open_questions.answered(message);
  host_.reply(*this, std::move(message));
}

bool HttpCall::hold(bool on) {
  if (!messages || !messages->is_stream()) return false;
  on ? messages->pause() : messages->resume();
  return true;
}

void HttpCall::hand_over(core::CallCallbacks& owner, core::Handover how) {
  if (!live()) return;
  if (messages) messages->resume();  // the new owner holds nothing back yet
  owner_ = &owner;
  const bool parks = how == core::Handover::parked;
  parked_since = parks ? std::optional(host_.loop().now()) : std::nullopt;
  place.parked(parks);
  parks ? host_.park(*this) : host_.unpark(*this);
}

void HttpCall::retried(mcp::Message message) {
  request.message = std::move(message);
  if (live()) host_.retried(*this);
}

core::CallFacts HttpCall::call_facts() const {
  core::CallFacts facts{&request.message};
  // Only these are asked for what the session knows.
  if (request.method == mcp::Method::initialize || !open_questions.empty()) host_.session_facts(*this, facts);
  return facts;
}

void HttpCall::answer(mcp::Message&& message) {
  timer.stop();
  stream_place.reset();
  if (live()) host_.health().answered();
  pass_answer(std::move(message), host_.server());
}

void HttpCall::fail(const core::Failure& failure) {
  timer.stop();
  stream_place.reset();
  if (live()) host_.health().failed(failure, health_probe);
  pass_failure(failure);
}

void HttpCall::lose(const core::Failure& failure) {
  timer.stop();
  stream_place.reset();
  if (live() && health_probe) host_.health().failed(failure, true);
  pass_failure(failure);
}

void HttpCall::end_parked(const core::Failure& failure) {
  if (!live()) return;
  timer.stop();
  host_.withdraw(*this, failure.text);
  pass_failure(failure);
}

void HttpCall::on_messages_sent(HttpMessages&) {
  if (!std::exchange(sent, true)) written_at = host_.loop().now();
  // Until its handshake is answered, by Lineward's or a client's request, a server is starting.
  if (request.method != mcp::Method::initialize) phase(core::CallPhase::written);
}

void HttpCall::on_messages_open(HttpMessages& from, const http::ResponseInfo& info) {
  host_.call_opened(*this, from, info);
}

void HttpCall::on_message(HttpMessages& from, mcp::Message&& message) {
  host_.call_message(*this, from, std::move(message));
}

void HttpCall::on_malformed_request(HttpMessages&, const mcp::MessageFault& fault) {
  host_.call_malformed(*this, fault);
}

void HttpCall::on_no_message(HttpMessages&, const mcp::MessageFault& fault) {
  host_.call_malformed(*this, fault);
}

void HttpCall::on_messages_end(HttpMessages& from, const MessagesEnd& end) {
  if (!from.last_event_id().empty()) last_event_id = from.last_event_id();
  if (from.retry()) retry = std::max(*from.retry(), kLeastRetry);
  const bool accepted = end.status == kAccepted || from.receipt_only();
  if (end.kind == MessagesEnd::Kind::complete && !end.is_stream && !accepted)
    from.distrust();  // it should have held the answer
  host_.loop().retire(std::move(messages));
  host_.call_ended(*this, end);
}

}  // namespace lineward::upstream
