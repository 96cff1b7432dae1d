// growth-collide N: N names of 16 characters, one a line, with the same std::hash, which can be computed from
// the standard library. It says so and fails where the library has another hash.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>

namespace {

// The hash of strings in libstdc++ (libsupc++/hash_bytes.cc): 8 bytes a step, each of which can be undone.
constexpr std::uint64_t kSeed = 0xc70f6907U;
constexpr std::uint64_t kFactor = (std::uint64_t{0xc6a4a793U} << 32U) + 0x5bd1e995U;
constexpr std::string_view kLetters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.!#$%&'()*+,/:;<=>?@[]^{|}~";

constexpr std::uint64_t inverse(std::uint64_t odd) {
  std::uint64_t out = odd;  // right in the lowest three bits; each step doubles their number
  for (int i = 0; i < 5; ++i)
    out *= 2 - odd * out;
  return out;
}

constexpr std::uint64_t folded(std::uint64_t value) {
  return value ^ (value >> 47U);
}  // its own inverse
constexpr std::uint64_t step(std::uint64_t word) {
  return folded(word * kFactor) * kFactor;
}
constexpr std::uint64_t undone(std::uint64_t step) {
  return folded(step * inverse(kFactor)) * inverse(kFactor);
}

}  // namespace

int main(int argc, char** argv) {
  const long wanted = argc == 2 ? std::atol(argv[1]) : 0;
  if (wanted <= 0) {
    std::fputs("usage: growth-collide N\n", stderr);
    return 2;
  }
  constexpr std::uint64_t kBegin = kSeed ^ (16 * kFactor);
  constexpr std::uint64_t kAim =
      0x0123456789abcdefU;  // where the second step shall lead, whatever the first was
  bool letters[256] = {};
  for (const char letter : kLetters)
    letters[static_cast<unsigned char>(letter)] = true;
  size_t hash = 0;
  long found = 0;
  for (std::uint64_t number = 0; found < wanted; ++number) {
    char name[17] = {};
    std::uint64_t rest = number;
    for (int i = 0; i < 8; ++i, rest /= kLetters.size())
      name[i] = kLetters[rest % kLetters.size()];
    std::uint64_t first = 0;
    std::memcpy(&first, name, 8);
    const std::uint64_t second = undone(((kBegin ^ step(first)) * kFactor) ^ kAim);
    std::memcpy(name + 8, &second, 8);
    bool fits = true;
    for (int i = 8; i < 16 && fits; ++i)
      fits = letters[static_cast<unsigned char>(name[i])];
    if (!fits) continue;
    const size_t got = std::hash<std::string_view>{}(std::string_view(name, 16));
    if (found++ == 0) hash = got;
    if (got != hash) {
      std::fputs("growth-collide: this library hashes in another way\n", stderr);
      return 1;
    }
    std::puts(name);
  }
  return 0;
}
