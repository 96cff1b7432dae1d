// An HTTP response as a reply stream: a JSON body when the answer comes first. It becomes server-sent events
// with the first message, the head of a slow request, or a keep-alive (2026-07-28 streamable HTTP, "Receiving
// Messages").
//
// Owned by an exchange (POST) or a session (GET). Its connection may close first
// (proxy/client/http/connection_reply.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/base/pooled.h"
#include "foundation/net/loop.h"
#include "protocol/http/writer.h"
#include "protocol/mcp/end_reason.h"
#include "proxy/client/http/connection_reply.h"
#include "proxy/core/exchange_api.h"
#include "proxy/core/reply_stream.h"

namespace lineward::client {

class HttpReply final : public core::ReplyStream, public ConnectionReply, public Pooled<HttpReply> {
 public:
  HttpReply(net::Loop& loop, ClientConnection& connection, ReplyOptions&& options, ClientLeft client_left);
  ~HttpReply() override;

  void send(std::string message) override;
  void finish(std::string message, int status) override;
  void finish_empty() override;
  void cut() override { cut_connection(); }
  bool above_high_watermark() override { return !lost_ && has_backlog(); }
  void when_drained(std::function<void()> drained) override { await_drain(std::move(drained)); }
  bool can_send() const override { return connected() && options_.takes_events && !finished_ && !lost_; }
  std::optional<mcp::EndReason> lost() const override { return lost_; }
  uint64_t bytes_out() const override { return bytes_out_; }
  void add_headers(const core::HeaderFields& fields) override;
  void add_header(std::string_view name, std::string value) override;

  // The same with an event id (legacy streams can be resumed).
  void send_event(std::string message, std::string_view event_id);
  void finish_event(std::string message, int status, std::string_view event_id);
  // Starts the event stream now (GET streams).
  void open_stream();
  // A stream that begins with a named event (HTTP+SSE).
  void announce(std::string_view event, std::string_view data);
  bool primed() const { return primed_; }
  // An event was sent; otherwise the answer, if any, was plain JSON.
  bool streamed() const { return streamed_; }
  // The session that it would have announced was not created.
  void refuse_session() override {
    options_.session_header.clear();
    options_.name_session = nullptr;
  }
  // The exchange that it answers, for the gone callback.
  core::ExchangeId exchange() const { return exchange_; }
  void set_exchange(core::ExchangeId id) { exchange_ = id; }

 private:
  void on_beat(Beat beat) override;
  void start_events();
  void add_session(std::vector<http::OutHeader>& headers);
  void add_extra(std::vector<http::OutHeader>& headers);
  void piece(const std::string& event);
  void event(std::string message, std::string_view id);
  // Writes a part of a stream, and records its end in `boundaries_`.
  void write_part(std::string bytes);
  void open_with_beat();
  void prime();
  bool too_slow();
  // Cuts the connection after the current call stack.
  void cut_soon(mcp::EndReason why);

  std::vector<http::OutHeader> extra_;  // on the head of a plain answer
  std::optional<mcp::EndReason> lost_;  // the stream is abandoned, for this reason
  net::Deferred cut_later_;
  bool primed_ = false;
  bool streamed_ = false;
  bool may_prime_ = false;  // a beat opened it, and no event was sent since
  uint64_t sent_ = 0;       // bytes that the kernel had taken at the last check
  std::chrono::milliseconds sent_at_{0};
  std::vector<uint64_t> boundaries_;  // where each message ends, counted as bytes_out()
  size_t passed_ = 0;                 // the number of them below sent_
  core::ExchangeId exchange_;
};

}  // namespace lineward::client
