#include "foundation/base/peer_address.h"

#include <arpa/inet.h>

#include <array>
#include <cstring>

namespace lineward {

std::string address_of_peer(std::string_view peer) {
  const size_t colon = peer.rfind(':');
  const bool has_port = colon != std::string_view::npos && peer.find(']', colon) == std::string_view::npos;
  std::string address(peer.substr(0, has_port ? colon : peer.size()));
  if (address.size() < 2 || address.front() != '[') return address;
  address = address.substr(1, address.find_first_of("]%") - 1);
  std::array<unsigned char, 16> bytes{};
  if (inet_pton(AF_INET6, address.c_str(), bytes.data()) != 1) return address;
  static constexpr std::array<unsigned char, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (std::memcmp(bytes.data(), kMapped.data(), kMapped.size()) == 0) {
    inet_ntop(AF_INET, bytes.data() + kMapped.size(), text.data(), text.size());
    return text.data();
  }
  std::memset(bytes.data() + 8, 0, 8);
  inet_ntop(AF_INET6, bytes.data(), text.data(), text.size());
  return std::string(text.data()) + "/64";
}

}  // namespace lineward
