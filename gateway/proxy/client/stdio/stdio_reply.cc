#include "proxy/client/stdio/stdio_reply.h"

#include <utility>

#include "protocol/mcp/message.h"
#include "protocol/mcp/rewrite.h"

namespace lineward::client {

void StdioReply::send(std::string message) {
  if (!can_send()) return;
  bytes_out_ += message.size() + 1;
  lines_.line(std::move(message), StdioLines::Kind::unasked_for);
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
  lines_.line(std::move(message), StdioLines::Kind::awaited);
  if (!torn_down.empty()) lines_.line(std::move(torn_down), StdioLines::Kind::awaited);
  over();
}

void StdioReply::over() {
  if (!std::exchange(over_, true)) lines_.reply_over(serial_);
}

}  // namespace lineward::client
