// The answers of a JSON-RPC batch on one stream (2025-03-26, "Sending Messages to the Server"; later
// revisions have no batches). Each request of the batch is an exchange of its own with a BatchReply; the
// stream ends with the last of them.
#pragma once

#include <memory>
#include <string>

#include "foundation/base/memory_charge.h"
#include "proxy/client/session/session.h"

namespace lineward::client {

// State shared by the replies of one batch.
struct Batch {
  Batch(SessionTable& its_sessions, std::string its_session, uint32_t its_stream)
      : sessions(its_sessions), session(std::move(its_session)), stream(its_stream) {}

  SessionTable& sessions;
  const std::string session;
  const uint32_t stream;
  size_t open = 0;                 // requests that have not ended
  bool streamed = false;           // an event was sent
  bool as_array = false;           // the client accepts no events: one JSON array at the end
  std::string answers = {};        // the array so far
  MemoryCharge held{Held::calls};  // accounts for `answers`
};

class BatchReply final : public core::ReplyStream {
 public:
  explicit BatchReply(std::shared_ptr<Batch> batch) : batch_(std::move(batch)) { ++batch_->open; }
  ~BatchReply() override;
  void send(std::string message) override;
  void finish(std::string message, int status) override;
  void finish_empty() override;
  void cut() override;
  bool can_send() const override;
  std::optional<mcp::EndReason> lost() const override;
  uint64_t bytes_out() const override { return bytes_; }

 private:
  SessionStream* stream() const;
  // Decrements the open replies; true for the last.
  bool ended();
  void end_array();
  void add_to_array(std::string message);

  std::shared_ptr<Batch> batch_;
  uint64_t bytes_ = 0;
  bool ended_ = false;
};

}  // namespace lineward::client
