// The event stream of a gateway (docs/admin-api.md) as a reader sees it: events one by one, and a cursor with
// which it goes on after it was cut off. Never blocks; waits like a ControlConnection.
#pragma once

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cli/control_client.h"
#include "cli/control_connection.h"
#include "cli/stream_event.h"
#include "http/sse_parser.h"

namespace lineward::cli {

class EventStream {
 public:
  // `types` as the API takes them: "calls,servers,log".
  explicit EventStream(std::string types) : types_(std::move(types)), parser_(kLimits) {}

  // Begins, or goes on behind the last event that was taken.
  void open(const std::string& socket);
  void close() { connection_ = nullptr; }
  bool is_open() const { return connection_ != nullptr; }
  pollfd wants() const { return connection_->wants(); }
  // Reads what is there. When the stream has ended, or nothing was heard of the gateway for too long, it is
  // not open any more, and why() says why.
  void advance();
  // When silence() is over, advance() has to be called even if nothing came.
  std::chrono::steady_clock::time_point silence() const { return heard_ + kSilence; }
  // The next event, from what was read.
  std::optional<StreamEvent> next();
  const std::string& why() const { return why_; }
  // It was answered with a refusal instead of a stream.
  const std::optional<ControlReply>& refusal() const { return refusal_; }

 private:
  // A gateway says something every 15 seconds.
  static constexpr std::chrono::seconds kSilence{45};
  static constexpr http::SseLimits kLimits{2u << 20, 2u << 20};

  void end(std::string why);

  const std::string types_;
  std::string socket_;
  http::SseParser parser_;
  std::unique_ptr<ControlConnection> connection_;
  std::string cursor_;
  std::string body_;  // of a refusal
  std::chrono::steady_clock::time_point heard_;
  std::string why_;
  std::optional<ControlReply> refusal_;
};

}  // namespace lineward::cli
