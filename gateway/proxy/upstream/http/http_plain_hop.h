// A request without a message, to a server that keeps no sessions (proxy/core/plain_hop.h).
//
// Owned by its requester. If its upstream stops first, the hop ends then.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "foundation/net/lifetime.h"
#include "proxy/core/plain_hop.h"
#include "proxy/upstream/http_client/http_pool.h"

namespace lineward::upstream {

class HttpPlainHops;

class HttpPlainHop final : public core::Hop, public HttpTransferCallbacks {
 public:
  // `personal`: 401, 403 and 429 are passed to the client (behaviour.md 11). The server's `request` limit
  // applies to the response head, and to the whole response unless it is an event stream.
  HttpPlainHop(HttpPlainHops& owner, HttpPool& pool, HttpRequest&& request, core::HopListener& listener,
               const config::Server& server, bool personal);
  ~HttpPlainHop() override;
  void pause() override {
    if (transfer_) transfer_->pause();
  }
  void resume() override {
    if (transfer_) transfer_->resume();
  }
  // Ends the hop in order; the end is reported later. `status`: of the answer, if no head was passed on yet.
  void end(int status, std::string why);

 private:
  void on_transfer_sent() override {}
  void on_transfer_drained() override {}
  void on_transfer_head(const http::ResponseInfo& info) override;
  void on_transfer_body(std::string_view bytes) override;
  void on_transfer_complete() override;
  void on_transfer_failed(const core::Failure& fault) override { failed(502, server_ + " " + fault.text); }
  void failed(int status, const std::string& why);
  void tell(int status, const std::string& why);
  void let_go();

  HttpPlainHops* owner_;
  net::Loop& loop_;
  core::HopListener& listener_;
  const std::string server_;
  const bool personal_;
  StreamPlace place_;  // for a GET, which may become a stream
  std::unique_ptr<HttpTransfer> transfer_;
  net::Timer limit_;
  bool streams_ = false;
  size_t body_bytes_ = 0;  // unless it is a stream
  net::Lifetime lifetime_;
};

// The hops of one upstream.
class HttpPlainHops {
 public:
  void joined(HttpPlainHop& hop) { hops_.push_back(&hop); }
  void left(HttpPlainHop& hop) { std::erase(hops_, &hop); }
  // Ends all hops; each is reported later, not before this returns.
  void end_all(const std::string& why) {
    std::vector<HttpPlainHop*> all;
    all.swap(hops_);
    for (HttpPlainHop* hop : all)
      hop->end(503, why);
  }

 private:
  std::vector<HttpPlainHop*> hops_;
};

}  // namespace lineward::upstream
