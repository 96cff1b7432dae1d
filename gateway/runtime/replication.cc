#include "runtime/replication.h"

#include <algorithm>
#include <chrono>

#include "config/reader/replicas.h"
#include "proxy/upstream/http_client/peer_link.h"

namespace lineward::runtime {

Result<Replication> make_replication(net::Loop& loop, const config::Config& all, bool has_http) {
  const config::Replicas& config = all.replicas;
  Replication made;
  if (config.key_file.empty() || !has_http) return made;
  auto keys = config::read_replica_keys(config.key_file);
  if (!keys) return fail("replicas.keyFile: " + keys.error().text);
  upstream::PeerOptions options;
  options.peers = config.peers;
  options.from = config.peers_from;
  options.own_name = config.peers_from.empty() ? config.name : upstream::replica_name_of(config.name);
  options.ca_file = config.ca_file;
  options.kept = all.listen.idle_timeout;  // peers have the same timeout
  made.replicas = std::make_shared<const client::Replicas>(
      *keys, options.own_name, std::chrono::duration_cast<std::chrono::seconds>(config.session_lifetime));
  std::erase_if(options.peers, [&](const auto& peer) { return peer.first == config.name; });
  if (options.peers.empty() && options.from.empty()) return made;
  auto links = upstream::PeerLinks::make(loop, std::move(options));
  if (!links) return Unexpected<Error>{links.error()};
  made.peers = std::move(*links);
  return made;
}

void use_replication(Replication replication, client::HttpFront* http, exchange::ExchangeTable& exchanges) {
  exchanges.sessions().share_sessions(replication.replicas != nullptr);
  if (replication.replicas)
    exchanges.park_table().share_states(replication.replicas->keys(), replication.replicas->name());
  if (http != nullptr) http->use_replicas(std::move(replication));
}

}  // namespace lineward::runtime
