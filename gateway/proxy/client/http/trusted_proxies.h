// The proxies that are believed what they tell of clients (listen.trustedProxies), and what they tell.
//
// Owned by the ConnectionTable.
#pragma once

#include <string>
#include <string_view>

#include "config/config.h"
#include "foundation/net/networks.h"
#include "protocol/http/request_parser.h"

namespace lineward::client {

class TrustedProxies {
 public:
  explicit TrustedProxies(const config::Listen& config) : config_(config) { reconfigured(); }
  TrustedProxies(const TrustedProxies&) = delete;
  TrustedProxies& operator=(const TrustedProxies&) = delete;

  // The configuration may have changed.
  void reconfigured();
  bool trusts(std::string_view peer) const { return networks_.contains(peer); }
  // The address of the client of a request, by its headers; empty: that of the peer.
  std::string client_of(const http::RequestHead& head, std::string_view peer) const;

 private:
  const config::Listen& config_;
  net::Networks networks_;
};

}  // namespace lineward::client
