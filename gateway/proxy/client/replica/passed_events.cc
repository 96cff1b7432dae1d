#include "proxy/client/replica/passed_events.h"

#include <algorithm>
#include <utility>

#include "protocol/mcp/message.h"

namespace lineward::client {
namespace {

constexpr size_t kLongest = 64 * 1024;
constexpr std::string_view kBlankLine = "\n\n";  // ends each event that Lineward writes

}  // namespace

PassedEvents::PassedEvents(std::string raw_id)
    : raw_id_(std::move(raw_id)), parser_({.line_bytes = kLongest, .event_bytes = kLongest}) {}

void PassedEvents::passed(std::string_view bytes) {
  if (over_) return;
  end_.append(bytes.substr(bytes.size() - std::min(bytes.size(), kBlankLine.size())));
  end_.erase(0, end_.size() - std::min(end_.size(), kBlankLine.size()));
  parser_.append(bytes);
  for (;;) {
    const http::SseParser::Next next = parser_.next();
    if (next == http::SseParser::Next::failed) over_ = true;
    if (next != http::SseParser::Next::event) break;
    look(parser_.take_event());
  }
  if (!parser_.last_event_id().empty()) over_ = true;
  if (over_) parser_.restart();
}

void PassedEvents::look(const http::SseEvent& event) {
  // The answer carries the call's id as the client wrote it.
  if (event.data.find(raw_id_) == std::string::npos) return;
  const auto message = mcp::Message::parse(event.data);
  const bool tells =
      message && (message->kind() == mcp::MessageKind::notification ||
                  message->kind() == mcp::MessageKind::request || message->raw(mcp::Field::id) != raw_id_);
  if (!tells) over_ = true;
}

bool PassedEvents::wants_answer() const {
  return !over_ && (end_.empty() || end_ == kBlankLine);
}

}  // namespace lineward::client
