// How much of what there is for all one caller may have (docs/limits.md, "Shares"): a principal, or an
// address where nobody knows who calls.
#pragma once

#include "base/account.h"
#include "config/config.h"

namespace lineward::config {

// A quarter of listen.maxBufferedBytes, where nothing else is said.
inline uint64_t bytes_of_caller(const Listen& listen) {
  if (listen.max_buffered_bytes_per_principal > 0) return listen.max_buffered_bytes_per_principal;
  return listen.max_buffered_bytes / 4;
}

// Connections that one address may have at once.
inline uint64_t connections_of_address(const Listen& listen) {
  if (listen.max_connections_per_address > 0) return listen.max_connections_per_address;
  return Account::share_of(listen.max_connections);
}

inline void use_shares(const Listen& listen) {
  Account::limit_callers(bytes_of_caller(listen));
  Account::limit_shares(listen.principal_share);
}

}  // namespace lineward::config
