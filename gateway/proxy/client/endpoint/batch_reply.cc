#include "proxy/client/endpoint/batch_reply.h"

#include "protocol/mcp/errors.h"
#include "proxy/metrics/limits.h"

namespace lineward::client {
namespace {

// The error that replaces a long answer is hardly shorter than this.
constexpr size_t kAlwaysKept = 1024;

}  // namespace

SessionStream* BatchReply::stream() const {
  Session* session = batch_->sessions.find(batch_->session);
  return session != nullptr ? session->find_stream(batch_->stream) : nullptr;
}

bool BatchReply::ended() {
  if (ended_) return false;
  ended_ = true;
  return --batch_->open == 0;
}

// All answers are held until the last. An answer that exceeds the budget is replaced by an error.
void BatchReply::add_to_array(std::string message) {
  const Session* session = batch_->sessions.find(batch_->session);
  if (session == nullptr) return;  // the session has ended: no client waits for the answers
  const bool is_long = message.size() > kAlwaysKept;
  if (is_long && !session->may_keep(message.size())) {
    metrics::limit_reached(metrics::Limit::buffered_bytes_per_principal);
    auto parsed = mcp::Message::parse(std::move(message), json::kDepthCeiling);
    message = mcp::gateway_error(
        parsed ? parsed->raw(mcp::Field::id) : std::string_view("null"),
        {.reason = mcp::EndReason::queue_full,
         .text = "there is no room to keep this answer until the last of its batch "
                 "(listen.maxBufferedBytesPerPrincipal, listen.maxBufferedBytes): accept text/event-stream, "
                 "or send fewer at once",
         .upstream = session->upstream});
  }
  if (!batch_->answers.empty()) batch_->answers += ',';
  batch_->answers += message;
  batch_->held.set(batch_->answers.size());
}

void BatchReply::end_array() {
  batch_->held.set(0);
  SessionStream* s = stream();
  if (s == nullptr) return;
  if (batch_->answers.empty()) return s->finish_empty();
  s->finish("[" + std::exchange(batch_->answers, {}) + "]", 200);
}

BatchReply::~BatchReply() {
  if (!ended()) return;
  if (SessionStream* s = stream()) s->abandon();
}

void BatchReply::send(std::string message) {
  SessionStream* s = stream();
  if (s == nullptr || batch_->as_array) return;
  bytes_ += message.size();
  batch_->streamed = true;
  s->send(std::move(message));
}

void BatchReply::finish(std::string message, int) {
  if (ended_) return;
  bytes_ += message.size();
  bool last = ended();
  if (batch_->as_array) {
    add_to_array(std::move(message));
    if (last) end_array();
    return;
  }
  SessionStream* s = stream();
  if (s == nullptr) return;
  // A batch of one is answered by an event too: a lone JSON object is not a valid answer to an array.
  bool streamed = std::exchange(batch_->streamed, true);
  if (last && streamed) return s->finish(std::move(message), 200);
  s->send(std::move(message));
  if (last) s->finish_behind_sent();
}

// The last request has no answer; answers of the others may still be in flight, or wait for a resume.
void BatchReply::finish_empty() {
  if (ended_ || !ended()) return;
  if (batch_->as_array) return end_array();
  if (SessionStream* s = stream()) s->finish_behind_sent();
}

// Ends this reply only: the others still expect their answers.
void BatchReply::cut() {
  finish_empty();
}

std::optional<mcp::EndReason> BatchReply::lost() const {
  SessionStream* s = stream();
  return s != nullptr ? s->lost() : std::nullopt;
}

bool BatchReply::can_send() const {
  SessionStream* s = stream();
  return !batch_->as_array && s != nullptr && s->can_send();
}

}  // namespace lineward::client
