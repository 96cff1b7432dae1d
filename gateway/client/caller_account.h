// Whose share of what Lineward may hold a client's bytes are of (listen.maxBufferedBytesPerPrincipal): its
// principal's, and where nobody knows who it is, its address's.
#pragma once

#include <string>
#include <string_view>

#include "base/account.h"
#include "core/gate.h"

namespace lineward::client {

// What counts as one address: of IPv6 a /64, which is what one machine is given; all clients of a Unix socket
// are one. `peer` is "127.0.0.1:51234", "[::1]:51234" or "unix".
std::string address_for_shares(std::string_view peer);

inline AccountPtr account_of(const core::CallerPtr& caller, std::string_view peer) {
  const bool known = caller && caller->principal != core::kAnonymous;
  return Account::of(known ? "principal " + caller->principal : "address " + address_for_shares(peer));
}

}  // namespace lineward::client
