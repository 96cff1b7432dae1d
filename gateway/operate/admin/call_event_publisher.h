// Publishes events of one worker's calls while a reader wants them (operate/admin/event_ring.h).
//
// On the worker's thread. Bounded: kPerSecond events per second, and progress of one call four times a
// second; further events are counted, and reported as lost.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <unordered_map>

#include "foundation/net/loop.h"
#include "operate/admin/event_ring.h"
#include "proxy/exchange/call_log.h"

namespace lineward::admin {

class CallEventPublisher final {
 public:
  // `loop` is the worker's, and must outlive this object.
  CallEventPublisher(net::Loop& loop, std::shared_ptr<EventRing> feed)
      : loop_(loop), ring_(std::move(feed)) {}

  // As exchange::CallWatcher.
  void on_event(const exchange::CallEvent& event);
  // Reports lost events that are not reported yet.
  void flush();

 private:
  static constexpr uint32_t kPerSecond = 2000;
  static constexpr std::chrono::milliseconds kProgressApart{250};
  static constexpr size_t kMaxProgress = 10000;

  void in_flight(exchange::CallMoment moment, const exchange::Exchange& exchange);
  void ended(const exchange::EndedCall& call);
  void settled(const exchange::EndedCall& call);
  bool has_room();

  net::Loop& loop_;
  const std::shared_ptr<EventRing> ring_;
  std::chrono::milliseconds second_{-1000};
  uint32_t in_second_ = 0;
  uint64_t skipped_ = 0;
  // time of the last progress event, by call
  std::unordered_map<std::string, std::chrono::milliseconds> progress_;
};

}  // namespace lineward::admin
