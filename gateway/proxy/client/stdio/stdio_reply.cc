#include "proxy/client/stdio/stdio_reply.h"

#include "proxy/client/stdio/stdio_front.h"

#include <utility>

#include "protocol/mcp/message.h"
#include "protocol/mcp/rewrite.h"

namespace lineward::client {

void StdioReply::send(std::string message) {
  if (!can_send()) return;
  bytes_out_ += message.size() + 1;
  front_.line(std::move(message), StdioWriter::Kind::unasked_for);
}

// A subscription that ends in order: first its result, then the cancel that 2026-07-28 requires from a server
// that ends one. SDK clients take the reverse order for a lost stream.
void StdioReply::finish(std::string message, int) {
  if (!can_send()) return over();
  bytes_out_ += message.size() + 1;
  std::string torn_down;
  if (of_ == Of::listen) {
    auto parsed = mcp::Message::parse(message);
    if (parsed && parsed->kind() == mcp::MessageKind::result) torn_down = mcp::listen_cancelled(raw_id_);
  }
  front_.line(std::move(message), StdioWriter::Kind::awaited);
  if (!torn_down.empty()) front_.line(std::move(torn_down), StdioWriter::Kind::awaited);
  over();
}

void StdioReply::over() {
  if (!std::exchange(over_, true)) front_.reply_over(serial_);
}

bool StdioReply::can_send() const {
  return !over_ && !front_.gone();
}

bool StdioReply::above_high_watermark() {
  return can_send() && front_.above_high_watermark();
}

void StdioReply::when_drained(std::function<void()> drained) {
  if (can_send()) front_.when_drained(serial_, std::move(drained));
}

}  // namespace lineward::client
