// Lineward as the stdio server of one client: JSON-RPC messages as lines on stdin and stdout, both eras on
// one pipe. See behaviour.md 1, by the body alone, and the stdio transports of 2026-07-28 and 2024-11-05 …
// 2025-11-25.
//
// A legacy client is one session, from its `initialize` to its end. Requests run concurrently; answers are
// written as they arrive. The end of stdin means that no more requests follow: those already read are
// answered first. When stdout has no reader, all that the client has begun ends.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "config/config.h"
#include "foundation/base/memory_charge.h"
#include "foundation/net/lifetime.h"
#include "foundation/net/std_streams.h"
#include "proxy/client/endpoint/front.h"
#include "proxy/client/stdio/client_questions.h"
#include "proxy/client/stdio/line_reader.h"
#include "proxy/client/stdio/stdio_reply.h"
#include "proxy/client/stdio/stdio_writer.h"
#include "proxy/core/exchange_api.h"

namespace lineward::client {

class StdioFront final : public Front, private net::StreamCallbacks {
 public:
  // The client is gone and its calls have ended. `why`: cancelled_client, or client_too_slow.
  using ClientLeft = std::function<void(mcp::EndReason why)>;

  // `server`: the target of every request. `in` and `out` as in net/std_streams.h.
  StdioFront(net::Loop& loop, const config::Listen& config, std::string server, core::ExchangeApi& exchanges,
             ClientLeft client_left, int in = 0, int out = 1);
  ~StdioFront() override;

  Status<> listen() override;
  std::string address() const override { return "stdio"; }
  SessionTable& sessions() override { return sessions_; }
  void use_gate(std::shared_ptr<core::Gate> gate) override { gate_ = std::move(gate); }
  // After the end of stdin the client insists: the calls are cancelled at once.
  void drain() override;
  size_t connections() const override { return backlog() > 0 ? 1 : 0; }
  size_t backlog() const override { return streams_->backlog(); }
  void close_all() override;

  // For its replies.
  using Kind = StdioWriter::Kind;
  void line(std::string message, Kind kind);
  bool gone() const { return gone_; }
  void reply_over(uint64_t serial);
  bool above_high_watermark() { return writer_.above_high_watermark(); }
  void when_drained(uint64_t serial, std::function<void()> drained) {
    writer_.when_drained(serial, std::move(drained));
  }

 private:
  struct Running {
    std::string canonical_id;
    core::ExchangeId exchange;
    bool listens = false;  // a subscription: runs until its client ends it
  };

  // net::StreamCallbacks
  void on_data(std::string_view bytes) override;
  void on_end(int error) override;
  void on_drained() override;
  void take_line(std::string text);
  void too_long(std::string_view beginning);
  void refuse_unread(std::string_view text, int code, const std::string& why);
  void take_fault(const mcp::MessageFault& fault);
  void take(mcp::Message message);
  // Further messages of a legacy client are held back.
  bool holds() const { return opening_ != 0 || release_due_; }
  bool hold(mcp::Message& message);
  bool has_room(size_t bytes) const;
  void keep(std::string_view text);
  void release_held();
  void request(mcp::Message message);
  void notification(mcp::Message message);
  void answer(mcp::Message message);
  // Answers a server's request in the client's place, when the client's answer is invalid; empty: there is no
  // request to answer.
  void answer_in_place(std::optional<mcp::Message> answer);
  // The call that a cancel names; null: none in flight.
  const Running* named_by(const mcp::Message& cancel) const;
  std::optional<core::IncomingMessage> admit(mcp::Message& message);
  void refuse(std::string_view raw_id, int code, std::string_view text);
  void refuse_with(std::string error, int code, std::string_view text);
  void refuse_busy(std::string_view raw_id, mcp::EndReason reason, std::string_view text);
  void dropped(std::string_view kind);
  Session* session() { return sessions_.find(session_id_); }
  core::IncomingMessage arrival_of(const mcp::Message& message, mcp::Era era);
  void end_when_done();
  void client_left_soon(mcp::EndReason why);
  void client_left(mcp::EndReason why);

  net::Loop& loop_;
  const config::Listen& config_;
  const std::string server_;
  core::ExchangeApi& exchanges_;
  std::shared_ptr<core::Gate> gate_;
  ClientLeft client_left_;
  const int in_, out_;
  SessionTable sessions_;
  std::unique_ptr<net::StdStreams> streams_;
  StdioWriter writer_;
  LineReader lines_;
  std::string session_id_;        // of the legacy session, after an `initialize`
  uint64_t opening_ = 0;          // the serial of a pending `initialize`; 0: none
  std::deque<std::string> held_;  // later messages of a legacy client, a message or a batch each
  HeldCount held_bytes_{Held::queues};
  uint64_t serial_ = 0;
  std::unordered_map<uint64_t, Running> running_;
  size_t listens_ = 0;                               // of these
  std::unordered_map<std::string, uint64_t> by_id_;  // the newest request with this id
  ClientQuestions questions_;
  bool release_due_ = false;  // `initialize` was answered; held messages continue at the end of this turn
  bool draining_ = false;
  bool input_ended_ = false;
  bool gone_ = false;
  net::Lifetime lifetime_;
};

}  // namespace lineward::client
