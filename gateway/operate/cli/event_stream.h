// Reads a gateway's event stream (docs/admin-api.md): single events, and a cursor to resume after a
// disconnect. Non-blocking; polled like a ControlConnection.
#pragma once

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "operate/cli/control_client.h"
#include "operate/cli/control_connection.h"
#include "operate/cli/stream_event.h"
#include "protocol/http/sse_parser.h"

namespace lineward::cli {

class EventStream {
 public:
  // `types` as in the API: "calls,servers,log".
  explicit EventStream(std::string types) : types_(std::move(types)), parser_(kLimits) {}

  // Begins, or resumes after the last event taken.
  void open(const std::string& socket);
  void close() { connection_ = nullptr; }
  bool is_open() const { return connection_ != nullptr; }
  pollfd wants() const { return connection_->wants(); }
  // Reads available data. When the stream has ended, or was silent for too long, it closes; why() has the
  // reason.
  void advance();
  // The time at which advance() must be called even without data.
  std::chrono::steady_clock::time_point silence() const { return heard_ + kSilence; }
  // The next event of the data read.
  std::optional<StreamEvent> next();
  const std::string& why() const { return why_; }
  // The error response, if there is one instead of a stream.
  const std::optional<ControlReply>& refusal() const { return refusal_; }

 private:
  // A gateway sends a keep-alive every 15 seconds.
  static constexpr std::chrono::seconds kSilence{45};
  static constexpr http::SseLimits kLimits{2u << 20, 2u << 20};

  void end(std::string why);

  const std::string types_;
  std::string socket_;
  http::SseParser parser_;
  std::unique_ptr<ControlConnection> connection_;
  std::string cursor_;
  std::chrono::steady_clock::time_point heard_;
  std::string why_;
  std::optional<ControlReply> refusal_;
};

}  // namespace lineward::cli
