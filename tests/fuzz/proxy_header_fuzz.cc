// PROXY headers: the outcome does not depend on how the bytes are cut. No byte behind a header is taken. The
// client is an address with a port.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "foundation/base/check.h"
#include "foundation/net/networks.h"
#include "foundation/net/proxy_header.h"

using lineward::net::ProxyHeader;

namespace {

size_t read_in_pieces(ProxyHeader& header, std::string_view all, size_t piece) {
  size_t at = 0;
  while (at < all.size() && header.state() == ProxyHeader::State::more) {
    const std::string_view next = all.substr(at, piece);
    const size_t used = header.feed(next);
    LW_CHECK(used <= next.size());
    LW_CHECK(used == next.size() || header.state() != ProxyHeader::State::more);
    at += used;
  }
  return at;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t piece = 1 + data[0] % 32;
  const std::string_view all(reinterpret_cast<const char*>(data) + 1, size - 1);
  ProxyHeader whole, split;
  const size_t used = read_in_pieces(whole, all, all.size() + 1);
  LW_CHECK(read_in_pieces(split, all, piece) == used);
  LW_CHECK(whole.state() == split.state() && whole.client() == split.client());
  LW_CHECK(used <= 16 + ProxyHeader::kMostBytes);
  LW_CHECK(whole.begun() == (used > 0));
  if (whole.state() != ProxyHeader::State::done) LW_CHECK(whole.client().empty());
  if ((whole.state() == ProxyHeader::State::failed) == whole.fault().empty()) LW_CHECK(false);
  if (whole.client().empty()) return 0;
  const auto address = lineward::net::address_in(whole.client());
  LW_CHECK(address.has_value());
  LW_CHECK(whole.client().find(':') != std::string_view::npos);
  // Bytes behind it change nothing.
  ProxyHeader again;
  LW_CHECK(again.feed(all.substr(0, used)) == used && again.client() == whole.client());
  return 0;
}
