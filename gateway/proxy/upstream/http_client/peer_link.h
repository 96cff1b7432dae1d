// The connections to the other replicas: a pool for each, made from `replicas.peers`, or from the addresses
// of the name in `replicas.peersFrom`, which is looked up again and again. Passes a whole HTTP request and
// streams the response back (docs/replicas.md).
//
// Owned by the gateway, shared with the front that sends requests over it; a reload creates another.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foundation/base/result.h"
#include "foundation/net/lifetime.h"
#include "foundation/net/loop.h"
#include "foundation/net/resolver.h"
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

struct PeerOptions {
  std::vector<std::pair<std::string, std::string>> peers;  // name → url
  std::string from;                   // a URL: the addresses of its host are the peers; empty: none
  std::string own_name;               // of this replica: with `from` its address, which is left out
  std::string ca_file;                // PEM; empty: the system's authorities
  std::chrono::milliseconds kept{0};  // how long a peer keeps an idle connection open
  net::NameLookup::Work look_up;      // for `from`; empty: the system's resolver
};

// The name of a replica at this address, as replicas.peersFrom names it; empty: it is none.
std::string replica_name_of(std::string_view address);

// A replica, as long as it is known or requests to it are in progress.
struct Peer {
  HttpUrl url;
  std::unique_ptr<HttpPool> pool;
};

class PeerLinks;

// A request in progress. Destroying it aborts it; its owner frees it at the end of the turn.
class PeerTransfer final : public HttpTransferCallbacks {
 public:
  PeerTransfer(net::Loop& loop, PeerListener& listener) : loop_(loop), listener_(listener), limit_(loop) {}
  ~PeerTransfer();
  // The peer may have received something of the request.
  bool is_sent() const { return sent_; }
  // Pauses the response: the client reads slowly.
  void pause() {
    if (transfer_) transfer_->pause();
  }
  void resume() {
    if (transfer_) transfer_->resume();
  }

 private:
  friend class PeerLinks;
  void begin(std::shared_ptr<Peer> peer, HttpRequest request);
  void wait(PeerLinks& links, const std::string& host);
  void on_transfer_sent() override { sent_ = true; }
  void on_transfer_drained() override {}
  void on_transfer_head(const http::ResponseInfo& info) override;
  void on_transfer_body(std::string_view bytes) override { listener_.on_peer_body(bytes); }
  void on_transfer_complete() override { listener_.on_peer_complete(); }
  void on_transfer_failed(const core::Failure& fault) override;

  net::Loop& loop_;
  PeerListener& listener_;
  std::shared_ptr<Peer> peer_;
  std::unique_ptr<HttpTransfer> transfer_;  // null: its peer is being looked up
  bool sent_ = false;
  PeerLinks* links_ = nullptr;  // its peer is being looked up there
  net::Timer limit_;            // of the look-up
  net::Lifetime lifetime_;
};

class PeerLinks {
 public:
  static constexpr size_t kMostFound = 64;  // peers by addresses

  // Connects nothing yet.
  static Result<std::shared_ptr<PeerLinks>> make(net::Loop& loop, PeerOptions options);
  ~PeerLinks();
  PeerLinks(const PeerLinks&) = delete;
  PeerLinks& operator=(const PeerLinks&) = delete;

  // Known, or possibly found by a look-up: pass() waits for it.
  bool knows(const std::string& peer) const;
  // The peers that are known now.
  std::vector<std::string> names() const;
  // Whether a connection from there is a peer's, as far as the peers' addresses are known without a look-up.
  // Another process of that machine may have made it.
  bool is_at(std::string_view address) const;
  // The peer with this replica_tag(); empty: none.
  std::string tagged(const std::string& tag) const;
  // knows() has said yes. The listener is never called before this returns. This must outlive the transfer.
  std::unique_ptr<PeerTransfer> pass(const std::string& peer, PeerRequest request, PeerListener& listener);
  // Requests that wait for a look-up.
  size_t waiting() const { return waiting_.size(); }

 private:
  friend class PeerTransfer;
  PeerLinks(net::Loop& loop, PeerOptions options);
  std::shared_ptr<Peer> make_peer(const HttpUrl& url, std::optional<net::Address> at) const;
  void look_up();
  void look_up_again();
  void found(const Result<net::Addresses>& answer);
  void use(const net::Addresses& addresses);
  void answer_waiting();
  void forget(const PeerTransfer& transfer);

  net::Loop& loop_;
  const PeerOptions options_;
  std::shared_ptr<net::TlsContext> tls_;  // null: no URL is https://
  std::map<std::string, std::shared_ptr<Peer>> peers_;
  std::set<std::string> addresses_;  // of those with an address in their URL
  // With `from`:
  HttpUrl from_;
  std::unique_ptr<net::Resolver> resolver_;  // null: without
  bool looking_ = false;
  std::chrono::milliseconds looked_at_{0};
  std::string last_fault_;
  net::Timer again_;
  struct Waiting {
    PeerTransfer* transfer;
    net::Lifetime::Watch watch;  // of the transfer
    std::string peer;
    HttpRequest request;
  };
  std::vector<Waiting> waiting_;
  net::Lifetime lifetime_;
};

}  // namespace lineward::upstream
