// Writes lines to a file, stderr or stdout without blocking the loop: they are buffered, and a writer thread
// writes them. The buffer is bounded; further lines are dropped and counted.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "foundation/base/result.h"
#include "foundation/net/loop.h"

namespace lineward::plugins {

class LineWriter {
 public:
  static constexpr size_t kMaxWaiting = 4 << 20;

  // `target` is a path, "stderr" or "stdout". A file is created with mode 0640, and reopened when another
  // file has its name.
  static Result<std::unique_ptr<LineWriter>> open(net::Loop& loop, const std::string& target);
  ~LineWriter();  // writes buffered lines, for at most a second
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  // `line` without its newline.
  void write(std::string_view line);
  void reopen();  // before the next line

  uint64_t lines() const { return lines_; }  // accepted
  // Lines dropped or not written.
  uint64_t dropped() const;
  // The file's error since the last call, or empty.
  std::string fault();

 private:
  struct Shared;
  LineWriter(net::Loop& loop, std::shared_ptr<Shared> shared);
  void hand_over();

  net::Loop& loop_;
  std::shared_ptr<Shared> shared_;  // shared with the thread, which may outlive this object if the disk hangs
  net::Deferred now_;
  net::Timer soon_;
  std::chrono::milliseconds handed_at_{-1000};
  std::string gathered_;
  uint64_t gathered_lines_ = 0;
  uint64_t lines_ = 0;
  uint64_t dropped_ = 0;
};

}  // namespace lineward::plugins
