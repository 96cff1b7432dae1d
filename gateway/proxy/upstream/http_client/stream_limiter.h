// Limits the connections to an HTTP server that are event streams without an end of their own (for messages
// outside of calls). At most half of `limits.maxConnections`, so that calls find connections however many
// sessions there are. A stream without a permit waits in line, and its session works without it meanwhile.
//
// Owned by an HttpPool, which outlives all holders and waiters.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>

#include "foundation/net/loop.h"

namespace lineward::upstream {

class StreamPlace;

class StreamLimiter {
 public:
  explicit StreamLimiter(net::Loop& loop);
  StreamLimiter(const StreamLimiter&) = delete;
  StreamLimiter& operator=(const StreamLimiter&) = delete;

  // limits.maxConnections. Open streams stay.
  void share_of(size_t connections);
  bool has_room() const { return taken_ < most_; }
  bool is_unused() const { return taken_ == 0 && waiting_.empty(); }

 private:
  friend class StreamPlace;
  void give_out();

  size_t most_ = 0;
  size_t taken_ = 0;
  std::deque<StreamPlace*> waiting_;
  net::Deferred give_out_later_;
};

// The permit of one stream, held or waited for until it is released.
class StreamPlace {
 public:
  // `comes`: called from the loop when a permit that was waited for is held; may be empty.
  explicit StreamPlace(StreamLimiter& places, std::function<void()> comes = nullptr)
      : limiter_(places), comes_(std::move(comes)) {}
  ~StreamPlace() { give(); }
  StreamPlace(const StreamPlace&) = delete;
  StreamPlace& operator=(const StreamPlace&) = delete;

  bool is_held() const { return held_; }
  // Takes the permit if one is free; returns whether it is held.
  bool take();
  // The same; otherwise it waits in line.
  bool take_or_wait();
  // Takes a permit even over the limit, for a required stream.
  void take_anyway();
  // Releases the permit, or stops waiting.
  void give();

 private:
  friend class StreamLimiter;
  StreamLimiter& limiter_;
  const std::function<void()> comes_;
  bool held_ = false;
  bool waits_ = false;
};

}  // namespace lineward::upstream
