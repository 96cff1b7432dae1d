// Keys that seal TLS session tickets (RFC 5077, RFC 8446 section 4.6.1). A key seals for eight hours and
// opens for eight more. Random keys are forgotten afterwards. Replicas derive theirs from the keys that they
// share, so that each opens the tickets of all.
//
// Shared by all workers; the lock is taken in handshakes only.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

namespace lineward::net {

class TicketKeys {
 public:
  static constexpr std::chrono::seconds kLife = std::chrono::hours(8);
  using Secret = std::array<unsigned char, 32>;
  struct Key {
    std::array<unsigned char, 16> name{};  // sent with the ticket
    Secret cipher{};
    Secret mac{};
  };
  using Clock = std::chrono::system_clock;

  TicketKeys() = default;
  ~TicketKeys();
  TicketKeys(const TicketKeys&) = delete;
  TicketKeys& operator=(const TicketKeys&) = delete;

  // Derives keys from these: the first seals, and each opens. Empty: random keys.
  void share(std::vector<Secret> secrets);
  // The key that seals now; nullopt if there is no randomness.
  std::optional<Key> sealing(Clock::time_point now = Clock::now());
  struct Found {
    Key key;
    bool renew;  // another key seals by now
  };
  // The key of that name; nullopt: unknown or expired.
  std::optional<Found> opening(std::string_view name, Clock::time_point now = Clock::now());

 private:
  struct Entry {
    int64_t period;
    Key key;
    bool seals;
  };
  bool turn(Clock::time_point now);

  std::mutex mutex_;
  std::vector<Secret> secrets_;
  std::vector<Entry> keys_;
  int64_t period_ = -1;
};

}  // namespace lineward::net
