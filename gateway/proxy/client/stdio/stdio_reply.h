// The answer to one request of the client on stdio: lines interleaved with those of other requests
// (2026-07-28 stdio, "Receiving Messages"). Has no status and cannot be cut alone.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "proxy/core/reply_stream.h"

namespace lineward::client {

class StdioFront;

class StdioReply final : public core::ReplyStream {
 public:
  // The end of a 2026-07-28 subscriptions/listen is a message of its own.
  enum class Of : bool { call, listen };
  // `front` outlives every reply. `raw_id`: of the request.
  StdioReply(StdioFront& front, uint64_t serial, std::string raw_id, Of of)
      : front_(front), serial_(serial), raw_id_(std::move(raw_id)), of_(of) {}
  ~StdioReply() override { over(); }
  StdioReply(const StdioReply&) = delete;
  StdioReply& operator=(const StdioReply&) = delete;

  void send(std::string message) override;
  void finish(std::string message, int status) override;
  void finish_empty() override { over(); }
  void cut() override { over(); }
  bool can_send() const override;
  uint64_t bytes_out() const override { return bytes_out_; }
  bool above_high_watermark() override;
  void when_drained(std::function<void()> drained) override;

 private:
  void over();

  StdioFront& front_;
  const uint64_t serial_;
  const std::string raw_id_;
  const Of of_;
  bool over_ = false;
  uint64_t bytes_out_ = 0;
};

}  // namespace lineward::client
