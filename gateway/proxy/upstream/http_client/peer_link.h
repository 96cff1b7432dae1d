// The connections to the other replicas: a pool for each, made from `replicas.peers`. Passes a whole HTTP
// request and streams the response back (docs/replicas.md).
//
// Owned by the gateway, shared with the front that sends requests over it; a reload creates another.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foundation/base/result.h"
#include "foundation/net/loop.h"
#include "protocol/http/response_parser.h"
#include "protocol/http/writer.h"
#include "proxy/upstream/http_client/http_pool.h"

namespace lineward::upstream {

struct PeerRequest {
  std::string_view method;  // a literal
  std::string target;
  std::string host;    // the client's Host header
  std::string client;  // the client's address
  std::vector<http::OutHeader> headers;
  std::string body;
};

class PeerListener {
 public:
  virtual void on_peer_head(const http::ResponseInfo& info) = 0;
  virtual void on_peer_body(std::string_view bytes) = 0;
  // Exactly one of the three callbacks below is the last. `why` continues a sentence that starts with the
  // peer's name.
  virtual void on_peer_complete() = 0;
  virtual void on_peer_failed(const std::string& why) = 0;
  // As on_peer_failed(); the peer has received nothing of the request.
  virtual void on_peer_unreached(const std::string& why) = 0;

 protected:
  ~PeerListener() = default;
};

// A request in progress. Destroying it aborts it; its owner frees it at the end of the turn.
class PeerTransfer final : public HttpTransferCallbacks {
 public:
  PeerTransfer(net::Loop& loop, HttpPool& pool, HttpRequest request, PeerListener& listener);
  ~PeerTransfer();
  // Pauses the response: the client reads slowly.
  void pause() { transfer_->pause(); }
  void resume() { transfer_->resume(); }

 private:
  void on_transfer_sent() override { sent_ = true; }
  void on_transfer_drained() override {}
  void on_transfer_head(const http::ResponseInfo& info) override;
  void on_transfer_body(std::string&& bytes) override { listener_.on_peer_body(bytes); }
  void on_transfer_complete() override { listener_.on_peer_complete(); }
  void on_transfer_failed(const core::Failure& fault) override;

  net::Loop& loop_;
  PeerListener& listener_;
  std::unique_ptr<HttpTransfer> transfer_;
  bool sent_ = false;
};

class PeerLinks {
 public:
  // `peers`: name → url. Connects nothing yet. `kept`: how long a peer keeps an idle connection open.
  static Result<std::shared_ptr<PeerLinks>> make(
      net::Loop& loop, const std::vector<std::pair<std::string, std::string>>& peers,
      std::chrono::milliseconds kept);

  bool knows(const std::string& peer) const { return peers_.count(peer) > 0; }
  std::vector<std::string> names() const;
  // The peer with this replica_tag(); empty: none.
  std::string tagged(const std::string& tag) const;
  // `peer` must be known. The listener is never called before this returns. This must outlive the transfer.
  std::unique_ptr<PeerTransfer> pass(const std::string& peer, PeerRequest request, PeerListener& listener);

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
