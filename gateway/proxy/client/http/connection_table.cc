#include "proxy/client/http/connection_table.h"

#include <algorithm>
#include <vector>

#include "config/load_levels.h"
#include "config/shares.h"
#include "foundation/log/log.h"
#include "proxy/client/http2/channel.h"
#include "proxy/metrics/limits.h"

namespace lineward::client {
namespace {

// Cutting a connection that holds less frees too little for the harm to its client.
constexpr size_t kWorthCutting = 64 * 1024;
constexpr std::chrono::milliseconds kLastChance{1000};
// Over the connection limit, connections idle for this fraction (1/n) of listen.idleTimeout are closed, this
// many at once. The interval is limited because each search visits all connections.
constexpr int kLongIdle = 8;
constexpr size_t kClosedAtOnce = 32;
constexpr std::chrono::milliseconds kLookAgain{20};

}  // namespace

ConnectionTable::ConnectionTable(net::Loop& loop, const config::Listen& config, RequestHandler& handler,
                                 std::shared_ptr<ConnectionCaps> caps)
    : loop_(loop),
      config_(config),
      handler_(handler),
      caps_(std::move(caps)),
      proxies_(config),
      last_chance_(loop),
      make_room_later_(
          loop,
          [](void* self) {
            auto* table = static_cast<ConnectionTable*>(self);
            table->made_room_ = false;
            table->make_room();
          },
          this) {}

void ConnectionTable::spread(size_t self, size_t workers, HandOn hand_on) {
  self_ = self;
  workers_ = workers;
  hand_on_ = std::move(hand_on);
}

// A worker that is awake accepts all that wait, so the others would stay idle.
bool ConnectionTable::hand_on(net::ByteStream& stream, const std::string& peer) {
  const auto worker = hand_on_ ? caps_->less_busy_than(self_, workers_) : std::nullopt;
  const int socket = worker ? stream.detach() : -1;
  if (socket < 0) return false;
  caps_->sent_to(*worker);
  hand_on_(*worker, NewConnection(socket, peer));
  return true;
}

void ConnectionTable::keep(std::unique_ptr<ClientConnection> connection) {
  caps_->lives_on(self_, true);
  const ClientConnection* key = connection.get();
  connections_.emplace(key, std::move(connection));
  most_ = std::max(most_, size());
}

bool ConnectionTable::admit(const std::string& peer) {
  using AdmitResult = ConnectionCaps::AdmitResult;
  auto enter = [&] { return caps_->enter(peer, config_.max_connections, most_of_address(peer)); };
  AdmitResult result = enter();
  if (result != AdmitResult::welcome && close_longest_idle()) result = enter();
  switch (result) {
    case AdmitResult::welcome: return true;
    case AdmitResult::too_many: turned_away(metrics::Overload::connections); break;
    case AdmitResult::too_many_of_address: turned_away(metrics::Overload::address); break;
  }
  return false;
}

void ConnectionTable::accept(std::unique_ptr<net::ByteStream> stream, std::string peer) {
  if (config_.proxy_protocol == config::ProxyProtocol::required && !proxies_.trusts(peer))
    return note_header(metrics::ProxyHeader::untrusted, peer,
                       "the connection comes from none of listen.trustedProxies");
  if (!admit(peer)) return;
  if (hand_on(*stream, peer)) return loop_.retire(std::move(stream));
  begin(std::move(stream), std::move(peer));
}

// A proxy has the connections of many clients.
size_t ConnectionTable::most_of_address(std::string_view peer) const {
  const bool has_many = proxies_.trusts(peer) || (is_replica_ && is_replica_(peer));
  return has_many ? SIZE_MAX : config::connections_of_address(config_);
}

// Counted each, logged at powers of two: a flood must not become a flood of log lines.
void ConnectionTable::note_header(metrics::ProxyHeader outcome, std::string_view peer,
                                  std::string_view fault) const {
  const uint64_t count = ++metrics::stats().proxy_headers[static_cast<size_t>(outcome)];
  const bool fine = outcome == metrics::ProxyHeader::taken || outcome == metrics::ProxyHeader::local;
  if (fine || (count & (count - 1)) != 0) return;  // counts 1, 2, 4, 8 …
  log::write(log::Level::warn, "proxy_header.refused", {{"why", fault}, {"count", count}, {"remote", peer}});
}

void ConnectionTable::begin(std::unique_ptr<net::ByteStream> stream, std::string peer) {
  if (config_.proxy_protocol == config::ProxyProtocol::off || !proxies_.trusts(peer))
    return begin_http(std::move(stream), std::move(peer), false);
  auto header = std::make_unique<AwaitedHeader>(loop_, config_, std::move(stream), std::move(peer),
                                                [this](AwaitedHeader& one) { header_over(one); });
  caps_->lives_on(self_, true);
  const AwaitedHeader* key = header.get();
  awaited_.emplace(key, std::move(header));
}

// From here on the connection counts at its client's address.
void ConnectionTable::header_over(AwaitedHeader& header) {
  auto found = awaited_.find(&header);
  if (found == awaited_.end()) return;
  loop_.retire(std::move(found->second));
  awaited_.erase(found);
  caps_->lives_on(self_, false);
  note_header(header.outcome(), header.peer(), header.fault());
  auto stream = header.take_stream();
  if (!stream || header.client().empty()) {
    if (!stream) return caps_->leave(header.peer());
    return begin_http(std::move(stream), header.peer(), true);
  }
  if (!caps_->rename(header.peer(), header.client(), most_of_address(header.client()))) {
    caps_->leave(header.peer());
    loop_.retire(std::move(stream));
    return turned_away(metrics::Overload::address);
  }
  begin_http(std::move(stream), header.client(), true);
}

// Each worker begins TLS itself, so that no handshake is under way when a connection changes hands.
void ConnectionTable::begin_http(std::unique_ptr<net::ByteStream> stream, std::string peer, bool by_proxy) {
  if (auto listener = tls_ ? tls_->get() : nullptr) {
    if (!stream->speak_tls(net::TlsSession::accept(std::move(listener)))) return caps_->leave(peer);
  }
  auto connection =
      std::make_unique<ClientConnection>(loop_, config_, handler_, std::move(stream), std::move(peer));
  if (by_proxy) connection->sharing().by_proxy();
  keep(std::move(connection));
}

void ConnectionTable::adopt(NewConnection accepted) {
  caps_->arrived_at(self_);
  auto stream = net::ByteStream::from_socket(loop_, accepted.take_socket());
  if (!stream) return caps_->leave(accepted.peer);
  begin(std::move(*stream), std::move(accepted.peer));
}

// Proxies keep connections that they do not need.
bool ConnectionTable::close_longest_idle() {
  if (loop_.now() - looked_for_idle_ < kLookAgain) return false;
  looked_for_idle_ = loop_.now();
  const std::chrono::milliseconds least = config_.idle_timeout / kLongIdle;
  std::vector<std::pair<std::chrono::milliseconds, ClientConnection*>> idle;
  for (const auto& entry : connections_) {
    const auto time = entry.second->idle_for();
    if (time && *time >= least) idle.emplace_back(*time, entry.second.get());
  }
  const size_t count = std::min(idle.size(), kClosedAtOnce);
  std::partial_sort(idle.begin(), idle.begin() + static_cast<std::ptrdiff_t>(count), idle.end(),
                    [](const auto& a, const auto& b) { return a.first > b.first; });
  for (size_t i = 0; i < count; ++i)
    idle[i].second->close_when_idle();
  return close_idle_http2(least, kClosedAtOnce - count) > 0 || count > 0;
}

size_t ConnectionTable::close_idle_http2(std::chrono::milliseconds least, size_t most) {
  std::vector<Http2Connection*> idle;
  for (const auto& entry : http2_) {
    const auto time = entry.second->idle_for();
    if (time && *time >= least && idle.size() < most) idle.push_back(entry.second.get());
  }
  for (Http2Connection* connection : idle)
    connection->end_now();
  return idle.size();
}

// Counted each, logged at powers of two: a flood must not become a flood of log lines.
void ConnectionTable::turned_away(metrics::Overload why) {
  const uint64_t count = ++metrics::stats().overload[static_cast<size_t>(why)];
  metrics::limit_reached(why == metrics::Overload::connections ? metrics::Limit::connections
                         : why == metrics::Overload::address   ? metrics::Limit::connections_per_address
                                                               : metrics::Limit::open_files);
  if ((count & (count - 1)) != 0) return;  // counts 1, 2, 4, 8 …
  log::write(log::Level::warn, "connection.refused",
             {{"limit", metrics::label(why)}, {"count", count}, {"open", uint64_t{caps_->total()}}});
}

void ConnectionTable::adopt(MovedConnection moved) {
  auto stream = net::ByteStream::from_socket(loop_, moved.take_socket());
  if (!stream || (moved.tls && !(*stream)->speak_tls(std::move(moved.tls)))) return caps_->leave(moved.peer);
  keep(std::make_unique<ClientConnection>(loop_, config_, handler_, std::move(*stream), std::move(moved)));
}

// This worker read its bytes, the other one answers; the caps count it until that worker has closed it.
std::optional<MovedConnection> ConnectionTable::move_out(ClientConnection& connection) {
  auto moved = connection.move_away();
  if (!moved) {
    if (connection.backlog() == 0) connection.cut(mcp::EndReason::cancelled_client);  // no descriptor left
    return std::nullopt;
  }
  release(connection);
  return moved;
}

// The connection leaves this table; the caps count it on.
void ConnectionTable::release(ClientConnection& connection) {
  auto found = connections_.find(&connection);
  if (found == connections_.end()) return;
  caps_->lives_on(self_, false);
  loop_.retire(std::move(found->second));
  connections_.erase(found);
}

void ConnectionTable::remove(ClientConnection& connection) {
  if (connections_.count(&connection) == 0) return;
  caps_->leave(connection.peer());
  release(connection);
}

// ---- HTTP/2 ----

void ConnectionTable::speak_http2(ClientConnection& connection, std::string_view first) {
  auto made = std::make_unique<Http2Connection>(loop_, config_, static_cast<Http2Owner&>(*this),
                                                connection.take_stream(), connection.peer(),
                                                account_of(nullptr, connection.peer()));
  release(connection);
  caps_->lives_on(self_, true);
  Http2Connection& http2 = *made;
  if (connection.sharing().is_by_proxy()) http2.comes_by_proxy();
  http2_.emplace(&http2, std::move(made));
  http2.begin(first);
  if (handler_.draining()) http2.announce_end();
}

bool ConnectionTable::on_channel(Http2Connection& connection, std::unique_ptr<Channel> channel) {
  if (!admit(connection.peer())) return false;
  auto made =
      std::make_unique<ClientConnection>(loop_, config_, handler_, std::move(channel), connection.peer());
  made->share_end(connection.end());
  if (connection.by_proxy()) made->sharing().by_proxy();
  keep(std::move(made));
  return true;
}

void ConnectionTable::on_closed(Http2Connection& connection) {
  auto found = http2_.find(&connection);
  if (found == http2_.end()) return;
  caps_->leave(connection.peer());
  caps_->lives_on(self_, false);
  loop_.retire(std::move(found->second));
  http2_.erase(found);
}

size_t ConnectionTable::backlog() const {
  size_t sum = 0;
  for (const auto& entry : connections_)
    sum += entry.second->backlog();
  for (const auto& entry : http2_)
    sum += entry.second->backlog();
  return sum;
}

size_t ConnectionTable::idle() const {
  const auto in = [](const auto& table) {
    return std::count_if(table.begin(), table.end(),
                         [](const auto& entry) { return entry.second->may_ask(); });
  };
  return awaited_.size() + static_cast<size_t>(in(connections_) + in(http2_));
}

void ConnectionTable::make_room_now() {
  make_room_later();  // bytes that this turn adds are checked at its end
  if (!std::exchange(made_room_, true)) make_room();
}

// Bytes that a client is reading right now are no reason to cut it.
void ConnectionTable::make_room() {
  auto full = [this] { return config::load_of(MemoryCharge::total(), config_) >= config::Load::no_requests; };
  std::vector<std::pair<size_t, ClientConnection*>> slow;
  for (const auto& entry : connections_) {
    ClientConnection& connection = *entry.second;
    if (connection.backlog() < kWorthCutting) continue;
    connection.flush_now();
    if (connection.backlog() >= kWorthCutting) slow.emplace_back(connection.backlog(), &connection);
  }
  std::sort(slow.begin(), slow.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [bytes, connection] : slow) {
    if (!full()) return;
    if (connections_.count(connection) == 0) continue;  // it was closed together with another one
    const uint64_t count = ++metrics::stats().overload[static_cast<size_t>(metrics::Overload::backlog)];
    metrics::limit_reached(metrics::Limit::buffered_bytes);
    if ((count & (count - 1)) == 0) {
      log::write(log::Level::warn, "connection.cut",
                 {{"limit", "listen.maxBufferedBytes"},
                  {"held", MemoryCharge::total()},
                  {"backlog", uint64_t{bytes}},
                  {"count", count},
                  {"remote", connection->client()}});
    }
    connection->cut(mcp::EndReason::client_too_slow);
  }
}

void ConnectionTable::close_idle_soon() {
  for (auto& entry : http2_)
    entry.second->announce_end();
  last_chance_.start(kLastChance, [this] {
    close_awaited();
    std::vector<ClientConnection*> all;
    for (auto& entry : connections_)
      all.push_back(entry.second.get());
    for (auto* connection : all)
      connection->close_when_idle();
    for (auto& entry : http2_)
      entry.second->end_when_idle();
  });
}

void ConnectionTable::close_awaited() {
  for (auto& [key, header] : std::exchange(awaited_, {})) {
    caps_->lives_on(self_, false);
    caps_->leave(header->peer());
    loop_.retire(std::move(header));
  }
}

void ConnectionTable::close_all() {
  close_awaited();
  std::vector<ClientConnection*> all;
  for (auto& entry : connections_)
    all.push_back(entry.second.get());
  for (auto* connection : all)
    connection->cut(mcp::EndReason::cancelled_client);
  std::vector<Http2Connection*> http2;
  for (auto& entry : http2_)
    http2.push_back(entry.second.get());
  for (auto* connection : http2)
    connection->cut();
}

}  // namespace lineward::client
