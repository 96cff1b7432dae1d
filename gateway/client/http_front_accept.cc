// Which connections HttpFront takes, keeps and hands on, and what becomes of the others; which it cuts when
// there is no room left.
#include <algorithm>

#include "base/log.h"
#include "client/http_front.h"
#include "config/load_levels.h"
#include "config/shares.h"
#include "core/stats.h"

namespace lineward::client {
namespace {

// Cutting a connection that holds less frees too little for what it costs its client.
constexpr size_t kWorthCutting = 64 * 1024;

}  // namespace

size_t PathTable::home(std::string_view path) const {
  const std::string key(path);
  auto lives = [this](const std::string& server) {
    auto home = homes.find(server);
    return home == homes.end() ? size_t{0} : home->second;
  };
  if (auto route = servers.find(key); route != servers.end()) return lives(route->second);
  for (const auto* table : {&sse_streams, &sse_posts}) {
    auto route = table->find(key);
    if (route != table->end()) return lives(route->second);
  }
  if (auto route = leaving.find(key); route != leaving.end()) return lives(route->second);
  // The plain sidecar's server describes itself.
  bool metadata = resource && path.substr(0, kResourceMetadata.size()) == kResourceMetadata;
  return metadata && documents.count(key) == 0 ? lives(plain) : 0;
}

net::Listener::Accepted HttpFront::accepting() {
  return [this](std::unique_ptr<net::ByteStream> stream, std::string peer) {
    accept(std::move(stream), std::move(peer));
  };
}

Status<net::ListenFailure> HttpFront::listen() {
  auto opened = open_next(config_.address);
  if (opened) move();
  return opened;
}

Status<net::ListenFailure> HttpFront::listen_with(int socket, std::string address, bool loopback) {
  auto joined = join_next(socket, std::move(address), loopback);
  if (joined) move();
  return joined;
}

// Its bytes are read here and answered there; from then on all of it is the other worker's.
bool HttpFront::belongs_elsewhere(ClientConnection& connection) {
  if (!neighbours_) return false;
  const size_t home = facts(connection).home;
  if (home == neighbours_->self) return false;
  auto moved = connection.move_away();
  if (!moved) {
    if (connection.backlog() == 0) connection.cut(mcp::EndReason::cancelled_client);  // no descriptor left
    return true;
  }
  left(connection);
  auto found = connections_.find(&connection);
  if (found != connections_.end()) {
    loop_.retire(std::move(found->second));
    connections_.erase(found);
  }
  neighbours_->send(home, std::move(*moved));
  return true;
}

void HttpFront::adopt(MovedConnection moved) {
  auto stream = net::ByteStream::from_socket(loop_, moved.take_socket());
  if (!stream) return caps_->leave(moved.peer);
  auto connection =
      std::make_unique<ClientConnection>(loop_, config_, *this, std::move(*stream), std::move(moved));
  const ClientConnection* key = connection.get();
  connections_.emplace(key, std::move(connection));
  most_connections_ = std::max(most_connections_, connections_.size());
}

void HttpFront::accept(std::unique_ptr<net::ByteStream> stream, std::string peer) {
  // Closed at once: nothing is owed to it yet.
  using Verdict = ConnectionCaps::Verdict;
  switch (caps_->enter(peer, config_.max_connections, config::connections_of_address(config_))) {
    case Verdict::welcome: break;
    case Verdict::too_many: return turned_away(core::Overload::connections);
    case Verdict::too_many_of_address: return turned_away(core::Overload::address);
  }
  auto connection =
      std::make_unique<ClientConnection>(loop_, config_, *this, std::move(stream), std::move(peer));
  const ClientConnection* key = connection.get();
  connections_.emplace(key, std::move(connection));
  most_connections_ = std::max(most_connections_, connections_.size());
}

// Counted each, told once in a while: a flood must not be one of log lines too.
void HttpFront::turned_away(core::Overload why) {
  const uint64_t count = ++core::stats().overload[static_cast<size_t>(why)];
  if ((count & (count - 1)) != 0) return;  // the first, the second, the fourth …
  log::write(log::Level::warn, "connection.refused",
             {{"limit", core::label(why)}, {"count", count}, {"open", uint64_t{caps_->total()}}});
}

// So much is held that requests are refused (listen.maxBufferedBytes): who takes least of its answers makes
// room for the others. What a client takes right now is no reason to cut it.
void HttpFront::make_room() {
  auto full = [this] { return config::load_of(HeldBytes::total(), config_) >= config::Load::no_requests; };
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
    if (connections_.count(connection) == 0) continue;  // it went with another
    const uint64_t count = ++core::stats().overload[static_cast<size_t>(core::Overload::backlog)];
    if ((count & (count - 1)) == 0) {
      log::write(log::Level::warn, "connection.cut",
                 {{"limit", "listen.maxBufferedBytes"},
                  {"held", HeldBytes::total()},
                  {"backlog", uint64_t{bytes}},
                  {"count", count},
                  {"remote", connection->peer()}});
    }
    connection->cut(mcp::EndReason::client_too_slow);
  }
}

}  // namespace lineward::client
