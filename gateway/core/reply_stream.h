// Where an exchange's answer goes. Owned by the exchange; what it writes to may vanish before it does, then
// it swallows what comes.
//
// The contract, for the client side and for who calls it: nothing here calls back before it returns. A write
// that fails, or a client that turns out to be too slow while something is written for it, is remembered
// (`lost`, and `can_send` is false from then on) and told by ExchangeApi::client_gone, or by the end of the
// session, after the work of this turn of the loop. So whoever sends, finishes or cancels may rely on it that
// its own state is as it was. What when_drained() was given is called at the same moments only. After
// `finish`, `finish_empty` and `cut` nothing is told any more.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/headers.h"
#include "mcp/end_reason.h"

namespace lineward::core {

class ReplyStream {
 public:
  virtual ~ReplyStream() = default;
  // A message before the end (a notification, a server's question).
  virtual void send(std::string message) = 0;
  // The one answer. `status` counts only when no head was sent yet.
  virtual void finish(std::string message, int status) = 0;
  // The end without an answer: where no head was sent, an empty event stream with status 200.
  virtual void finish_empty() = 0;
  // Cuts the connection.
  virtual void cut() = 0;
  // False when nothing but the answer can be delivered (the client takes no event stream, or is gone).
  virtual bool can_send() const = 0;
  // Why its client is about to be told of as gone, or would have been: something for it could not be written.
  virtual std::optional<mcp::EndReason> lost() const { return std::nullopt; }
  virtual uint64_t bytes_out() const = 0;
  // So much waits for the client that whoever can should hold back what comes next.
  virtual bool above_high_watermark() { return false; }
  // Call once when above_high_watermark(): its argument is called when nothing waits any more. Never from
  // inside, never after the end of the stream; a client that takes nothing for long meanwhile is gone
  // (client_too_slow).
  virtual void when_drained(std::function<void()>) {}
  // An `initialize` failed: its answer names no session.
  virtual void refuse_session() {}
  // On the head of the answer, where none was sent yet (WWW-Authenticate, Retry-After).
  virtual void add_headers(const HeaderFields&) {}
};

}  // namespace lineward::core
