// The pause of an address after wrong tokens: a few failures are free, then each doubles the pause. A valid
// token resets it. Bounded; pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

namespace lineward::admin {

class SignInPauses {
 public:
  static constexpr uint32_t kFree = 5;
  static constexpr std::chrono::milliseconds kFirst{1000}, kLongest{60'000};
  static constexpr size_t kMost = 1024;  // addresses; the oldest is forgotten

  // `peer`: with or without its port. 0: it may try now.
  std::chrono::milliseconds left(std::string_view peer, std::chrono::milliseconds now) const;
  void failed(std::string_view peer, std::chrono::milliseconds now);
  void succeeded(std::string_view peer);

  // The same of what is no peer, by any name for it.
  std::chrono::milliseconds left_of(const std::string& name, std::chrono::milliseconds now) const;
  void failed_of(std::string name, std::chrono::milliseconds now);
  // It has failed, and is not forgotten.
  bool knows(const std::string& name) const { return addresses_.count(name) > 0; }

 private:
  struct Address {
    uint32_t failures = 0;
    std::chrono::milliseconds until{0};
    std::list<std::string>::iterator order;
  };
  std::unordered_map<std::string, Address> addresses_;
  std::list<std::string> oldest_first_;
};

}  // namespace lineward::admin
