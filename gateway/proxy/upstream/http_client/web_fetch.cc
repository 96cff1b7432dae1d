#include "proxy/upstream/http_client/web_fetch.h"

#include <fmt/format.h>

#include <charconv>

#include "foundation/base/own_host.h"

namespace lineward::upstream {
namespace {

// Metadata documents and token answers are small.
constexpr size_t kMaxBody = 256 * 1024;

bool is_this_machine(const HttpUrl& url) {
  return !url.unix_path.empty() || is_own_host(url.host);
}

}  // namespace

std::string secure_url_fault(const std::string& url) {
  auto parsed = parse_http_url(url);
  if (!parsed) return parsed.error().text;
  if (!parsed->tls && !is_this_machine(*parsed)) return "is not https";
  return {};
}

WebFetch::WebFetch(net::Loop& loop, std::shared_ptr<net::TlsContext> tls, WebRequest request,
                   std::function<void(WebAnswer)> done)
    : loop_(loop), limit_(loop), done_(std::move(done)) {
  auto url = parse_http_url(request.url);
  std::string fault = url ? secure_url_fault(request.url) : url.error().text;
  if (fault.empty() && request.foreign && !url->unix_path.empty())
    fault = "is a Unix socket that the configuration does not name";
  if (fault.empty() && url->tls && !tls) fault = "cannot be verified: no authorities were found";
  auto proxy = url ? choose_proxy(*url, request.proxy, process_environment())
                   : Result<std::optional<HttpProxy>>(std::optional<HttpProxy>());
  if (fault.empty() && !proxy) fault = proxy.error().text;
  if (!fault.empty()) {
    answer_.fault = std::move(fault);
    loop_.defer(lifetime_, [this] { finish(); });
    return;
  }
  url_ = *url;
  PoolOptions options;
  options.idle_connections = 0;
  options.limits.body_bytes = kMaxBody;
  options.proxy = *proxy;
  options.resolver.only_public = request.foreign && !options.proxy;
  pool_ = std::make_unique<HttpPool>(loop, url_, url_.tls ? std::move(tls) : nullptr, options);
  limit_.start(request.limit,
               [this, ms = request.limit.count()] { fail(fmt::format("did not answer within {} ms", ms)); });
  HttpRequest out;
  out.method = request.method;
  out.headers = std::move(request.headers);
  out.headers.push_back({"Accept", "application/json"});
  out.headers.push_back({"Accept-Encoding", "identity"});
  out.body = std::move(request.body);
  transfer_ = std::make_unique<HttpTransfer>(*pool_, std::move(out), *this);
}

void WebFetch::drop() {
  limit_.stop();
  done_ = nullptr;
  if (transfer_) transfer_->close();
  loop_.retire(std::move(transfer_));
  loop_.retire(std::move(pool_));
}

void WebFetch::on_transfer_head(const http::ResponseInfo& info) {
  answer_.status = info.status;
  const std::string_view wish = info.headers.get("Retry-After");
  uint32_t seconds = 0;
  const auto [end, fault] = std::from_chars(wish.data(), wish.data() + wish.size(), seconds);
  if (!wish.empty() && fault == std::errc() && end == wish.data() + wish.size())
    answer_.retry_after = std::chrono::seconds(seconds);
}

void WebFetch::on_transfer_body(std::string_view bytes) {
  if (answer_.body.size() + bytes.size() > kMaxBody)
    return fail(fmt::format("answered with more than {} bytes", kMaxBody));
  answer_.body += bytes;
}

void WebFetch::on_transfer_complete() {
  finish();
}

void WebFetch::on_transfer_failed(const core::Failure& fault) {
  fail(fault.text);
}

void WebFetch::fail(std::string why) {
  if (transfer_) transfer_->close();
  answer_.status = 0;
  answer_.body.clear();
  answer_.fault = std::move(why);
  finish();
}

void WebFetch::finish() {
  limit_.stop();
  if (auto done = std::exchange(done_, nullptr)) done(std::move(answer_));
}

}  // namespace lineward::upstream
