// Which connections HttpFront takes, and what becomes of the others.
#include "base/log.h"
#include "client/http_front.h"
#include "core/stats.h"

namespace lineward::client {

void HttpFront::accept(std::unique_ptr<net::ByteStream> stream, std::string peer) {
  // Closed at once: nothing is owed to it yet.
  if (connections_.size() >= config_.max_connections) return turned_away(core::Overload::connections);
  if (!caps_.enter(peer)) return turned_away(core::Overload::address);
  auto connection =
      std::make_unique<ClientConnection>(loop_, config_, *this, std::move(stream), std::move(peer));
  const ClientConnection* key = connection.get();
  connections_.emplace(key, std::move(connection));
}

// Counted each, told once in a while: a flood must not be one of log lines too.
void HttpFront::turned_away(core::Overload why) {
  const uint64_t count = ++core::stats().overload[static_cast<size_t>(why)];
  if ((count & (count - 1)) != 0) return;  // the first, the second, the fourth …
  log::write(log::Level::warn, "connection.refused",
             {{"limit", core::label(why)}, {"count", count}, {"open", uint64_t{connections_.size()}}});
}

}  // namespace lineward::client
