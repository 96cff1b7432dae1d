// Limits how often each peer may cause each event, so that a peer that keeps failing costs a line per second,
// not the disk. The first few events are written, then as many as the rate allows. Once a second the number
// of dropped events is reported. The log and the audit log each have a table per thread.
//
// The event's fields name the peer (its server, address, plugin): code that writes an event keeps no state.
// The table is bounded; each event also has a rate for all peers together.
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

#include "foundation/log/log.h"

namespace lineward::log {

struct Rate {
  double burst = 0;
  double per_second = 0;
};

class PeerRates {
 public:
  static constexpr size_t kMostPeers = 512;
  // The values are in the order of the keys; values that the event did not have are empty.
  using Tell = std::function<void(Level level, std::string_view event, std::span<const std::string> peer,
                                  uint64_t left_out)>;

  // `keys`: the fields that name a peer. String literals.
  PeerRates(std::initializer_list<std::string_view> keys, Tell tell);
  ~PeerRates();
  PeerRates(const PeerRates&) = delete;
  PeerRates& operator=(const PeerRates&) = delete;

  // False: the event is dropped and counted. `all`: the rate of this event for all peers together.
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

// For this thread: `wanted` is called when the first event was dropped, and must arrange tell_left_out() a
// second later. Without it a count is reported with the next event written.
void when_left_out(std::function<void()> wanted);
void tell_left_out();

}  // namespace lineward::log
