// The readers of the event feed: `GET /api/v1/events`, server-sent events. Enables the feed's sources while
// there are readers, and for kLinger afterwards, so that a reader resuming with its cursor has missed
// nothing.
//
// On the first worker's thread. Owned by Operations through a shared pointer, since other threads refer to it
// by a weak one. Each reader only has its cursor: its events are in the feed's rings, with at most kBacklog
// bytes in its stream. A reader that reads nothing, or has a silent host, is dropped.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "foundation/net/loop.h"
#include "operate/admin/call_event_publisher.h"
#include "operate/admin/event_ring.h"
#include "operate/admin/plain_http.h"
#include "operate/admin/sources.h"

namespace lineward::admin {

class EventStreamEndpoint final : public std::enable_shared_from_this<EventStreamEndpoint> {
 public:
  // `sources` must outlive it.
  static std::shared_ptr<EventStreamEndpoint> create(const Sources& sources);
  ~EventStreamEndpoint();
  EventStreamEndpoint(const EventStreamEndpoint&) = delete;
  EventStreamEndpoint& operator=(const EventStreamEndpoint&) = delete;

  EventRing& ring() { return *ring_; }
  // The response to a reader: a stream, or an error.
  PlainResponse open(const PlainRequest& request);

 private:
  class Reader;
  static constexpr size_t kMaxReaders = 16;
  static constexpr size_t kBacklog = 256 * 1024;
  static constexpr std::chrono::milliseconds kApart{20};  // between two deliveries
  static constexpr std::chrono::milliseconds kTick{1000};
  static constexpr std::chrono::milliseconds kPatience{30000};  // for a reader that reads nothing
  static constexpr std::chrono::milliseconds kLinger{60000};    // for a reader that may resume

  explicit EventStreamEndpoint(const Sources& sources)
      : sources_(sources), pace_(sources.loop), tick_(sources.loop) {}
  void start();
  void woken();
  void deliver();
  void watch();
  void use_tellers(bool wanted);
  void tick();
  void look_at_servers();

  const Sources& sources_;
  std::shared_ptr<EventRing> ring_;
  std::set<Reader*> readers_;
  std::vector<std::shared_ptr<CallEventPublisher>> tellers_;  // one per worker, while calls are wanted
  std::map<std::string, std::string> servers_;                // last published state
  EventGroups wanted_ = 0;
  std::chrono::milliseconds last_reader_{0};
  std::chrono::milliseconds delivered_{-1000};
  net::Timer pace_;
  net::Timer tick_;
};

}  // namespace lineward::admin
