// Lineward's own access token for one protected HTTP server (MCP authorization pages of 2026-07-28; the
// client credentials extension). Discovers the token endpoint and obtains the token by client credentials.
// Renews it before it expires, and when the server refuses it: once in kRefusalPause, for all requests. If a
// token for more scopes is refused, the one before stays in use.
//
// Each HTTP upstream owns one; its pool queries it before every request. No callback from inside fetch().
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "foundation/net/loop.h"
#include "proxy/upstream/http_client/http_pool.h"
#include "proxy/upstream/http_client/oauth_documents.h"
#include "proxy/upstream/http_client/web_fetch.h"

namespace lineward::upstream {

class OauthClient final : public RequestCredentials {
 public:
  // `resource` is the server's URL as configured. `tls` is used for every https address.
  OauthClient(net::Loop& loop, const config::Server& server, std::shared_ptr<net::TlsContext> tls);

  // RequestCredentials
  State state() override;
  const std::string& authorization() const override { return authorization_; }
  void fetch(std::function<void(const std::string& fault)> done) override;
  bool refused(const std::string& used, const http::ResponseInfo& info) override;

 private:
  void discover();
  void ask_resource(std::vector<std::string> urls);
  void ask_issuer(std::string issuer, std::vector<std::string> urls);
  void ask_token();
  void get(const std::string& url, std::function<void(WebAnswer)> done);
  void request(WebRequest what, std::function<void(WebAnswer)> done);
  void got(const AccessToken& token);
  void failed(std::string why);
  void keep_before(const std::string& why);
  bool may_ask_for(const std::string& more, const std::string& all) const;
  void tell(const std::string& fault);

  net::Loop& loop_;
  const config::Server& server_;
  const config::ClientCredentials& credentials_;
  std::shared_ptr<net::TlsContext> tls_;
  std::unique_ptr<WebFetch> fetch_;
  std::vector<std::function<void(const std::string&)>> waiting_;
  Challenge challenge_;
  bool challenged_ = false;
  ServerMetadata authority_;  // token_endpoint empty: not discovered yet
  std::string scope_;         // requested last
  std::string authorization_;
  // The token before, while one for more scopes is requested.
  struct Before {
    std::string authorization, scope;
    std::chrono::milliseconds renew_at, expires_at;
  };
  std::optional<Before> before_;
  std::string refused_scope_;  // not granted, until refused_until_
  std::chrono::milliseconds refused_until_{0};
  std::chrono::milliseconds next_scopes_{0};  // after a refusal
  std::chrono::milliseconds next_after_refusal_{0};
  std::chrono::milliseconds renew_at_{0};
  std::chrono::milliseconds expires_at_{0};
  std::string fault_;  // of the last attempt, until `not_before_`
  std::chrono::milliseconds not_before_{0};
  uint32_t failures_ = 0;
  bool busy_ = false;
  net::Lifetime lifetime_;
};

}  // namespace lineward::upstream
