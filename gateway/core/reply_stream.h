// Where an exchange's answer goes. Owned by the exchange; what it writes to may vanish before it does, then
// it swallows what comes.
#pragma once

#include <cstdint>
#include <string>

#include "core/headers.h"

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
  virtual uint64_t bytes_out() const = 0;
  // An `initialize` failed: its answer names no session.
  virtual void refuse_session() {}
  // On the head of the answer, where none was sent yet (WWW-Authenticate, Retry-After).
  virtual void add_headers(const HeaderFields&) {}
};

}  // namespace lineward::core
