// The answer to one request of the client on stdio: lines interleaved with those of other requests
// (2026-07-28 stdio, "Receiving Messages"). Has no status and cannot be cut alone.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "proxy/core/reply_stream.h"

namespace lineward::client {

// The sink of the lines; outlives every reply.
class StdioLines {
 public:
  // Answers are awaited, and bounded by the number of requests. Unsolicited messages are not bounded.
  enum class Kind : bool { unasked_for, awaited };
  virtual void line(std::string message, Kind kind) = 0;
  virtual bool gone() const = 0;
  // Above the high watermark: senders should pause; once nothing is pending, `drained` is called for that
  // request.
  virtual bool above_high_watermark() = 0;
  virtual void when_drained(uint64_t serial, std::function<void()> drained) = 0;
  // The request with this serial number has ended.
  virtual void reply_over(uint64_t serial) = 0;

 protected:
  ~StdioLines() = default;
};

class StdioReply final : public core::ReplyStream {
 public:
  // The end of a 2026-07-28 subscriptions/listen is a message of its own.
  enum class Of : bool { call, listen };
  // `raw_id`: of the request.
  StdioReply(StdioLines& lines, uint64_t serial, std::string raw_id, Of of)
      : lines_(lines), serial_(serial), raw_id_(std::move(raw_id)), of_(of) {}
  ~StdioReply() override { over(); }
  StdioReply(const StdioReply&) = delete;
  StdioReply& operator=(const StdioReply&) = delete;

  void send(std::string message) override;
  void finish(std::string message, int status) override;
  void finish_empty() override { over(); }
  void cut() override { over(); }
  bool can_send() const override { return !over_ && !lines_.gone(); }
  uint64_t bytes_out() const override { return bytes_out_; }
  bool above_high_watermark() override { return can_send() && lines_.above_high_watermark(); }
  void when_drained(std::function<void()> drained) override {
    if (can_send()) lines_.when_drained(serial_, std::move(drained));
  }

 private:
  void over();

  StdioLines& lines_;
  const uint64_t serial_;
  const std::string raw_id_;
  const Of of_;
  bool over_ = false;
  uint64_t bytes_out_ = 0;
};

}  // namespace lineward::client
