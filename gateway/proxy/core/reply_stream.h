// The stream for an exchange's answer. Owned by the exchange. If the client's connection is lost before the
// end of the stream, everything written is dropped.
//
// Contract: no method here calls back before it returns. A failed write, or a client found too slow during a
// write, is stored (`lost`; `can_send` is false from then on). It is reported after this turn's work by
// ExchangeApi::client_left or by the end of the session. So a caller's own state is unchanged by send, finish
// or cancel. The callback of when_drained() follows the same rule. After `finish`, `finish_empty` and `cut`
// nothing is reported.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "protocol/mcp/end_reason.h"
#include "proxy/core/headers.h"

namespace lineward::core {

class ReplyStream {
 public:
  virtual ~ReplyStream() = default;
  // A message before the end (a notification, a server's question).
  virtual void send(std::string message) = 0;
  // The one answer. `status` is ignored if a head was already sent.
  virtual void finish(std::string message, int status) = 0;
  // Ends without an answer. If no head was sent: an empty event stream with status 200.
  virtual void finish_empty() = 0;
  // Cuts the connection.
  virtual void cut() = 0;
  // False if only the answer can be delivered (the client takes no event stream, or is gone).
  virtual bool can_send() const = 0;
  // Set once a write for the client has failed: the reason that client_left reports, or would have reported.
  virtual std::optional<mcp::EndReason> lost() const { return std::nullopt; }
  virtual uint64_t bytes_out() const = 0;
  // Whether so many bytes are buffered for the client that senders should pause.
  virtual bool above_high_watermark() { return false; }
  // Call once when above_high_watermark(). The callback runs when the buffer is empty, never before this
  // returns and never after the end of the stream. A client that reads nothing for too long meanwhile is
  // closed (client_too_slow).
  virtual void when_drained(std::function<void()>) {}
  // An `initialize` failed: its answer names no session.
  virtual void refuse_session() {}
  // Adds to the head of the answer, if none was sent yet (WWW-Authenticate, Retry-After).
  virtual void add_headers(const HeaderFields&) {}
  virtual void add_header(std::string_view name, std::string value) {
    HeaderFields fields;
    fields.emplace_back(name, std::move(value));
    add_headers(fields);
  }
};

}  // namespace lineward::core
