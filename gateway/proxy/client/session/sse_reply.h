// The reply of one exchange over HTTP+SSE (2024-11-05): one more message on the session's only stream.
#pragma once

#include <string>

#include "proxy/client/session/session.h"

namespace lineward::client {

class SseReply final : public core::ReplyStream {
 public:
  SseReply(SessionTable& sessions, std::string session) : sessions_(sessions), session_(std::move(session)) {}

  void send(std::string message) override {
    Session* session = sessions_.find(session_);
    if (session == nullptr) return;
    // Such a session lives as long as its stream: a client that reads nothing loses both, after this turn.
    if (!session->to_stream(message)) lost_ = mcp::EndReason::client_too_slow;
    if (!lost_) bytes_ += message.size();
  }
  void finish(std::string message, int) override { send(std::move(message)); }
  // A call that was cancelled by a message has no answer (2024-11-05 cancellation).
  void finish_empty() override {}
  // The stream is shared: one call's end does not cut it.
  void cut() override {}
  bool can_send() const override {
    const Session* session = sessions_.find(session_);
    return session != nullptr && session->has_stream();
  }
  std::optional<mcp::EndReason> lost() const override { return lost_; }
  uint64_t bytes_out() const override { return bytes_; }

 private:
  SessionTable& sessions_;
  std::string session_;
  uint64_t bytes_ = 0;
  std::optional<mcp::EndReason> lost_;
};

}  // namespace lineward::client
