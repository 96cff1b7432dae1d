#include "proxy/upstream/http/http_plain_hop.h"

#include <fmt/format.h>

#include "protocol/mcp/errors.h"
#include "proxy/metrics/limits.h"
#include "proxy/upstream/http_client/http_headers.h"

namespace lineward::upstream {
namespace {

// Maximum body, unless it is an event stream: room for an error's text.
constexpr size_t kMaxBody = 64 * 1024;

bool is_events(std::string_view type) {
  return http::equals_ignoring_case(http::trim_white_space(type.substr(0, type.find(';'))),
                                    "text/event-stream");
}

}  // namespace

HttpPlainHop::HttpPlainHop(HttpPlainHops& owner, HttpPool& pool, HttpRequest&& request,
                           core::HopListener& listener, const config::Server& server, bool personal)
    : owner_(&owner),
      loop_(pool.loop()),
      listener_(listener),
      server_(server.name),
      personal_(personal),
      place_(pool.streams()),
      limit_(pool.loop()) {
  owner.joined(*this);
  const bool may_stream = request.method == "GET";
  if (pool.full() || (may_stream && !place_.take())) {
    metrics::limit_reached(metrics::Limit::server_connections);
    end(503, fmt::format("{} has no connection free (limits.maxConnections)", server_));
    return;
  }
  transfer_ = std::make_unique<HttpTransfer>(pool, std::move(request), *this);
  limit_.start(server.timeouts.request, [this, limit = server.timeouts.request] {
    failed(504,
           fmt::format("{} did not answer within {} ms (lineward timeouts.request)", server_, limit.count()));
  });
}

HttpPlainHop::~HttpPlainHop() {
  lifetime_.end();
  let_go();
}

void HttpPlainHop::let_go() {
  limit_.stop();
  place_.give();
  if (owner_ != nullptr) std::exchange(owner_, nullptr)->left(*this);
  if (!transfer_) return;
  transfer_->close();
  loop_.retire(std::move(transfer_));
}

void HttpPlainHop::end(int status, std::string why) {
  let_go();
  loop_.defer(lifetime_, [this, status, why = std::move(why)] {
    streams_ ? listener_.on_hop_end({}) : tell(status, why);
  });
}

void HttpPlainHop::failed(int status, const std::string& why) {
  let_go();
  tell(status, why);
}

// Reports a failure as an answer.
void HttpPlainHop::tell(int status, const std::string& why) {
  if (streams_) return listener_.on_hop_end(why);
  listener_.on_hop_head(status, "application/json", {});
  listener_.on_hop_body(mcp::error_message({}, status, why));
  listener_.on_hop_end({});
}

void HttpPlainHop::on_transfer_head(const http::ResponseInfo& info) {
  const bool refused = info.status == 401 || info.status == 403 || info.status == 429;
  if (refused && !personal_) return failed(502, server_ + " refused Lineward's own credentials");
  std::string_view coding = info.headers.get("Content-Encoding");
  if (!coding.empty() && !http::equals_ignoring_case(coding, "identity") && !transfer_->inflates())
    return failed(502, server_ + " sent a response in a content coding that was not requested");
  std::string type(info.headers.get("Content-Type"));
  streams_ = info.status == 200 && is_events(type);
  if (streams_) {
    limit_.stop();
    transfer_->unlimited_body();
  }
  core::HeaderFields headers;
  if (refused) headers = challenge_headers(info.headers);
  if (info.headers.count("Allow") == 1) headers.emplace_back("Allow", std::string(info.headers.get("Allow")));
  listener_.on_hop_head(info.status, std::move(type), std::move(headers));
}

void HttpPlainHop::on_transfer_body(std::string_view bytes) {
  body_bytes_ += streams_ ? 0 : bytes.size();
  if (body_bytes_ > kMaxBody)
    return failed(502, fmt::format("{} answered with more than {} bytes", server_, kMaxBody));
  listener_.on_hop_body(bytes);
}

void HttpPlainHop::on_transfer_complete() {
  let_go();
  listener_.on_hop_end({});
}

}  // namespace lineward::upstream
