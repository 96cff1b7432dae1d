// JSON-RPC over a connected socket, one message a line: the client's end of `lineward stdio`. Blocking, and
// every wait is bounded: this is for commands with a single thread and nothing else to do.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "foundation/base/result.h"

namespace lineward::mcp_client {

using Clock = std::chrono::steady_clock;

class LineLink {
 public:
  enum class Came : unsigned char { line, end, timeout, interrupt, too_long };
  // A longer line is not read: Came::too_long.
  static constexpr size_t kMaxLine = size_t{64} << 20;

  // Takes ownership of the descriptor. `interrupt` (-1: none) becomes readable to end a wait; it is not read
  // here.
  LineLink(int fd, int interrupt) : fd_(fd), interrupt_(interrupt) {}
  ~LineLink();
  LineLink(const LineLink&) = delete;
  LineLink& operator=(const LineLink&) = delete;

  // `line` without its end. The error is one plain sentence.
  Status<> send(std::string_view line);
  Came next(std::string& line, std::optional<Clock::time_point> until);
  // The other side reads the end of its input; its remaining output can still be read.
  void end_writes();

 private:
  std::optional<std::string> take_line();

  int fd_;
  int interrupt_;
  std::string buffer_;
  size_t searched_ = 0;  // bytes of buffer_ without a line end
};

}  // namespace lineward::mcp_client
