// Numbered events from all workers, for readers at their own pace: bounded rings, one per group, and a cursor
// for each reader. A reader that is too slow, or was away for too long, gets a `lost` event.
//
// It is also a log tap: it keeps the last log lines and each server's last stderr lines, and makes events of
// them. Events of calls are published only while a reader wants them (want()).
//
// From any thread. `wake` is called from any thread when there are new events, once until rearm().
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/log/tap.h"

namespace lineward::admin {

enum class EventGroup : uint8_t { calls, servers, log, count_ };
using EventGroups = unsigned;  // a bit for each group
constexpr EventGroups bit(EventGroup group) {
  return 1u << static_cast<unsigned>(group);
}
inline constexpr EventGroups kAllGroups = (1u << static_cast<unsigned>(EventGroup::count_)) - 1;
std::string_view name(EventGroup group);

class EventRing final : public log::Tap {
 public:
  // `run` identifies this process in cursors.
  EventRing(std::string run, std::function<void()> wake) : run_(std::move(run)), wake_(std::move(wake)) {}

  // Stops waking, and drops everything.
  void close();

  // Sets the published groups. Events of other groups are lost for readers that continue from earlier.
  void want(EventGroups groups);
  bool wants(EventGroup group) const { return (wanted_.load(std::memory_order_relaxed) & bit(group)) != 0; }

  // `data`: one line of JSON.
  void publish(EventGroup group, std::string_view type, std::string data);
  // Reports a number of events of this group as dropped because of the rate limit.
  void skipped(EventGroup group, uint64_t count);

  // The number of the newest event.
  uint64_t newest() const;
  std::string cursor(uint64_t number) const;
  // nullopt if the cursor is not of this process.
  std::optional<uint64_t> number_of(std::string_view cursor) const;
  // Allows the next call of `wake`. Call it before read().
  void rearm() { woken_ = false; }
  // Events after `at` as an event stream; advances `at`. About `most` bytes at most; empty: no events.
  std::string read(uint64_t& at, EventGroups groups, size_t most) const;

  struct Line {
    uint64_t number = 0;
    log::Level level{};
    std::string upstream;
    std::string route;  // for events routed by the aggregate: its path
    std::string json;
  };
  struct LogQuery {
    uint64_t after = 0;
    size_t limit = 1000;
    log::Level least = log::Level::info;
    std::string upstream;  // of this server or aggregate path; empty: any
  };
  // The newest lines, oldest first; `more`: further lines follow, for a query with `after`.
  std::vector<Line> lines(const LogQuery& query, bool& more) const;
  struct Said {
    std::string time;
    int64_t pid = 0;
    std::string text;
  };
  // The server's last stderr lines, oldest first.
  std::vector<Said> stderr_of(const std::string& server) const;

  // log::Tap
  void told(log::Level level, std::string_view event, std::initializer_list<log::Field> fields,
            std::string_view iso_time) override;

 private:
  struct Event {
    uint64_t number = 0;
    std::string type, data;
  };
  struct Ring {
    std::deque<Event> events;
    size_t bytes = 0;
    uint64_t gone = 0;  // some events up to this number are gone
  };
  // Limits of each group.
  struct Bound {
    size_t events, bytes;
  };
  static constexpr std::array<Bound, static_cast<size_t>(EventGroup::count_)> kBounds{
      {{4096, 4u << 20}, {1024, 1u << 20}, {2048, 2u << 20}}};
  static constexpr size_t kMaxLines = 1000;
  static constexpr size_t kMaxLineBytes = 1u << 20;
  static constexpr size_t kMaxSaid = 20;
  static constexpr size_t kMaxServers = 1024;

  void put(std::unique_lock<std::mutex>& lock, EventGroup group, std::string_view type, std::string data);
  void wake();
  void keep_line(Line line);

  const std::string run_;
  std::atomic<EventGroups> wanted_{0};
  std::atomic<bool> woken_{false};
  mutable std::mutex mutex_;  // guards everything below
  std::function<void()> wake_;
  bool closed_ = false;
  uint64_t last_ = 0;
  std::array<Ring, static_cast<size_t>(EventGroup::count_)> rings_;
  std::deque<Line> lines_;
  size_t line_bytes_ = 0;
  std::map<std::string, std::deque<Said>> said_;
};

}  // namespace lineward::admin
