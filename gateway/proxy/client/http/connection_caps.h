// Limits on connections in total and per address (listen.maxConnections, listen.maxConnectionsPerAddress).
// Shared by all workers: a connection counts where it was accepted, and may move to another worker. The lock
// is taken when connections open and close, never for messages.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "foundation/base/peer_address.h"

namespace lineward::client {

class ConnectionCaps {
 public:
  static constexpr size_t kMostWorkers = 64;
  enum class AdmitResult : uint8_t { welcome, too_many, too_many_of_address };

  // `peer` as in foundation/base/peer_address.h; "unix" has no limit per address. Counts the connection only
  // if it is admitted.
  AdmitResult enter(std::string_view peer, size_t most, size_t most_of_address) {
    std::string address = address_of(peer);
    std::lock_guard<std::mutex> lock(mutex_);
    if (total_ >= most) return AdmitResult::too_many;
    if (!address.empty()) {
      auto found = open_.try_emplace(std::move(address), 0).first;
      if (found->second >= most_of_address) {
        if (found->second == 0) open_.erase(found);
        return AdmitResult::too_many_of_address;
      }
      ++found->second;
    }
    ++total_;
    return AdmitResult::welcome;
  }
  // An admitted connection counts at another address from here on. False: it may not, and counts as before.
  bool rename(std::string_view peer, std::string_view other, size_t most_of_address) {
    std::string from = address_of(peer), to = address_of(other);
    std::lock_guard<std::mutex> lock(mutex_);
    if (from == to) return true;
    if (!to.empty()) {
      auto found = open_.try_emplace(std::move(to), 0).first;
      if (found->second >= most_of_address) {
        if (found->second == 0) open_.erase(found);
        return false;
      }
      ++found->second;
    }
    auto before = open_.find(from);
    if (before != open_.end() && --before->second == 0) open_.erase(before);
    return true;
  }
  void leave(std::string_view peer) {
    std::lock_guard<std::mutex> lock(mutex_);
    --total_;
    auto found = open_.find(address_of(peer));
    if (found != open_.end() && --found->second == 0) open_.erase(found);
  }

  // How the open connections are spread over the workers.
  void lives_on(size_t worker, bool now) { of(worker).living += now ? 1 : -1; }
  void sent_to(size_t worker) { ++of(worker).arriving; }
  void arrived_at(size_t worker) { --of(worker).arriving; }
  // The worker with the fewest, if this one has more, for one more connection; nullopt: none.
  std::optional<size_t> less_busy_than(size_t worker, size_t workers) {
    constexpr int kMostArriving = 16;  // at a worker that may be stuck
    std::optional<size_t> least;
    int fewest = of(worker).living;
    for (size_t k = 0; k < workers; ++k) {
      const int arriving = workers_[k].arriving, has = workers_[k].living + arriving;
      if (has >= fewest || arriving >= kMostArriving) continue;
      least = k;
      fewest = has;
    }
    return least;
  }

  // Open connections on all workers.
  size_t total() {
    std::lock_guard<std::mutex> lock(mutex_);
    return total_;
  }

 private:
  static std::string address_of(std::string_view peer) {
    return peer == "unix" ? std::string() : address_of_peer(peer);
  }

  struct OfWorker {
    std::atomic<int> living{0}, arriving{0};
  };
  OfWorker& of(size_t worker) { return workers_[worker]; }

  std::array<OfWorker, kMostWorkers> workers_;
  std::mutex mutex_;
  size_t total_ = 0;
  std::unordered_map<std::string, uint32_t> open_;
};

}  // namespace lineward::client
