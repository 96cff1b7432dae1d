// The connections to the other replicas (proxy/core/peer_api.h): a pool for each, made from `replicas.peers`.
//
// Owned by the gateway, shared with the front that sends requests over it; a reload creates another.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "foundation/base/result.h"
#include "foundation/net/loop.h"
#include "proxy/core/peer_api.h"
#include "proxy/upstream/http_client/http_pool.h"

namespace lineward::upstream {

class PeerLinks final : public core::PeerApi {
 public:
  // `peers`: name → url. Connects nothing yet. `kept`: how long a peer keeps an idle connection open.
  static Result<std::shared_ptr<PeerLinks>> make(
      net::Loop& loop, const std::vector<std::pair<std::string, std::string>>& peers,
      std::chrono::milliseconds kept);

  bool knows(const std::string& peer) const override { return peers_.count(peer) > 0; }
  std::vector<std::string> names() const override;
  std::string tagged(const std::string& tag) const override;
  std::unique_ptr<core::PeerCall> pass(const std::string& peer, core::PeerRequest request,
                                       core::PeerListener& listener) override;

 private:
  explicit PeerLinks(net::Loop& loop) : loop_(loop) {}
  struct Peer {
    HttpUrl url;
    std::unique_ptr<HttpPool> pool;
  };
  net::Loop& loop_;
  std::map<std::string, std::unique_ptr<Peer>> peers_;
};

}  // namespace lineward::upstream
