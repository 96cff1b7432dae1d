// JSON-RPC over a connected socket, one message a line: the client's end of what `lineward stdio` speaks.
// Blocking, with an end to every wait: this is for commands that have one thread and nothing else to do.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace lineward::mcp_client {

using Clock = std::chrono::steady_clock;

class LineLink {
 public:
  enum class Came : unsigned char { line, end, timeout, interrupt, too_long };
  // A longer line is not read: Came::too_long.
  static constexpr size_t kMaxLine = size_t{64} << 20;

  // Takes the descriptor over. `interrupt` (-1: none) is readable when somebody wants the wait to end; it is
  // not read here.
  LineLink(int fd, int interrupt) : fd_(fd), interrupt_(interrupt) {}
  ~LineLink();
  LineLink(const LineLink&) = delete;
  LineLink& operator=(const LineLink&) = delete;

  // `line` without its end. The error is one plain sentence.
  Status<> send(std::string_view line);
  Came next(std::string& line, std::optional<Clock::time_point> until);
  // The other side reads the end of its input; what it still says can be read.
  void end_writes();

 private:
  std::optional<std::string> take_line();

  int fd_;
  int interrupt_;
  std::string buffer_;
  size_t searched_ = 0;  // of buffer_: there is no end of a line before
};

}  // namespace lineward::mcp_client
