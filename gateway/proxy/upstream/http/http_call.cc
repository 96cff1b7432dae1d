#include "proxy/upstream/http/http_call.h"

#include <algorithm>

#include "proxy/upstream/http/http_call_table.h"
#include "proxy/upstream/http/http_health.h"

namespace lineward::upstream {

HttpCall::HttpCall(const HttpParts& parts, core::UpstreamRequest&& what, core::CallCallbacks& owner)
    : TransportCall(std::move(what), owner), timer(parts.loop), parts_(parts) {}

HttpCall::~HttpCall() {
  if (live()) cancel_alive(parts_.server.name);
  if (messages) messages->close();
}

void HttpCall::cancel(core::CancelCause why) {
  if (!live()) return;
  owner_ = nullptr;
  give_place();
  stream_place.reset();
  if (health_probe) parts_.health.probe_withdrawn();
  timer.stop();
  note_timeout(why.reason);
  parts_.calls.withdraw(*this, why.text);
}

// A limit that the caller has chosen, or that of a single tool, says nothing about the origin.
void HttpCall::note_timeout(mcp::EndReason reason) {
  Origin* at = origin.get();
  const bool is_silent = at != nullptr && sent && messages && messages->status() == 0;
  if (!is_silent || reason != mcp::EndReason::timeout_request) return;
  if (parts_.loop.now() - written_at >= parts_.server.timeouts.request) at->timed_out();
}

void HttpCall::reply(std::string message) {
  if (!live()) return;
  open_questions.answered(message);
  parts_.calls.reply(*this, std::move(message));
}

bool HttpCall::hold(bool on) {
  const bool has_stream = messages && messages->is_stream();
  is_held_ = on && (is_held_ || has_stream);  // kept between a stream and the one that continues it
  if (!has_stream) return false;
  on ? messages->pause() : messages->resume();
  return true;
}

void HttpCall::hand_over(core::CallCallbacks& owner, core::Handover how) {
  if (!live()) return;
  if (messages) messages->resume();  // the new owner holds nothing back yet
  is_held_ = false;
  owner_ = &owner;
  const bool parks = how == core::Handover::parked;
  parked_since = parks ? std::optional(parts_.loop.now()) : std::nullopt;
  place.parked(parks);
  parks ? parts_.calls.park(*this) : parts_.calls.unpark(*this);
}

void HttpCall::retried(mcp::Message message) {
  request.message = std::move(message);
  if (live()) parts_.calls.retried(*this);
}

core::CallFacts HttpCall::call_facts() const {
  core::CallFacts facts{&request.message};
  // Only these are asked for what the session knows.
  if (request.method == mcp::Method::initialize || !open_questions.empty())
    parts_.calls.session_facts(*this, facts);
  return facts;
}

void HttpCall::answer(mcp::Message&& message) {
  timer.stop();
  stream_place.reset();
  if (live()) parts_.health.answered();
  pass_answer(std::move(message), parts_.server);
}

void HttpCall::fail(const core::Failure& failure) {
  timer.stop();
  stream_place.reset();
  if (live()) parts_.health.failed(failure, health_probe);
  pass_failure(failure);
}

void HttpCall::lose(const core::Failure& failure) {
  timer.stop();
  stream_place.reset();
  if (live() && health_probe) parts_.health.failed(failure, true);
  pass_failure(failure);
}

void HttpCall::end_parked(const core::Failure& failure) {
  if (!live()) return;
  timer.stop();
  parts_.calls.withdraw(*this, failure.text);
  pass_failure(failure);
}

void HttpCall::on_messages_sent(HttpMessages&) {
  if (!std::exchange(sent, true)) written_at = parts_.loop.now();
  // Until its handshake is answered, by Lineward's or a client's request, a server is starting.
  if (request.method != mcp::Method::initialize) phase(core::CallPhase::written);
}

void HttpCall::on_messages_open(HttpMessages& from, const http::ResponseInfo& info) {
  // The stream before it was paused: the client still reads slowly.
  if (is_held_ && from.is_stream()) from.pause();
  parts_.calls.call_opened(*this, from, info);
}

void HttpCall::on_message(HttpMessages& from, mcp::Message&& message) {
  parts_.calls.call_message(*this, from, std::move(message));
}

void HttpCall::on_malformed_request(HttpMessages&, const mcp::MessageFault& fault) {
  parts_.calls.call_malformed(*this, fault);
}

void HttpCall::on_no_message(HttpMessages&, const mcp::MessageFault& fault) {
  parts_.calls.call_malformed(*this, fault);
}

void HttpCall::on_messages_end(HttpMessages& from, const MessagesEnd& end) {
  if (!from.last_event_id().empty()) last_event_id = from.last_event_id();
  if (from.retry()) retry = std::max(*from.retry(), kLeastRetry);
  const bool accepted = end.status == kAccepted || from.receipt_only();
  if (end.kind == MessagesEnd::Kind::complete && !end.is_stream && !accepted)
    from.distrust();  // it should have held the answer
  parts_.loop.retire(std::move(messages));
  parts_.calls.call_ended(*this, end);
}

}  // namespace lineward::upstream
