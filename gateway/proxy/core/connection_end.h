// Whether a client's connection is open, or which side closed it and when. Each session keeps this of the
// connections that carried its messages (client::Session::brought_on), also on other workers: a connection
// moves between workers, its sessions stay. All streams of an HTTP/2 connection share one.
//
// Written by the connection's worker, read by those of its sessions; loops count the same clock.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

namespace lineward::core {

class ConnectionEnd {
 public:
  void by_client(std::chrono::milliseconds now) { note(now.count()); }
  void by_gateway() { note(kByGateway); }

  bool is_open() const { return at_.load(std::memory_order_relaxed) == kOpen; }
  // The time at which its client closed it; nullopt: open, or closed by Lineward.
  std::optional<std::chrono::milliseconds> closed_by_client() const {
    const int64_t at = at_.load(std::memory_order_relaxed);
    return at == kOpen || at == kByGateway ? std::nullopt : std::optional(std::chrono::milliseconds(at));
  }

 private:
  static constexpr int64_t kOpen = -1, kByGateway = -2;
  // The first end counts.
  void note(int64_t end) {
    int64_t open = kOpen;
    at_.compare_exchange_strong(open, end, std::memory_order_relaxed);
  }

  std::atomic<int64_t> at_{kOpen};
};

using ConnectionEndPtr = std::shared_ptr<ConnectionEnd>;

}  // namespace lineward::core
