#include "operate/cli/event_stream.h"

#include <fmt/format.h>

#include "foundation/json/json_document.h"
#include "foundation/log/sanitize.h"

namespace lineward::cli {

void EventStream::open(const std::string& socket) {
  socket_ = socket;
  parser_ = http::SseParser(kLimits);
  refusal_.reset();
  why_.clear();
  heard_ = std::chrono::steady_clock::now();
  const std::string headers = cursor_.empty() ? "" : fmt::format("Last-Event-ID: {}\r\n", cursor_);
  connection_ = std::make_unique<ControlConnection>(socket, "/api/v1/events?types=" + types_,
                                                    std::string_view(), headers);
}

void EventStream::advance() {
  if (!connection_) return;
  connection_->advance();
  const int status = connection_->status();
  const auto now = std::chrono::steady_clock::now();
  if (status == 200) {
    connection_->expect_stream();
    const std::string bytes = connection_->take_body();
    if (!bytes.empty()) heard_ = now;
    parser_.append(bytes);
  }
  if (connection_->over()) {
    if (status != 0 && status != 200 && connection_->fault().empty()) {
      auto reply = reply_of(*connection_);
      refusal_ = reply ? *reply : ControlReply{status, nlohmann::json::object()};
    }
    return end(connection_->fault().empty() ? socket_ + " has hung up" : connection_->fault());
  }
  if (now - heard_ >= kSilence)
    end(fmt::format("{} has said nothing for {}s", socket_, std::chrono::seconds(kSilence).count()));
}

std::optional<StreamEvent> EventStream::next() {
  for (;;) {
    switch (parser_.next()) {
      case http::SseParser::Next::need_more: return std::nullopt;
      case http::SseParser::Next::failed: end(socket_ + ": " + parser_.fault()); return std::nullopt;
      case http::SseParser::Next::event: break;
    }
    http::SseEvent read = parser_.take_event();
    // The cursor is sent back in a header.
    const bool plain = read.id.size() <= 64 && read.id.find_first_not_of(
                                                   "0123456789abcdefghijklmnopqrstuvwxyz"
                                                   "ABCDEFGHIJKLMNOPQRSTUVWXYZ-_") == std::string::npos;
    if (plain) cursor_ = read.id;
    StreamEvent event{sanitize(read.event, 60), plain ? cursor_ : std::string(),
                      lineward::json::parse_document(read.data)};
    if (!event.data.is_object()) continue;
    make_printable(event.data);
    return event;
  }
}

void EventStream::end(std::string why) {
  connection_ = nullptr;
  why_ = std::move(why);
}

}  // namespace lineward::cli
