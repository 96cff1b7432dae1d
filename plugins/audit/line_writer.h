// Lines to a file, stderr or stdout without ever making the loop wait: they gather, and a thread of their own
// writes them. What it cannot write in time is bounded; lines beyond that are dropped and counted.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "base/result.h"
#include "net/loop.h"

namespace lineward::plugins {

class LineWriter {
 public:
  static constexpr size_t kMaxWaiting = 4 << 20;

  // `target` is a path, "stderr" or "stdout". A file is made with mode 0640, and opened anew when another one
  // stands in its place.
  static Result<std::unique_ptr<LineWriter>> open(net::Loop& loop, const std::string& target);
  ~LineWriter();  // what waits is written, for at most a second
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  // Without its newline.
  void write(std::string_view line);
  void reopen();  // before what comes next

  uint64_t lines() const { return lines_; }  // that were taken
  // That were not taken, or could not be written.
  uint64_t dropped() const;
  // What went wrong with the file since this was asked last, or empty.
  std::string fault();

 private:
  struct Shared;
  LineWriter(net::Loop& loop, std::shared_ptr<Shared> shared);
  void hand_over();

  net::Loop& loop_;
  std::shared_ptr<Shared> shared_;  // with the thread, which may outlive this where a disk hangs
  net::Deferred now_;
  net::Timer soon_;
  std::chrono::milliseconds handed_at_{-1000};
  std::string gathered_;
  uint64_t gathered_lines_ = 0;
  uint64_t lines_ = 0;
  uint64_t dropped_ = 0;
};

}  // namespace lineward::plugins
