// The client's address from the headers that proxies add: `Forwarded` (RFC 7239) and `X-Forwarded-For`
// (docs/client-addresses.md). Pure.
#pragma once

#include <string>

#include "config/config.h"
#include "foundation/net/networks.h"
#include "protocol/http/header_list.h"

namespace lineward::client {

struct ForwardedClient {
  std::string address;     // as a peer, without a port if none is told; empty: not told
  bool disagrees = false;  // the two headers tell different clients: neither is believed
};

// Read from right to left, as the proxies have added them. The client is the first address that is none of
// `trusted`; if all are, the last one. An entry that is no address ends the reading: what stands left of it
// is not believed. The caller has made sure that the peer is trusted.
ForwardedClient forwarded_client(const http::HeaderList& headers, config::ClientHeader which,
                                 const net::Networks& trusted);

}  // namespace lineward::client
