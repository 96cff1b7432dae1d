// How many connections one address may have (listen.maxConnectionsPerAddress). One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace lineward::client {

class ConnectionCaps {
 public:
  explicit ConnectionCaps(const uint32_t& most) : most_(most) {}

  // `peer` is "127.0.0.1:51234", "[::1]:51234" or "unix", which nothing limits. False: one too many, and it
  // is not counted.
  bool enter(std::string_view peer) {
    std::string address = address_of(peer);
    if (address.empty()) return true;
    auto& count = open_[address];  // counted without a limit too: a reload may bring one
    if (most_ > 0 && count >= most_) return false;
    ++count;
    return true;
  }
  void leave(std::string_view peer) {
    auto found = open_.find(address_of(peer));
    if (found != open_.end() && --found->second == 0) open_.erase(found);
  }

  static std::string address_of(std::string_view peer) {
    size_t colon = peer.rfind(':');
    return colon == std::string_view::npos ? std::string() : std::string(peer.substr(0, colon));
  }

 private:
  const uint32_t& most_;
  std::unordered_map<std::string, uint32_t> open_;
};

}  // namespace lineward::client
