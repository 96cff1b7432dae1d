// Keys shared by several processes: data that one process seals or signs, all of them can open or verify. The
// first key seals and every key opens, so that keys can be rotated while sessions last (docs/replicas.md).
//
// Immutable and shared; derived keys are derived once, here. AES-256-GCM with random nonces (NIST SP 800-38D:
// up to 2^32 seals for each key), HMAC-SHA256, HKDF-SHA256 (RFC 5869).
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/base/result.h"

namespace lineward {

class SealKeys {
 public:
  static constexpr size_t kMaxKeys = 16;
  static constexpr size_t kShortest = 32;  // characters of a key: 24 random bytes in base64
  static constexpr size_t kOverhead = 12 + 16;

  // Each line is a key, without surrounding white space; empty lines and lines beginning with # are skipped.
  // An error names the line, never its text.
  static Result<std::shared_ptr<const SealKeys>> parse(std::string_view text);
  ~SealKeys();
  SealKeys(const SealKeys&) = delete;
  SealKeys& operator=(const SealKeys&) = delete;

  // Encrypts and authenticates `plain`, and authenticates `context`: data sealed in one context cannot be
  // opened in another. The result is kOverhead bytes longer than `plain`.
  std::string seal(std::string_view context, std::string_view plain) const;
  // nullopt if no key sealed these bytes in this context.
  std::optional<std::string> open(std::string_view context, std::string_view sealed) const;

  // 32 bytes.
  std::string mac(std::string_view text) const;
  // Tries every key; `mac` may be a prefix of the MAC.
  bool is_mac(std::string_view text, std::string_view mac) const;

  // Derives one key from each key, for one purpose; in the same order.
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

// 8 bytes that identify a replica where its name does not fit.
std::string replica_tag(std::string_view name);

// Joins `parts` unambiguously: no other list of parts gives the same text.
std::string joined_parts(std::initializer_list<std::string_view> parts);

}  // namespace lineward
