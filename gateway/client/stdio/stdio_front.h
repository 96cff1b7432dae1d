// Lineward as the stdio server of one client: JSON-RPC messages as lines on stdin and stdout, both eras on
// one pipe (behaviour.md 1 by the body alone; 2026-07-28 and 2024-11-05 … 2025-11-25 stdio transports).
//
// A legacy client is one session, from its `initialize` to its end. Requests of many ids run at once; answers
// go out as they come. The end of stdin says that there are no more requests: those that were read are
// answered first. An stdout without a reader ends everything that the client has begun.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/held_bytes.h"
#include "client/endpoint/front.h"
#include "client/stdio/client_questions.h"
#include "client/stdio/line_reader.h"
#include "client/stdio/stdio_reply.h"
#include "client/stdio/stdio_writer.h"
#include "config/config.h"
#include "core/exchange_api.h"
#include "net/lifetime.h"
#include "net/std_streams.h"

namespace lineward::client {

class StdioFront final : public Front, private net::StreamOwner, private StdioLines {
 public:
  // The client is gone and its calls have ended. `why`: cancelled_client, or client_too_slow.
  using Left = std::function<void(mcp::EndReason why)>;

  // `server`: the one that every request goes to. `in` and `out` as in net/std_streams.h.
  StdioFront(net::Loop& loop, const config::Listen& config, std::string server, core::ExchangeApi& exchanges,
             Left left, int in = 0, int out = 1);
  ~StdioFront() override;

  Status<net::ListenFailure> listen() override;
  std::string address() const override { return "stdio"; }
  SessionTable& sessions() override { return sessions_; }
  void use_gate(std::shared_ptr<core::Gate> gate) override { gate_ = std::move(gate); }
  void drain() override { draining_ = true; }
  size_t connections() const override { return backlog() > 0 ? 1 : 0; }
  size_t backlog() const override { return streams_->backlog(); }
  void close_all() override;

 private:
  struct Running {
    std::string canonical_id;
    core::ExchangeId exchange;
    bool listens = false;  // until its client ends it
  };

  // net::StreamOwner
  void on_data(std::string_view bytes) override;
  void on_end(int error) override;
  void on_drained() override;
  // StdioLines
  void line(std::string message, Kind kind) override;
  bool gone() const override { return gone_; }
  void reply_over(uint64_t serial) override;
  bool above_high_watermark() override { return writer_.above_high_watermark(); }
  void when_drained(uint64_t serial, std::function<void()> drained) override {
    writer_.when_drained(serial, std::move(drained));
  }

  void take_line(std::string text);
  void too_long(std::string_view beginning);
  void take_fault(const mcp::MessageFault& fault);
  void take(mcp::Message message);
  // What a legacy client sends now waits its turn.
  bool holds() const { return opening_ != 0 || release_due_; }
  bool hold(mcp::Message& message);
  bool has_room(size_t bytes) const;
  void keep(std::string_view text);
  void release_held();
  void request(mcp::Message message);
  void notification(mcp::Message message);
  void answer(mcp::Message message);
  // Instead of one that is no message; nothing: it was none, or nobody knows of what.
  void answer_in_place(std::optional<mcp::Message> answer);
  // The call that a cancel names; null: none that is under way.
  const Running* named_by(const mcp::Message& cancel) const;
  std::optional<core::Arrival> admit(mcp::Message& message);
  void refuse(std::string_view raw_id, int code, std::string_view text);
  void refuse_with(std::string error, int code, std::string_view text);
  void refuse_busy(std::string_view raw_id, mcp::EndReason reason, std::string_view text);
  void dropped(std::string_view kind);
  Session* session() { return sessions_.find(session_id_); }
  core::Arrival arrival_of(const mcp::Message& message, mcp::Era era);
  void leave_when_done();
  void leave_soon(mcp::EndReason why);
  void leave(mcp::EndReason why);

  net::Loop& loop_;
  const config::Listen& config_;
  const std::string server_;
  core::ExchangeApi& exchanges_;
  std::shared_ptr<core::Gate> gate_;
  Left left_;
  const int in_, out_;
  SessionTable sessions_;
  std::unique_ptr<net::StdStreams> streams_;
  StdioWriter writer_;
  LineReader lines_;
  std::string session_id_;        // of the legacy session, once there was an `initialize`
  uint64_t opening_ = 0;          // the serial of an `initialize` under way; 0: none
  std::deque<std::string> held_;  // what a legacy client sent behind it, a message or a batch each
  HeldCount held_bytes_{Held::queues};
  uint64_t serial_ = 0;
  std::unordered_map<uint64_t, Running> running_;
  size_t listens_ = 0;                               // of these
  std::unordered_map<std::string, uint64_t> by_id_;  // the newest request with this id
  ClientQuestions questions_;
  bool release_due_ = false;  // it was answered; what is held goes on at the end of this turn
  bool draining_ = false;
  bool input_ended_ = false;
  bool gone_ = false;
  net::Lifetime lifetime_;
};

}  // namespace lineward::client
