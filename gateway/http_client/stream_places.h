// How many of the connections with an HTTP server may be event streams that have no end of their own: those
// on which it speaks by itself. Half of `limits.maxConnections` at most, so that calls find connections
// however many sessions there are. Who finds no place waits in line, and does without meanwhile.
//
// Belongs to an HttpPool, which outlives whoever holds a place or waits for one.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>

#include "net/loop.h"

namespace lineward::upstream {

class StreamPlace;

class StreamPlaces {
 public:
  explicit StreamPlaces(net::Loop& loop);
  StreamPlaces(const StreamPlaces&) = delete;
  StreamPlaces& operator=(const StreamPlaces&) = delete;

  // limits.maxConnections. Streams that stand stay.
  void share_of(size_t connections);
  bool has_room() const { return taken_ < most_; }

 private:
  friend class StreamPlace;
  void give_out();

  size_t most_ = 0;
  size_t taken_ = 0;
  std::deque<StreamPlace*> waiting_;
  net::Deferred give_out_later_;
};

// That of one stream, held or waited for until it is given back.
class StreamPlace {
 public:
  // `comes`: called from the loop when the place that was waited for is held; may be empty.
  explicit StreamPlace(StreamPlaces& places, std::function<void()> comes = nullptr)
      : places_(places), comes_(std::move(comes)) {}
  ~StreamPlace() { give(); }
  StreamPlace(const StreamPlace&) = delete;
  StreamPlace& operator=(const StreamPlace&) = delete;

  bool is_held() const { return held_; }
  // Whether it is held now.
  bool take();
  // The same; else it waits in line.
  bool take_or_wait();
  // For a stream that cannot do without.
  void take_anyway();
  // Held or waited for no more.
  void give();

 private:
  friend class StreamPlaces;
  StreamPlaces& places_;
  const std::function<void()> comes_;
  bool held_ = false;
  bool waits_ = false;
};

}  // namespace lineward::upstream
