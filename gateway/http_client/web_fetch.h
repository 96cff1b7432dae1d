// One HTTP request to an address that is no MCP server (an authorization server, a metadata document), on a
// connection of its own. Bounded in time and size; redirects are not followed.
//
// Owned by who wants the answer; drop() or destruction gives up. `done` is called once, never from inside the
// constructor, and the object may be retired in it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "http_client/http_pool.h"
#include "net/lifetime.h"

namespace lineward::upstream {

struct WebAnswer {
  int status = 0;     // 0: there was none, and `fault` says why
  std::string fault;  // goes on from the address
  std::string body;
  // Retry-After where it counts seconds (RFC 9110 10.2.3); a date is of somebody else's clock.
  std::optional<std::chrono::seconds> retry_after;
};

struct WebRequest {
  std::string url;
  // Somebody else than the configuration has named the address: no Unix socket, and nothing but public
  // addresses (a proxy resolves by itself).
  bool foreign = false;
  std::string_view method = "GET";
  std::vector<http::OutHeader> headers;
  std::string body;
  std::chrono::milliseconds limit{10000};
  std::string proxy;  // as a server's option; empty: as the environment says. A secret
};

// Credentials and what leads to them go over https only; over http to this machine alone (RFC 9700 2.6, and
// the MCP authorization pages, "Communication Security"). Empty when `url` may be used, else why not.
std::string secure_url_fault(const std::string& url);

class WebFetch final : public HttpTransferOwner {
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
  void on_transfer_body(std::string&& bytes) override;
  void on_transfer_complete() override;
  void on_transfer_failed(const HttpFault& fault) override;
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
