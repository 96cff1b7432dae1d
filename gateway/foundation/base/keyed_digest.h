// Digests for tables with keys from outside: SipHash-2-4 of 128 bits (Aumasson and Bernstein) with a random
// key of this process. Without the key two texts with one digest cannot be found. It costs a tenth of
// SHA-256. Other processes have other digests, so it is never written to a log or sent.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace lineward {

using KeyedDigest = std::array<uint8_t, 16>;
using DigestKey = std::array<uint64_t, 2>;

KeyedDigest keyed_digest(std::string_view text, const DigestKey& key);
KeyedDigest keyed_digest(std::string_view text);

}  // namespace lineward
