// Makes events of what happens to the calls of one worker, while somebody wants them (admin/event_feed.h).
//
// On the worker's thread. Bounded: so many events in a second, and progress of one call four times a second;
// what is more is counted, and told as lost.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <unordered_map>

#include "admin/event_feed.h"
#include "exchange/call_watcher.h"
#include "net/loop.h"

namespace lineward::admin {

class CallTeller final : public exchange::CallWatcher {
 public:
  // The loop is its worker's, and outlives it.
  CallTeller(net::Loop& loop, std::shared_ptr<EventFeed> feed) : loop_(loop), feed_(std::move(feed)) {}

  void told(exchange::CallMoment moment, exchange::Exchange& exchange) override;
  void ended(const exchange::EndedCall& call) override;
  void settled(const exchange::EndedCall& call) override;
  // Tells what was lost, if that was not done yet.
  void flush();

 private:
  static constexpr uint32_t kPerSecond = 2000;
  static constexpr std::chrono::milliseconds kProgressApart{250};
  static constexpr size_t kMaxProgress = 10000;

  bool has_room();

  net::Loop& loop_;
  const std::shared_ptr<EventFeed> feed_;
  std::chrono::milliseconds second_{-1000};
  uint32_t in_second_ = 0;
  uint64_t skipped_ = 0;
  std::unordered_map<std::string, std::chrono::milliseconds> progress_;  // when it was told last, by call
};

}  // namespace lineward::admin
