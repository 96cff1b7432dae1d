// What happens in the gateway, from all its workers, as numbered events that any reader may read at its own
// pace: bounded rings, one for each group, and a cursor for each reader. A reader that is too slow, or was
// away for too long, is told that it has lost something.
//
// It is the log's tap too: it keeps the last lines of the log and the last lines that each server wrote on
// stderr, and makes events of them. Calls are told only while somebody wants them (want()).
//
// From any thread. `wake` is called from any thread, once until rearm(), when there is something to read.
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

#include "log/tap.h"

namespace lineward::admin {

enum class EventGroup : uint8_t { calls, servers, log, count_ };
using EventGroups = unsigned;  // a bit for each
constexpr EventGroups bit(EventGroup group) {
  return 1u << static_cast<unsigned>(group);
}
inline constexpr EventGroups kAllGroups = (1u << static_cast<unsigned>(EventGroup::count_)) - 1;
std::string_view name(EventGroup group);

class EventFeed final : public log::Tap {
 public:
  // `run`: what tells this process from the one before, in cursors.
  EventFeed(std::string run, std::function<void()> wake) : run_(std::move(run)), wake_(std::move(wake)) {}

  // Nobody is woken any more, and nothing is kept.
  void close();

  // What is not wanted is not told; what was not told is lost for a reader that goes on from before.
  void want(EventGroups groups);
  bool wants(EventGroup group) const { return (wanted_.load(std::memory_order_relaxed) & bit(group)) != 0; }

  // `data`: one line of JSON.
  void publish(EventGroup group, std::string_view type, std::string data);
  // So many events of this group were not told, because there were too many.
  void skipped(EventGroup group, uint64_t count);

  // The number of the newest event.
  uint64_t newest() const;
  std::string cursor(uint64_t number) const;
  // Nothing where it is none of this process.
  std::optional<uint64_t> number_of(std::string_view cursor) const;
  // From here on `wake` is called again. Before read().
  void rearm() { woken_ = false; }
  // As an event stream: what came behind `at`, and moves it. At most about `most` bytes; empty: nothing.
  std::string read(uint64_t& at, EventGroups groups, size_t most) const;

  struct Line {
    uint64_t number = 0;
    log::Level level{};
    std::string upstream;
    std::string route;  // of what came to it by a path of several
    std::string json;
  };
  struct LogQuery {
    uint64_t after = 0;
    size_t limit = 1000;
    log::Level least = log::Level::info;
    std::string upstream;  // of this server, or of this path of several; empty: any
  };
  // The newest of them, the oldest first; `more`: there are others behind the last, for a query with `after`.
  std::vector<Line> lines(const LogQuery& query, bool& more) const;
  struct Said {
    std::string time;
    int64_t pid = 0;
    std::string text;
  };
  // The last that it wrote on stderr, the oldest first.
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
    uint64_t gone = 0;  // up to this number not all of them are there
  };
  // What each group is bounded by.
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
  mutable std::mutex mutex_;  // all below
  std::function<void()> wake_;
  bool closed_ = false;
  uint64_t last_ = 0;
  std::array<Ring, static_cast<size_t>(EventGroup::count_)> rings_;
  std::deque<Line> lines_;
  size_t line_bytes_ = 0;
  std::map<std::string, std::deque<Said>> said_;
};

}  // namespace lineward::admin
