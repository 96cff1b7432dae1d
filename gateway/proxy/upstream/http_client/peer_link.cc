#include "proxy/upstream/http_client/peer_link.h"

#include <algorithm>
#include <utility>

#include "foundation/base/seal_keys.h"

namespace lineward::upstream {
namespace {

// A replica is near, or it is down: its clients start anew then, and should not wait longer.
constexpr std::chrono::milliseconds kConnect{2000};
// An answer with a length is no larger than a server's message may be; streams have no limit.
constexpr uint64_t kMaxPeerBody = 2ull << 30;

}  // namespace

PeerTransfer::PeerTransfer(net::Loop& loop, HttpPool& pool, HttpRequest request, PeerListener& listener)
    : loop_(loop),
      listener_(listener),
      transfer_(std::make_unique<HttpTransfer>(pool, std::move(request), *this)) {}

PeerTransfer::~PeerTransfer() {
  transfer_->close();
  loop_.retire(std::move(transfer_));
}

void PeerTransfer::on_transfer_head(const http::ResponseInfo& info) {
  transfer_->unlimited_body();
  listener_.on_peer_head(info);
}

void PeerTransfer::on_transfer_failed(const core::Failure& fault) {
  if (!sent_ || fault.nothing_sent) return listener_.on_peer_unreached(fault.text);
  listener_.on_peer_failed(fault.text);
}

Result<std::shared_ptr<PeerLinks>> PeerLinks::make(
    net::Loop& loop, const std::vector<std::pair<std::string, std::string>>& peers,
    std::chrono::milliseconds kept) {
  std::shared_ptr<PeerLinks> links(new PeerLinks(loop));
  for (const auto& [name, text] : peers) {
    auto url = parse_http_url(text);
    if (!url) return fail("replicas.peers: '" + name + "' " + url.error().text);
    auto peer = std::make_unique<Peer>();
    peer->url = *url;
    std::shared_ptr<net::TlsContext> tls;
    if (url->tls) {
      auto context = net::TlsContext::for_client({});
      if (!context) return fail("replicas.peers: '" + name + "' " + context.error().text);
      tls = *context;
    }
    PoolOptions options;
    options.connect_timeout = kConnect;
    options.limits.body_bytes = kMaxPeerBody;
    // A request on a connection that the peer is closing may have been received, and is not repeated.
    options.idle_timeout = std::min(options.idle_timeout, kept / 2);
    peer->pool = std::make_unique<HttpPool>(loop, peer->url, std::move(tls), options);
    links->peers_[name] = std::move(peer);
  }
  return links;
}

std::vector<std::string> PeerLinks::names() const {
  std::vector<std::string> out;
  for (const auto& entry : peers_)
    out.push_back(entry.first);
  return out;
}

std::string PeerLinks::tagged(const std::string& tag) const {
  for (const auto& entry : peers_) {
    if (replica_tag(entry.first) == tag) return entry.first;
  }
  return {};
}

std::unique_ptr<PeerTransfer> PeerLinks::pass(const std::string& peer, PeerRequest request,
                                              PeerListener& listener) {
  HttpRequest out{request.method, std::move(request.headers), std::move(request.body),
                  std::move(request.target)};
  out.host = std::move(request.host);
  return std::make_unique<PeerTransfer>(loop_, *peers_.at(peer)->pool, std::move(out), listener);
}

}  // namespace lineward::upstream
