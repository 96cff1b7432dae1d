// How often each peer may cause each event, so that a peer that is refused without end costs a line a second
// and not the disk: the first few are written whole, then as many as the rate allows, and once a second a
// count of those that were left out. The log and the audit log each have one table for each thread.
//
// A peer is what the fields of the event name (its server, its address, its plugin): a place that writes an
// event has nothing to remember. The table is bounded; an event has a rate for all peers together besides.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <list>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "log/log.h"

namespace lineward::log {

struct Rate {
  double burst = 0;
  double per_second = 0;
};

class PeerRates {
 public:
  static constexpr size_t kMostPeers = 512;
  // The values stand in the order of the keys; those that the event did not have are empty.
  using Tell = std::function<void(Level level, std::string_view event, std::span<const std::string> peer,
                                  uint64_t left_out)>;

  // `keys`: the fields that name a peer. Literals.
  PeerRates(std::initializer_list<std::string_view> keys, Tell tell);
  ~PeerRates();
  PeerRates(const PeerRates&) = delete;
  PeerRates& operator=(const PeerRates&) = delete;

  // False: it is counted instead. `all`: the rate of this event for all peers together.
  bool allows(Level level, std::string_view event, std::span<const Field> fields, Rate peer, Rate all,
              std::chrono::milliseconds now);
  void tell();
  size_t peers() const { return by_key_.size(); }

 private:
  struct Entry {
    std::string key;
    std::string event;
    std::vector<std::string> peer;
    Level level = Level::info;
    double tokens = 0;
    std::chrono::milliseconds at{0};
    uint64_t left_out = 0;
  };
  Entry& entry(std::string_view event, std::span<const Field> fields, Rate rate,
               std::chrono::milliseconds now);
  bool take(Entry& from, Level level, Rate rate, std::chrono::milliseconds now);
  void tell(Entry& entry);

  const std::vector<std::string_view> keys_;
  const Tell tell_;
  std::list<Entry> newest_first_;
  std::unordered_map<std::string_view, std::list<Entry>::iterator> by_key_;
};

// Of this thread: `wanted` is called when the first event was left out and must see to it that
// tell_left_out() is called a second later. Without it a count is told with the next event that is written.
void when_left_out(std::function<void()> wanted);
void tell_left_out();

}  // namespace lineward::log
