// Lines on their way to the client on stdout, which may read slowly: how much may wait for it, who is held
// back meanwhile, and when it is given up. What a client has asked for may wait without harm; what nobody
// asked for could gather without end.
//
// Owned by the StdioFront.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "client/stdio/stdio_reply.h"
#include "config/config.h"
#include "net/loop.h"
#include "net/std_streams.h"

namespace lineward::client {

class StdioWriter {
 public:
  // `too_slow`: the client has taken nothing for too long, or far too much waits for it. It may be called
  // from inside write().
  StdioWriter(net::Loop& loop, const config::Listen& config, net::StdStreams& streams,
              std::function<void()> too_slow)
      : config_(config), streams_(streams), too_slow_(std::move(too_slow)), stall_(loop) {}
  StdioWriter(const StdioWriter&) = delete;
  StdioWriter& operator=(const StdioWriter&) = delete;

  void write(std::string message, StdioLines::Kind kind);
  // The client is given up: nothing is written, and nobody is told any more.
  void stop();
  // So much waits that no more of its requests are read.
  bool far_behind() const { return streams_.backlog() > kBurst * config_.max_stream_backlog_bytes; }

  // As in StdioLines.
  bool above_high_watermark();
  void when_drained(uint64_t serial, std::function<void()> drained);
  void forget(uint64_t serial) { drained_.erase(serial); }
  // From the stream: nothing waits any more.
  void drained();

 private:
  // Beyond this many times the cap the client is too slow at once; and a client whose requests make more than
  // that waits for us to read on.
  static constexpr uint64_t kBurst = 16;
  // What waits behind the message being written.
  struct Piece {
    uint64_t end;          // counted as written_
    uint64_t unasked_for;  // its size, where no request awaited it
  };
  void settle();
  void watch_reader();

  const config::Listen& config_;
  net::StdStreams& streams_;
  const std::function<void()> too_slow_;
  net::Timer stall_;
  std::map<uint64_t, std::function<void()>> drained_;  // by serial: who holds back until nothing waits
  std::deque<Piece> pieces_;
  uint64_t written_ = 0;
  uint64_t sent_ = 0;  // of that, what the kernel had when we last looked
  uint64_t unasked_for_ = 0;
  bool stopped_ = false;
};

}  // namespace lineward::client
