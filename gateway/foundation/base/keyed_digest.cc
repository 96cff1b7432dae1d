#include "foundation/base/keyed_digest.h"

#include <sys/random.h>

#include <bit>
#include <cstring>

#include "foundation/base/check.h"

namespace lineward {
namespace {

static_assert(std::endian::native == std::endian::little);

struct Sip {
  uint64_t v0, v1, v2, v3;

  explicit Sip(const DigestKey& key)
      : v0(key[0] ^ 0x736f6d6570736575),
        v1(key[1] ^ 0x646f72616e646f6d ^ 0xee),
        v2(key[0] ^ 0x6c7967656e657261),
        v3(key[1] ^ 0x7465646279746573) {}

  void rounds(int count) {
    for (; count > 0; --count) {
      v0 += v1;
      v1 = std::rotl(v1, 13) ^ v0;
      v0 = std::rotl(v0, 32);
      v2 += v3;
      v3 = std::rotl(v3, 16) ^ v2;
      v0 += v3;
      v3 = std::rotl(v3, 21) ^ v0;
      v2 += v1;
      v1 = std::rotl(v1, 17) ^ v2;
      v2 = std::rotl(v2, 32);
    }
  }
  void take(uint64_t word) {
    v3 ^= word;
    rounds(2);
    v0 ^= word;
  }
  uint64_t out(uint64_t half) {
    (half == 0 ? v2 : v1) ^= half == 0 ? 0xee : 0xdd;
    rounds(4);
    return v0 ^ v1 ^ v2 ^ v3;
  }
};

}  // namespace

KeyedDigest keyed_digest(std::string_view text, const DigestKey& key) {
  Sip sip(key);
  const char* at = text.data();
  size_t left = text.size();
  uint64_t word = 0;
  for (; left >= sizeof word; left -= sizeof word, at += sizeof word) {
    std::memcpy(&word, at, sizeof word);
    sip.take(word);
  }
  word = 0;
  if (left > 0) std::memcpy(&word, at, left);
  sip.take(word | uint64_t{text.size()} << 56);
  const std::array<uint64_t, 2> halves{sip.out(0), sip.out(1)};
  return std::bit_cast<KeyedDigest>(halves);
}

KeyedDigest keyed_digest(std::string_view text) {
  static const DigestKey kKey = [] {
    DigestKey key{};
    LW_CHECK(getrandom(key.data(), sizeof key, 0) == sizeof key);
    return key;
  }();
  return keyed_digest(text, kKey);
}

}  // namespace lineward
