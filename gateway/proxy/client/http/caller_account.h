// The account that a client's held bytes are charged to (listen.maxBufferedBytesPerPrincipal): its
// principal's, or without authentication its address's.
#pragma once

#include <string_view>

#include "foundation/base/account.h"
#include "foundation/base/peer_address.h"
#include "proxy/core/gate.h"

namespace lineward::client {

inline AccountPtr account_of(const core::CallerPtr& caller, std::string_view peer) {
  const bool known = caller && caller->principal != core::kAnonymous;
  return Account::of(known ? "principal " + caller->principal : "address " + address_of_peer(peer));
}

}  // namespace lineward::client
