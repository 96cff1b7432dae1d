#include "foundation/net/address.h"

#include <algorithm>
#include <cstring>

#include "foundation/net/socket_address.h"

namespace lineward::net {

Address make_address(const sockaddr* from, socklen_t size) {
  Address address;
  std::memcpy(&address.bytes, from, std::min<size_t>(size, sizeof address.bytes));
  address.text = describe(address.bytes);
  return address;
}

}  // namespace lineward::net
