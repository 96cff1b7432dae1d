#include "foundation/net/address_class.h"

#include <netinet/in.h>

#include <array>
#include <cstdint>
#include <cstring>

namespace lineward::net {
namespace {

struct Range {
  uint32_t prefix;
  int bits;
};
constexpr std::array<Range, 14> kNotPublic{{{0x00000000, 8},    // this network
                                            {0x0A000000, 8},    // 10/8, private
                                            {0x64400000, 10},   // 100.64/10, shared by providers
                                            {0x7F000000, 8},    // loopback
                                            {0xA9FE0000, 16},   // 169.254/16, link-local
                                            {0xAC100000, 12},   // 172.16/12, private
                                            {0xC0000000, 24},   // 192.0.0/24, protocol assignments
                                            {0xC0000200, 24},   // 192.0.2/24, documentation
                                            {0xC0A80000, 16},   // 192.168/16, private
                                            {0xC6120000, 15},   // 198.18/15, benchmarks
                                            {0xC6336400, 24},   // 198.51.100/24, documentation
                                            {0xCB007100, 24},   // 203.0.113/24, documentation
                                            {0xE0000000, 4},    // multicast
                                            {0xF0000000, 4}}};  // reserved, broadcast

bool is_public_v4(uint32_t address) {
  for (const Range& range : kNotPublic) {
    if ((address >> (32 - range.bits)) == (range.prefix >> (32 - range.bits))) return false;
  }
  return true;
}

uint32_t v4_at(const uint8_t* bytes) {
  return static_cast<uint32_t>(bytes[0]) << 24 | static_cast<uint32_t>(bytes[1]) << 16 |
         static_cast<uint32_t>(bytes[2]) << 8 | bytes[3];
}

}  // namespace

bool is_public(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &address, sizeof v4);
    return is_public_v4(ntohl(v4.sin_addr.s_addr));
  }
  if (address.sa_family != AF_INET6) return false;
  sockaddr_in6 v6{};
  std::memcpy(&v6, &address, sizeof v6);
  const uint8_t* bytes = v6.sin6_addr.s6_addr;
  // An IPv4 address embedded in IPv6 is classified as IPv4: mapped (::ffff:0:0/96), translated
  // (64:ff9b::/96), 6to4 (2002::/16).
  constexpr uint8_t kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  constexpr uint8_t kTranslated[12] = {0, 0x64, 0xFF, 0x9B};
  if (std::memcmp(bytes, kMapped, 12) == 0 || std::memcmp(bytes, kTranslated, 12) == 0)
    return is_public_v4(v4_at(bytes + 12));
  if (bytes[0] == 0x20 && bytes[1] == 0x02) return is_public_v4(v4_at(bytes + 2));
  // Allocated addresses begin with 001; of those, 2001:db8::/32 is for documentation.
  return (bytes[0] & 0xE0) == 0x20 &&
         !(bytes[0] == 0x20 && bytes[1] == 0x01 && bytes[2] == 0x0D && bytes[3] == 0xB8);
}

}  // namespace lineward::net
