#include "proxy/upstream/http_client/oauth_client.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

#include "foundation/base/backoff.h"
#include "foundation/log/log.h"

namespace lineward::upstream {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kShortest{1000};      // a token with a shorter lifetime is used once
constexpr milliseconds kNoEnd{3600 * 1000};  // renewal time of a token without a lifetime
constexpr milliseconds kAhead{60 * 1000};
constexpr Backoff::Range kPauses{milliseconds(1000), milliseconds(30 * 1000)};
// Between two tokens that are requested because the server answered 401 to the one before.
constexpr milliseconds kRefusalPause{10 * 1000};
// Scopes that the issuer refused are not requested again for that long.
constexpr milliseconds kScopePause{300 * 1000};
constexpr size_t kMaxScopes = 4096;  // bytes
constexpr int64_t kMaxLife = 365ll * 24 * 3600;

int64_t unix_time() {
  return std::chrono::duration_cast<seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

OauthClient::OauthClient(net::Loop& loop, const config::Server& server, std::shared_ptr<net::TlsContext> tls)
    : loop_(loop), server_(server), credentials_(server.credentials), tls_(std::move(tls)) {
  if (tls_) return;
  // The authorization server may use TLS although the MCP server does not.
  auto context = net::TlsContext::for_client({server.ca_file, {}, {}});
  if (context) tls_ = *context;
}

// A server that admits requests without a token gets none: the first refusal triggers the fetch.
RequestCredentials::State OauthClient::state() {
  if (authorization_.empty()) return challenged_ ? State::missing : State::not_needed;
  if (loop_.now() >= expires_at_) return State::missing;
  if (loop_.now() >= renew_at_ && !busy_ && loop_.now() >= not_before_) discover();
  return State::there;
}

void OauthClient::fetch(std::function<void(const std::string&)> done) {
  waiting_.push_back(std::move(done));
  if (busy_) return;
  if (loop_.now() < not_before_) {
    loop_.defer(lifetime_, [this] {
      if (!busy_) tell(fault_);
    });
    return;
  }
  discover();
}

bool OauthClient::refused(const std::string& used, const http::ResponseInfo& info) {
  Challenge challenge = read_challenge(info.headers);
  if (info.status == 403 && challenge.error != "insufficient_scope") return false;
  // The token was obtained, renewed or dropped meanwhile: the refusal of the earlier one does not affect the
  // current one. The request may have gone without a token, if it was dropped while connecting.
  if (used != authorization_) return true;
  std::string wanted = union_of_scopes(scope_, challenge.scope);
  if (info.status == 403 && !may_ask_for(challenge.scope, wanted)) return false;
  if (info.status == 401 && !used.empty()) {
    // A server that answers 401 to one call for reasons of its own must not make all others wait each time.
    if (loop_.now() < next_after_refusal_) return false;
    next_after_refusal_ = loop_.now() + kRefusalPause;
  }
  if (info.status == 403) before_ = {authorization_, scope_, renew_at_, expires_at_};
  challenge_ = std::move(challenge);
  challenged_ = true;
  if (!scope_.empty()) challenge_.scope = wanted;
  authorization_.clear();
  return true;
}

// Additional scopes are requested once; a configured set of scopes is never extended.
bool OauthClient::may_ask_for(const std::string& more, const std::string& all) const {
  if (!credentials_.scope.empty() || all.size() > kMaxScopes || loop_.now() < next_scopes_) return false;
  const std::string known = loop_.now() < refused_until_ ? union_of_scopes(scope_, refused_scope_) : scope_;
  return union_of_scopes(known, more) != known;
}

void OauthClient::discover() {
  busy_ = true;
  if (!credentials_.token_url.empty()) {
    authority_.issuer = credentials_.issuer;
    authority_.token_endpoint = credentials_.token_url;
  }
  if (!authority_.token_endpoint.empty()) return ask_token();
  std::vector<std::string> urls;
  // A server may name the location of its metadata, but not redirect Lineward to other hosts.
  if (!challenge_.resource_metadata.empty() && same_origin(challenge_.resource_metadata, server_.url)) {
    urls.push_back(challenge_.resource_metadata);
  } else {
    urls = resource_metadata_urls(server_.url);
  }
  ask_resource(std::move(urls));
}

void OauthClient::ask_resource(std::vector<std::string> urls) {
  std::string url = urls.front();
  urls.erase(urls.begin());
  get(url, [this, url, urls = std::move(urls)](WebAnswer answer) mutable {
    if (answer.status >= 400 && answer.status < 500 && !urls.empty()) return ask_resource(std::move(urls));
    if (answer.status != 200) {
      return failed(fmt::format(
          "{} {}", url, answer.status == 0 ? answer.fault : fmt::format("answered {}", answer.status)));
    }
    auto metadata = read_resource_metadata(answer.body, server_.url);
    if (!metadata) return failed(fmt::format("{}: {}", url, metadata.error().text));
    if (challenge_.scope.empty()) challenge_.scope = fmt::format("{}", fmt::join(metadata->scopes, " "));
    const auto& servers = metadata->authorization_servers;
    std::string issuer = credentials_.issuer;
    if (std::find(servers.begin(), servers.end(), issuer) == servers.end())
      return failed(fmt::format("{} does not name clientCredentials.issuer", url));
    auto places = server_metadata_urls(issuer);
    ask_issuer(std::move(issuer), std::move(places));
  });
}

void OauthClient::ask_issuer(std::string issuer, std::vector<std::string> urls) {
  std::string url = urls.front();
  urls.erase(urls.begin());
  get(url, [this, url, issuer = std::move(issuer), urls = std::move(urls)](WebAnswer answer) mutable {
    if (answer.status >= 400 && answer.status < 500 && !urls.empty())
      return ask_issuer(std::move(issuer), std::move(urls));
    if (answer.status != 200) {
      return failed(fmt::format(
          "{} {}", url, answer.status == 0 ? answer.fault : fmt::format("answered {}", answer.status)));
    }
    auto metadata = read_server_metadata(answer.body, issuer);
    if (!metadata) return failed(fmt::format("{}: {}", url, metadata.error().text));
    authority_ = std::move(*metadata);
    ask_token();
  });
}

void OauthClient::ask_token() {
  scope_ = credentials_.scope.empty() ? challenge_.scope : credentials_.scope;
  auto body = token_request(credentials_, authority_, server_.url, scope_, unix_time());
  if (!body) {
    loop_.defer(lifetime_, [this, why = body.error().text] { failed(why); });
    return;
  }
  WebRequest what;
  what.url = authority_.token_endpoint;
  // The issuer's token endpoint may be on another host, but not on this machine or network, unless the
  // configuration itself names it.
  what.foreign = what.url != credentials_.token_url && !same_origin(what.url, credentials_.issuer) &&
                 !same_origin(what.url, server_.url);
  what.method = "POST";
  what.headers.push_back({"Content-Type", "application/x-www-form-urlencoded"});
  if (!body->authorization.empty()) what.headers.push_back({"Authorization", body->authorization});
  what.body = std::move(body->body);
  request(std::move(what), [this](WebAnswer answer) {
    const std::string& url = authority_.token_endpoint;
    if (answer.status == 0) return failed(fmt::format("{} {}", url, answer.fault));
    auto token = read_token_answer(answer.status, answer.body);
    if (token) return got(*token);
    std::string why = fmt::format("{} {}", url, token.error().text);
    authority_ = {};  // it may have moved
    failed(std::move(why));
  });
}

void OauthClient::got(const AccessToken& token) {
  milliseconds life = kNoEnd;
  if (token.expires_in) life = seconds(std::clamp<int64_t>(*token.expires_in, 1, kMaxLife));
  life = std::max(life, kShortest);
  authorization_ = "Bearer " + token.value;
  expires_at_ = loop_.now() + life;
  renew_at_ = expires_at_ - std::min(kAhead, life / 10);
  failures_ = 0;
  not_before_ = milliseconds(0);
  before_.reset();
  log::write(log::Level::info, "upstream.token",
             {{"upstream", server_.name}, {"issuer", authority_.issuer}, {"life_s", life.count() / 1000}});
  tell({});
}

void OauthClient::failed(std::string why) {
  if (before_ && loop_.now() < before_->expires_at) return keep_before(why);
  before_.reset();
  fault_ = fmt::format("gives no access token: {}", why);
  not_before_ = loop_.now() + Backoff::exact(kPauses, failures_++);
  log::write(log::Level::warn, "upstream.token", {{"upstream", server_.name}, {"why", why}});
  tell(fault_);
}

// The request that asked for more gets the server's 403.
void OauthClient::keep_before(const std::string& why) {
  log::write(log::Level::warn, "upstream.token", {{"upstream", server_.name}, {"why", why}});
  const bool adds = loop_.now() < refused_until_ && refused_scope_.size() <= kMaxScopes;
  refused_scope_ = adds ? union_of_scopes(refused_scope_, scope_) : scope_;
  refused_until_ = loop_.now() + kScopePause;
  next_scopes_ = loop_.now() + kRefusalPause;  // each call may name another scope
  authorization_ = std::move(before_->authorization);
  scope_ = challenge_.scope = std::move(before_->scope);
  renew_at_ = before_->renew_at;
  expires_at_ = before_->expires_at;
  before_.reset();
  tell({});
}

void OauthClient::tell(const std::string& fault) {
  busy_ = false;
  auto waiting = std::move(waiting_);
  waiting_.clear();
  std::string kept = fault;  // copied: a callback may clear it
  for (const auto& done : waiting)
    done(kept);
}

void OauthClient::get(const std::string& url, std::function<void(WebAnswer)> done) {
  WebRequest what;
  what.url = url;
  request(std::move(what), std::move(done));
}

void OauthClient::request(WebRequest what, std::function<void(WebAnswer)> done) {
  // The previous one may be on the stack: its callback has led here.
  loop_.retire(std::move(fetch_));
  what.headers.push_back({"User-Agent", "lineward"});
  what.proxy = server_.proxy;
  fetch_ = std::make_unique<WebFetch>(loop_, tls_, std::move(what), std::move(done));
}

}  // namespace lineward::upstream
