#include "proxy/client/http/trusted_proxies.h"

#include <utility>

#include "foundation/log/log.h"
#include "proxy/client/http/forwarded.h"

namespace lineward::client {

void TrustedProxies::reconfigured() {
  // The configuration was checked; without a valid one no proxy is trusted.
  auto parsed = net::Networks::parse(config_.trusted_proxies);
  networks_ = parsed ? std::move(*parsed) : net::Networks();
}

std::string TrustedProxies::client_of(const http::RequestHead& head, std::string_view peer) const {
  if (networks_.empty() || !networks_.contains(peer)) return {};
  ForwardedClient found = forwarded_client(head.headers, config_.client_header, networks_);
  if (found.disagrees) {
    log::write(log::Level::warn, "client.unclear",
               {{"why", "Forwarded and X-Forwarded-For tell different clients"}, {"remote", peer}});
  }
  return std::move(found.address);
}

}  // namespace lineward::client
