#include "client/endpoint/batch_reply.h"

namespace lineward::client {

SessionStream* BatchReply::stream() const {
  Session* session = batch_->sessions.find(batch_->session);
  return session != nullptr ? session->find_stream(batch_->stream) : nullptr;
}

bool BatchReply::ended() {
  if (ended_) return false;
  ended_ = true;
  return --batch_->open == 0;
}

void BatchReply::end_array() {
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
    if (!batch_->answers.empty()) batch_->answers += ',';
    batch_->answers += message;
    if (last) end_array();
    return;
  }
  SessionStream* s = stream();
  if (s == nullptr) return;
  // A batch of one is answered by an event too: a lone JSON object would be no answer to an array.
  bool streamed = std::exchange(batch_->streamed, true);
  if (last && streamed) return s->finish(std::move(message), 200);
  s->send(std::move(message));
  if (last) s->finish_empty();
}

void BatchReply::finish_empty() {
  if (ended_ || !ended()) return;
  if (batch_->as_array) return end_array();
  if (SessionStream* s = stream()) s->finish_empty();
}

// One of several: the others still have their answers to come.
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
