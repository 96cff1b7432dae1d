// A caller's share of process-wide limits (docs/limits.md, "Shares"). The caller is a principal, or an
// address if callers are not authenticated.
#pragma once

#include "config/config.h"
#include "foundation/base/account.h"

namespace lineward::config {

// By default a quarter of listen.maxBufferedBytes.
inline uint64_t bytes_of_caller(const Listen& listen) {
  if (listen.max_buffered_bytes_per_principal > 0) return listen.max_buffered_bytes_per_principal;
  return listen.max_buffered_bytes / 4;
}

// Maximum connections of one address.
inline uint64_t connections_of_address(const Listen& listen) {
  if (listen.max_connections_per_address > 0) return listen.max_connections_per_address;
  return Account::share_of(listen.max_connections);
}

inline void use_shares(const Listen& listen) {
  Account::limit_callers(bytes_of_caller(listen));
  Account::limit_shares(listen.max_principal_percent);
}

}  // namespace lineward::config
