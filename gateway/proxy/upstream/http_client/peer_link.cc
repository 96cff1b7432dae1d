#include "proxy/upstream/http_client/peer_link.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "foundation/base/seal_keys.h"
#include "foundation/log/log.h"
#include "foundation/net/networks.h"

namespace lineward::upstream {
namespace {

using std::chrono::milliseconds;

// A replica is near, or it is down: its clients start anew then, and should not wait longer.
constexpr milliseconds kConnect{2000};
// An answer with a length is no larger than a server's message may be; streams have no limit.
constexpr uint64_t kMaxPeerBody = 2ull << 30;
// A name's addresses are looked up this often, and earlier, but not more often than once in the second time,
// for a replica that is not among them.
constexpr milliseconds kLookUpEvery{5000};
constexpr milliseconds kLookUpAgain{1000};
// A request waits no longer for a look-up.
constexpr milliseconds kLookUpWait{5000};
// An address stays what it is.
constexpr milliseconds kForGood = std::chrono::hours(24 * 365);

}  // namespace

std::string replica_name_of(std::string_view address) {
  const auto parsed = net::address_in(address);
  if (!parsed) return {};
  const std::string text = parsed->as_peer(std::nullopt);
  return parsed->is_v4() ? text : text.substr(1, text.size() - 2);
}

PeerTransfer::~PeerTransfer() {
  if (links_ != nullptr) links_->forget(*this);
  if (!transfer_) return;
  transfer_->close();
  loop_.retire(std::move(transfer_));
  loop_.retire(std::move(peer_));  // its pool outlives the transfer
}

void PeerTransfer::begin(std::shared_ptr<Peer> peer, HttpRequest request) {
  peer_ = std::move(peer);
  transfer_ = std::make_unique<HttpTransfer>(*peer_->pool, std::move(request), *this);
}

// The request is charged to the listener's account only while the listener has this transfer.
void PeerTransfer::wait(PeerLinks& links, const std::string& host) {
  links_ = &links;
  limit_.start(kLookUpWait, [this, host] {
    std::exchange(links_, nullptr)->forget(*this);
    listener_.on_peer_unreached(fmt::format("is not known: the addresses of {} were not found within {} ms",
                                            host, kLookUpWait.count()));
  });
}

void PeerTransfer::on_transfer_head(const http::ResponseInfo& info) {
  transfer_->unlimited_body();
  listener_.on_peer_head(info);
}

void PeerTransfer::on_transfer_failed(const core::Failure& fault) {
  if (!sent_ || fault.nothing_sent) return listener_.on_peer_unreached(fault.text);
  listener_.on_peer_failed(fault.text);
}

PeerLinks::PeerLinks(net::Loop& loop, PeerOptions options)
    : loop_(loop), options_(std::move(options)), again_(loop) {}

PeerLinks::~PeerLinks() {
  lifetime_.end();
  for (auto& entry : peers_)
    loop_.retire(std::move(entry.second));
}

Result<std::shared_ptr<PeerLinks>> PeerLinks::make(net::Loop& loop, PeerOptions options) {
  std::shared_ptr<PeerLinks> links(new PeerLinks(loop, std::move(options)));
  const PeerOptions& given = links->options_;
  std::vector<std::pair<std::string, HttpUrl>> urls;
  bool tls = false;
  for (const auto& [name, text] : given.peers) {
    auto url = parse_http_url(text);
    if (!url) return fail("replicas.peers: '" + name + "' " + url.error().text);
    tls = tls || url->tls;
    urls.emplace_back(name, std::move(*url));
  }
  if (!given.from.empty()) {
    auto url = parse_http_url(given.from);
    if (!url) return fail("replicas.peersFrom " + url.error().text);
    tls = tls || url->tls;
    links->from_ = std::move(*url);
  }
  if (tls) {
    net::TlsOptions with;
    with.ca_file = given.ca_file;
    auto context = net::TlsContext::for_client(with);
    if (!context) return fail("replicas.caFile: " + context.error().text);
    links->tls_ = std::move(*context);
  }
  for (const auto& [name, url] : urls) {
    links->peers_[name] = links->make_peer(url, std::nullopt);
    links->addresses_.insert(replica_name_of(url.host));
  }
  if (!given.from.empty()) {
    net::ResolverOptions how;
    how.young = milliseconds(0);
    how.look_up = given.look_up;
    links->resolver_ =
        std::make_unique<net::Resolver>(loop, links->from_.host, links->from_.port, std::move(how));
    links->look_up();
  }
  return links;
}

// `at`: the address, whatever the URL's host is otherwise. A certificate has to be for that host.
std::shared_ptr<Peer> PeerLinks::make_peer(const HttpUrl& url, std::optional<net::Address> at) const {
  auto peer = std::make_shared<Peer>();
  peer->url = url;
  PoolOptions options;
  options.connect_timeout = kConnect;
  options.limits.body_bytes = kMaxPeerBody;
  // A request on a connection that the peer is closing may have been received, and is not repeated.
  options.idle_timeout = std::min(options.idle_timeout, options_.kept / 2);
  if (at) {
    options.resolver.young = kForGood;
    options.resolver.look_up = [address = std::move(*at)](const std::string&, uint16_t) {
      return Result<net::Addresses>(net::Addresses{address});
    };
  }
  peer->pool = std::make_unique<HttpPool>(loop_, peer->url, url.tls ? tls_ : nullptr, options);
  return peer;
}

bool PeerLinks::knows(const std::string& peer) const {
  if (peers_.count(peer) > 0) return true;
  return resolver_ && peer != options_.own_name && net::IpAddress::parse(peer);
}

std::vector<std::string> PeerLinks::names() const {
  std::vector<std::string> out;
  for (const auto& entry : peers_)
    out.push_back(entry.first);
  return out;
}

bool PeerLinks::is_at(std::string_view address) const {
  const std::string name = replica_name_of(address);
  return !name.empty() && (resolver_ ? peers_.count(name) > 0 : addresses_.count(name) > 0);
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
  auto transfer = std::make_unique<PeerTransfer>(loop_, listener);
  if (auto known = peers_.find(peer); known != peers_.end()) {
    transfer->begin(known->second, std::move(out));
    return transfer;
  }
  waiting_.push_back({transfer.get(), transfer->lifetime_.watch(), peer, std::move(out)});
  transfer->wait(*this, from_.host);
  look_up_again();
  return transfer;
}

void PeerLinks::forget(const PeerTransfer& transfer) {
  std::erase_if(waiting_, [&](const Waiting& one) { return one.transfer == &transfer; });
}

// ---- replicas.peersFrom ----

void PeerLinks::look_up() {
  again_.stop();
  if (std::exchange(looking_, true)) return;
  resolver_->ask(lifetime_.guard([this](const Result<net::Addresses>& answer) { found(answer); }));
}

void PeerLinks::look_up_again() {
  const milliseconds pause = looked_at_ + kLookUpAgain - loop_.now();
  if (looking_ || pause.count() <= 0) return look_up();
  again_.start(pause, [this] { look_up(); });
}

// Without an answer the replicas stay those of the last one.
void PeerLinks::found(const Result<net::Addresses>& answer) {
  looking_ = false;
  looked_at_ = loop_.now();
  again_.start(kLookUpEvery, [this] { look_up(); });
  if (answer) {
    last_fault_.clear();
    use(*answer);
  } else if (answer.error().text != last_fault_) {
    last_fault_ = answer.error().text;
    log::write(log::Level::warn, "peers.not_found", {{"host", from_.host}, {"why", last_fault_}});
  }
  answer_waiting();
}

void PeerLinks::use(const net::Addresses& addresses) {
  std::map<std::string, std::shared_ptr<Peer>> now;
  bool changed = false, more = false;
  for (const net::Address& address : addresses) {
    const std::string name = replica_name_of(address.text);
    if (name.empty() || name == options_.own_name || now.count(name) > 0) continue;
    if (now.size() == kMostFound) {
      more = true;
      break;
    }
    auto before = peers_.find(name);
    changed = changed || before == peers_.end();
    now[name] = before != peers_.end() ? before->second : make_peer(from_, address);
  }
  changed = changed || now.size() != peers_.size();
  if (!changed) return;
  peers_.swap(now);
  for (auto& [name, peer] : now) {
    if (peers_.count(name) > 0) continue;
    peer->pool->close_idle();
    loop_.retire(std::move(peer));
  }
  log::write(more ? log::Level::warn : log::Level::info, "peers.changed",
             {{"host", from_.host},
              {"peers", fmt::format("{}", fmt::join(names(), ","))},
              {"limit", more ? "64 replicas" : ""}});
}

void PeerLinks::answer_waiting() {
  const net::Lifetime::Watch here = lifetime_.watch();
  for (Waiting& one : std::exchange(waiting_, {})) {
    if (one.watch.gone()) continue;
    one.transfer->links_ = nullptr;
    one.transfer->limit_.stop();
    auto known = peers_.find(one.peer);
    if (known != peers_.end()) {
      one.transfer->begin(known->second, std::move(one.request));
    } else {
      one.transfer->listener_.on_peer_unreached(fmt::format("is not among the addresses of {}", from_.host));
    }
    if (here.gone()) return;
  }
}

}  // namespace lineward::upstream
