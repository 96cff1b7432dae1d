// Keys that several processes share: what one of them seals or signs, all of them can open or check. The
// first key seals, every key opens, so that keys can be changed while sessions last (docs/replicas.md).
//
// Immutable and shared; what is derived from a key is derived once, here. AES-256-GCM with random nonces
// (NIST SP 800-38D: up to 2^32 seals for each key), HMAC-SHA256, HKDF-SHA256 (RFC 5869).
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace lineward {

class SealKeys {
 public:
  static constexpr size_t kMaxKeys = 16;
  static constexpr size_t kShortest = 32;  // characters of a key: 24 random bytes in base64
  static constexpr size_t kOverhead = 12 + 16;

  // One key a line, white space around it does not count; empty lines and those that begin with # are left
  // out. An error tells the line, never its text.
  static Result<std::shared_ptr<const SealKeys>> parse(std::string_view text);
  ~SealKeys();
  SealKeys(const SealKeys&) = delete;
  SealKeys& operator=(const SealKeys&) = delete;

  // Encrypted and authenticated, `context` only authenticated: what was sealed in one context cannot be
  // opened in another. kOverhead bytes longer than `plain`.
  std::string seal(std::string_view context, std::string_view plain) const;
  // Nothing when none of the keys has sealed these bytes in this context.
  std::optional<std::string> open(std::string_view context, std::string_view sealed) const;

  // 32 bytes.
  std::string mac(std::string_view text) const;
  // Under any key; `mac` may be a beginning of it.
  bool is_mac(std::string_view text, std::string_view mac) const;

  // Of each key another one, for a purpose of its own; in the same order.
  std::vector<std::array<unsigned char, 32>> derived(std::string_view purpose) const;

  size_t size() const { return keys_.size(); }

 private:
  SealKeys() = default;
  struct Key {
    std::array<unsigned char, 32> seal{};
    std::array<unsigned char, 32> mac{};
  };
  std::vector<Key> keys_;
};

// 8 bytes that stand for a replica, where there is no room for its name.
std::string replica_tag(std::string_view name);

// `parts` as one text that no other list of parts gives.
std::string joined_parts(std::initializer_list<std::string_view> parts);

}  // namespace lineward
