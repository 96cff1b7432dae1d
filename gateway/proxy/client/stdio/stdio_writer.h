// Lines pending for the client on stdout, which may read slowly. Applies the limits, pauses servers, and
// disconnects a client that is too slow. Awaited answers may wait; unsolicited messages are capped.
//
// Owned by the StdioFront.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "config/config.h"
#include "foundation/net/loop.h"
#include "foundation/net/std_streams.h"

namespace lineward::client {

class StdioWriter {
 public:
  // Answers are awaited, and bounded by the number of requests. Unsolicited messages are not bounded.
  enum class Kind : bool { unasked_for, awaited };
  // `too_slow`: the client has read nothing for too long, or far too much is pending. May be called from
  // inside write().
  StdioWriter(net::Loop& loop, const config::Listen& config, net::StdStreams& streams,
              std::function<void()> too_slow)
      : config_(config), streams_(streams), too_slow_(std::move(too_slow)), stall_(loop) {}
  StdioWriter(const StdioWriter&) = delete;
  StdioWriter& operator=(const StdioWriter&) = delete;

  void write(std::string message, Kind kind);
  // The client is gone: no more writes and no more callbacks.
  void stop();
  // So much is pending that no more of its requests are read.
  bool far_behind() const { return streams_.backlog() > kBurst * config_.max_stream_backlog_bytes; }

  // Above it senders should pause; once nothing is pending, `drained` is called for that request.
  bool above_high_watermark();
  void when_drained(uint64_t serial, std::function<void()> drained);
  void forget(uint64_t serial) { drained_.erase(serial); }
  // Called by the stream: nothing is pending any more.
  void drained();

 private:
  // Above this multiple of the cap the client is too slow at once; while awaited answers exceed it, no more
  // requests are read.
  static constexpr uint64_t kBurst = 16;
  // A line behind the message being written.
  struct Piece {
    uint64_t end;          // counted as written_
    uint64_t unasked_for;  // its size, if no request awaited it
  };
  void settle();
  void watch_reader();

  const config::Listen& config_;
  net::StdStreams& streams_;
  const std::function<void()> too_slow_;
  net::Timer stall_;
  std::map<uint64_t, std::function<void()>> drained_;  // by serial: callbacks of paused senders
  std::deque<Piece> pieces_;
  uint64_t written_ = 0;
  uint64_t sent_ = 0;  // bytes that the kernel had taken at the last check
  uint64_t unasked_for_ = 0;
  bool stopped_ = false;
};

}  // namespace lineward::client
