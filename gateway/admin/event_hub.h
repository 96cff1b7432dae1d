// The readers of the event feed: `GET /api/v1/events`, server-sent events. Turns the feed's sources on while
// somebody reads, and for a while after, so that a reader that comes back with its cursor has missed nothing.
//
// On the first worker's thread; owned by Operations through a shared pointer, because other threads find it
// again by a weak one. Each reader has its cursor and nothing else: what waits for it is in the feed's rings,
// and at most kBacklog bytes in its stream. One that takes nothing, or whose machine is gone, has left.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "admin/call_teller.h"
#include "admin/event_feed.h"
#include "admin/plain_http.h"
#include "admin/sources.h"
#include "net/loop.h"

namespace lineward::admin {

class EventHub final : public std::enable_shared_from_this<EventHub> {
 public:
  // `sources` outlives it.
  static std::shared_ptr<EventHub> create(const Sources& sources);
  ~EventHub();
  EventHub(const EventHub&) = delete;
  EventHub& operator=(const EventHub&) = delete;

  EventFeed& feed() { return *feed_; }
  // The answer to a reader: a stream, or why it gets none.
  PlainResponse open(const PlainRequest& request);

 private:
  class Reader;
  static constexpr size_t kMaxReaders = 16;
  static constexpr size_t kBacklog = 256 * 1024;
  static constexpr std::chrono::milliseconds kApart{20};  // between two deliveries
  static constexpr std::chrono::milliseconds kTick{1000};
  static constexpr std::chrono::milliseconds kPatience{30000};  // with a reader that takes nothing
  static constexpr std::chrono::milliseconds kLinger{60000};    // for one that comes back

  explicit EventHub(const Sources& sources) : sources_(sources), pace_(sources.loop), tick_(sources.loop) {}
  void start();
  void woken();
  void deliver();
  void watch();
  void use_tellers(bool wanted);
  void tick();
  void look_at_servers();

  const Sources& sources_;
  std::shared_ptr<EventFeed> feed_;
  std::set<Reader*> readers_;
  std::vector<std::shared_ptr<CallTeller>> tellers_;  // of each worker, while calls are wanted
  std::map<std::string, std::string> servers_;        // as they were told last
  EventGroups wanted_ = 0;
  std::chrono::milliseconds last_reader_{0};
  std::chrono::milliseconds delivered_{-1000};
  net::Timer pace_;
  net::Timer tick_;
};

}  // namespace lineward::admin
