#include "foundation/net/networks.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <system_error>

namespace lineward::net {
namespace {

constexpr std::array<uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr unsigned kMappedBits = 96;
constexpr size_t kMostText = 45;  // of an address

bool same_bits(const std::array<uint8_t, 16>& a, const std::array<uint8_t, 16>& b, unsigned bits) {
  const size_t whole = bits / 8;
  if (std::memcmp(a.data(), b.data(), whole) != 0) return false;
  const unsigned rest = bits % 8;
  return rest == 0 || (a[whole] >> (8 - rest)) == (b[whole] >> (8 - rest));
}

bool ends_with_zeros(const std::array<uint8_t, 16>& bytes, unsigned bits) {
  std::array<uint8_t, 16> first{};
  for (unsigned i = 0; i < bits; ++i)
    first[i / 8] = static_cast<uint8_t>(first[i / 8] | (bytes[i / 8] & (0x80U >> (i % 8))));
  return first == bytes;
}

}  // namespace

std::optional<IpAddress> IpAddress::parse(std::string_view text) {
  constexpr std::string_view kLetters = "0123456789abcdefABCDEF.:";
  if (text.empty() || text.size() > kMostText || text.find_first_not_of(kLetters) != std::string_view::npos)
    return std::nullopt;
  const std::string copy(text);
  IpAddress out;
  if (inet_pton(AF_INET6, copy.c_str(), out.bytes_.data()) == 1) return out;
  std::copy(kMapped.begin(), kMapped.end(), out.bytes_.begin());
  if (inet_pton(AF_INET, copy.c_str(), out.bytes_.data() + kMapped.size()) == 1) return out;
  return std::nullopt;
}

std::optional<IpAddress> IpAddress::from_bytes(std::string_view bytes) {
  IpAddress out;
  if (bytes.size() == 4) {
    std::copy(kMapped.begin(), kMapped.end(), out.bytes_.begin());
    std::memcpy(out.bytes_.data() + kMapped.size(), bytes.data(), 4);
    return out;
  }
  if (bytes.size() != 16) return std::nullopt;
  std::memcpy(out.bytes_.data(), bytes.data(), 16);
  return out;
}

bool IpAddress::is_v4() const {
  return std::equal(kMapped.begin(), kMapped.end(), bytes_.begin());
}

std::string IpAddress::as_peer(std::optional<uint16_t> port) const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (is_v4()) {
    inet_ntop(AF_INET, bytes_.data() + kMapped.size(), text.data(), text.size());
    return port ? fmt::format("{}:{}", text.data(), *port) : std::string(text.data());
  }
  inet_ntop(AF_INET6, bytes_.data(), text.data(), text.size());
  return port ? fmt::format("[{}]:{}", text.data(), *port) : fmt::format("[{}]", text.data());
}

std::optional<IpAddress> address_in(std::string_view peer) {
  if (!peer.empty() && peer.front() == '[') {
    const size_t end = peer.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    std::string_view inside = peer.substr(1, end - 1);
    return IpAddress::parse(inside.substr(0, inside.find('%')));
  }
  const size_t colon = peer.find(':');
  // Several colons: an IPv6 address without brackets.
  if (colon != peer.rfind(':')) return IpAddress::parse(peer);
  return IpAddress::parse(peer.substr(0, colon));
}

Status<> Networks::add(std::string_view entry) {
  if (entry == "unix") {
    unix_ = true;
    return Done{};
  }
  const size_t slash = entry.find('/');
  const auto address = IpAddress::parse(entry.substr(0, slash));
  if (!address)
    return fail(fmt::format("'{}' is no network: write 10.0.0.0/8, 2001:db8::/32, one address, or unix",
                            entry.substr(0, kMostText)));
  const bool as_v4 = entry.find(':') == std::string_view::npos;
  const unsigned most = as_v4 ? 32 : 128;
  unsigned bits = most;
  if (slash != std::string_view::npos) {
    const std::string_view length = entry.substr(slash + 1);
    const auto [end, error] = std::from_chars(length.data(), length.data() + length.size(), bits);
    if (error != std::errc() || end != length.data() + length.size() || bits > most)
      return fail(fmt::format("'{}' is no network: behind / comes a number of bits, 0 to {}",
                              entry.substr(0, kMostText + 4), most));
  }
  const unsigned all = as_v4 ? bits + kMappedBits : bits;
  // Such a line mostly means something else than it says.
  if (!ends_with_zeros(address->bytes(), all))
    return fail(fmt::format("'{}' has bits behind the first {}: write the first address of the network",
                            entry.substr(0, kMostText + 4), bits));
  ranges_.push_back({*address, all});
  return Done{};
}

Result<Networks> Networks::parse(const std::vector<std::string>& entries) {
  Networks out;
  for (const std::string& entry : entries) {
    if (auto added = out.add(entry); !added) return Unexpected<Error>{added.error()};
  }
  return out;
}

// IPv4 is no part of ::/0: that entry is about IPv6 networks.
bool Networks::contains(const IpAddress& address) const {
  return std::any_of(ranges_.begin(), ranges_.end(), [&](const Range& range) {
    return (range.bits >= kMappedBits || !address.is_v4()) &&
           same_bits(range.first.bytes(), address.bytes(), range.bits);
  });
}

bool Networks::contains(std::string_view peer) const {
  if (peer == "unix") return unix_;
  if (ranges_.empty()) return false;
  const auto address = address_in(peer);
  return address && contains(*address);
}

bool Networks::has_everyone() const {
  return std::any_of(ranges_.begin(), ranges_.end(), [](const Range& range) {
    return range.bits == 0 || (range.bits == kMappedBits && range.first.is_v4());
  });
}

}  // namespace lineward::net
