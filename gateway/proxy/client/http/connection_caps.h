// Limits on connections in total and per address (listen.maxConnections, listen.maxConnectionsPerAddress).
// Shared by all workers: a connection counts where it was accepted, and may move to another worker. The lock
// is taken when connections open and close, never for messages.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "foundation/base/peer_address.h"

namespace lineward::client {

class ConnectionCaps {
 public:
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
  void leave(std::string_view peer) {
    std::lock_guard<std::mutex> lock(mutex_);
    --total_;
    auto found = open_.find(address_of(peer));
    if (found != open_.end() && --found->second == 0) open_.erase(found);
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

  std::mutex mutex_;
  size_t total_ = 0;
  std::unordered_map<std::string, uint32_t> open_;
};

}  // namespace lineward::client
