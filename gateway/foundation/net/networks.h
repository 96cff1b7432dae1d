// Networks as a configuration names them ("10.0.0.0/8", "2001:db8::/32", "192.0.2.7", "unix"), and whether a
// peer is in one of them. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/base/result.h"

namespace lineward::net {

// An address without a port. IPv4 is kept as mapped into IPv6; so an IPv4 address and the same one mapped are
// equal.
class IpAddress {
 public:
  // Exactly an address: no port, no brackets, no zone.
  static std::optional<IpAddress> parse(std::string_view text);
  // 4 or 16 bytes in network order.
  static std::optional<IpAddress> from_bytes(std::string_view bytes);

  bool is_v4() const;
  const std::array<uint8_t, 16>& bytes() const { return bytes_; }
  // As the rest of the gateway names a peer (foundation/base/peer_address.h): "192.0.2.7:80",
  // "[2001:db8::1]:80". Without a port "192.0.2.7", "[2001:db8::1]".
  std::string as_peer(std::optional<uint16_t> port) const;
  bool operator==(const IpAddress&) const = default;

 private:
  std::array<uint8_t, 16> bytes_{};
};

// The address in the text of a peer, with or without its port. Empty for "unix" and other words.
std::optional<IpAddress> address_in(std::string_view peer);

class Networks {
 public:
  Networks() = default;
  // The error names the entry.
  static Result<Networks> parse(const std::vector<std::string>& entries);

  bool empty() const { return ranges_.empty() && !unix_; }
  bool contains(const IpAddress& address) const;
  // `peer` as in foundation/base/peer_address.h.
  bool contains(std::string_view peer) const;
  // Some entry takes every address of its family.
  bool has_everyone() const;

 private:
  struct Range {
    IpAddress first;
    unsigned bits;  // of 128
  };
  Status<> add(std::string_view entry);

  std::vector<Range> ranges_;
  bool unix_ = false;
};

}  // namespace lineward::net
