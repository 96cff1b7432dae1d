// An HTTP request to an address that is not an MCP server (an authorization server, a metadata document), on
// a connection of its own. Bounded in time and size; redirects are not followed.
//
// Owned by the caller; drop() or destruction cancels it. `done` is called once, never from inside the
// constructor, and the object may be retired in it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "foundation/net/lifetime.h"
#include "proxy/upstream/http_client/http_pool.h"

namespace lineward::upstream {

struct WebAnswer {
  int status = 0;     // 0: no answer, and `fault` says why
  std::string fault;  // continues a sentence that begins with the address
  std::string body;
  // Retry-After in seconds (RFC 9110 10.2.3); a date depends on another clock and is ignored.
  std::optional<std::chrono::seconds> retry_after;
};

struct WebRequest {
  std::string url;
  // The address does not come from the configuration: no Unix socket, and only public addresses (a proxy
  // resolves by itself).
  bool foreign = false;
  std::string_view method = "GET";
  std::vector<http::OutHeader> headers;
  std::string body;
  std::chrono::milliseconds limit{10000};
  std::string proxy;  // as a server's option; empty: from the environment. A secret
};

// Credentials, and requests that lead to them, use https only; http to this machine alone (RFC 9700 2.6, and
// the MCP authorization pages, "Communication Security"). Empty when `url` may be used, else why not.
std::string secure_url_fault(const std::string& url);

class WebFetch final : public HttpTransferCallbacks {
 public:
  // `tls` is used for https; may be null for plain http.
  WebFetch(net::Loop& loop, std::shared_ptr<net::TlsContext> tls, WebRequest request,
           std::function<void(WebAnswer)> done);
  ~WebFetch() { drop(); }
  void drop();

 private:
  void on_transfer_sent() override {}
  void on_transfer_drained() override {}
  void on_transfer_head(const http::ResponseInfo& info) override;
  void on_transfer_body(std::string_view bytes) override;
  void on_transfer_complete() override;
  void on_transfer_failed(const core::Failure& fault) override;
  void finish();
  void fail(std::string why);

  net::Loop& loop_;
  HttpUrl url_;
  std::unique_ptr<HttpPool> pool_;
  std::unique_ptr<HttpTransfer> transfer_;
  net::Timer limit_;
  WebAnswer answer_;
  std::function<void(WebAnswer)> done_;
  net::Lifetime lifetime_;
};

}  // namespace lineward::upstream
