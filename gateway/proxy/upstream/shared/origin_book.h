// The state of the origins (the addresses) of one HTTP server, for all workers (docs/origins.md).
//
// A book belongs to the name of a server, and lives while one of the server's versions does. So a reload
// loses neither ejections nor what an operator has drained. Any thread: a call reads and writes atomics only,
// and the lock is for changes that are rare.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "config/config.h"

namespace lineward::upstream {

// Times are those of net::Loop::now(), in milliseconds; 0: never.
class OriginState {
 public:
  using milliseconds = std::chrono::milliseconds;

  explicit OriginState(std::string its_name) : name(std::move(its_name)) {}
  OriginState(const OriginState&) = delete;
  OriginState& operator=(const OriginState&) = delete;

  const std::string name;  // host and port, or the path of a socket
  std::atomic<uint32_t> in_flight{0};
  std::atomic<uint32_t> sessions{0};
  std::atomic<uint64_t> calls{0}, failures{0}, ejections{0};  // all of them
  std::atomic<bool> drained{false};                           // by an operator

  bool is_out(milliseconds now) const { return is_before(now, out_until_); }
  bool is_left_alone(milliseconds now) const { return is_before(now, alone_until_); }
  milliseconds out_for(milliseconds now) const { return left(now, out_until_); }
  milliseconds alone_for(milliseconds now) const { return left(now, alone_until_); }
  // When the origin was added, or came back after an ejection.
  milliseconds since() const { return milliseconds(since_.load(std::memory_order_relaxed)); }
  void is_new(milliseconds now) { since_.store(now.count(), std::memory_order_relaxed); }
  void leave_alone_until(milliseconds then) { alone_until_.store(then.count(), std::memory_order_relaxed); }
  // It has answered. True: for the first time since it was ejected, and that time is over.
  bool succeeded(milliseconds now);

 private:
  friend class OriginBook;
  static bool is_before(milliseconds now, const std::atomic<int64_t>& then) {
    const int64_t at = then.load(std::memory_order_relaxed);
    return at != 0 && now.count() < at;
  }
  static milliseconds left(milliseconds now, const std::atomic<int64_t>& then) {
    return is_before(now, then) ? milliseconds(then.load(std::memory_order_relaxed)) - now : milliseconds(0);
  }

  std::atomic<uint32_t> in_a_row_{0};  // failures in a row
  std::atomic<int64_t> out_until_{0};
  std::atomic<int64_t> alone_until_{0};
  std::atomic<int64_t> since_{0};
  std::atomic<bool> was_out_{false};  // it was ejected, and has not answered since
  // Under the book's lock.
  uint32_t times_out_ = 0;  // ejections in a row
  milliseconds last_out_{0};
};

class OriginBook {
 public:
  using milliseconds = std::chrono::milliseconds;
  using StatePtr = std::shared_ptr<OriginState>;

  OriginBook() = default;
  OriginBook(const OriginBook&) = delete;
  OriginBook& operator=(const OriginBook&) = delete;

  // The book of this server, for all its workers and versions.
  static std::shared_ptr<OriginBook> of(const std::string& server);
  // Null: the server has no origins.
  static std::shared_ptr<OriginBook> find(const std::string& server);

  // The state of one origin, made if it is not known. `key`: its whole address. States of which no worker has
  // an origin are forgotten, unless an operator has drained them.
  StatePtr state(const std::string& key, const std::string& name);
  // The origin of this name; null: no worker has it.
  StatePtr named(const std::string& name) const;
  // The names of all, for an error.
  std::vector<std::string> names() const;

  // A call at the origin failed. `of`: this one and all others that may be used. Returns for how long it was
  // ejected now; 0: it was not, since it has not failed often enough, or half of them are out already.
  milliseconds failed(OriginState& which, const std::vector<const OriginState*>& of,
                      const config::Origins& limits, milliseconds now);

 private:
  void forget_unused();

  mutable std::mutex mutex_;
  std::map<std::string, StatePtr> states_;  // by key
};

}  // namespace lineward::upstream
