// Which connections HttpFront takes, and what becomes of the others; which it cuts when there is no room
// left.
#include <algorithm>

#include "base/log.h"
#include "client/http_front.h"
#include "config/load_levels.h"
#include "core/stats.h"

namespace lineward::client {
namespace {

// Cutting a connection that holds less frees too little for what it costs its client.
constexpr size_t kWorthCutting = 64 * 1024;

}  // namespace

void HttpFront::accept(std::unique_ptr<net::ByteStream> stream, std::string peer) {
  // Closed at once: nothing is owed to it yet.
  if (connections_.size() >= config_.max_connections) return turned_away(core::Overload::connections);
  if (!caps_.enter(peer)) return turned_away(core::Overload::address);
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
             {{"limit", core::label(why)}, {"count", count}, {"open", uint64_t{connections_.size()}}});
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
