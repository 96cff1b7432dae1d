#include "upstream/http_plain_hop.h"

#include <fmt/format.h>

#include "upstream/http_headers.h"
#include "upstream/http_upstream.h"

namespace lineward::upstream {

HttpPlainHop::HttpPlainHop(HttpPlainHops& home, HttpPool& pool, HttpRequest&& request,
                           core::HopListener& listener, const config::Server& server, bool personal)
    : home_(&home),
      loop_(pool.loop()),
      listener_(listener),
      server_(server.name),
      personal_(personal),
      limit_(pool.loop()) {
  home.joined(*this);
  if (pool.full()) {
    end(fmt::format("{} has no connection free (limits.maxConnections)", server_));
    return;
  }
  transfer_ = std::make_unique<HttpTransfer>(pool, std::move(request), *this);
  limit_.start(server.timeouts.request, [this, limit = server.timeouts.request] {
    over(fmt::format("{} did not answer within {} ms (lineward timeouts.request)", server_, limit.count()));
  });
}

HttpPlainHop::~HttpPlainHop() {
  *alive_ = false;
  let_go();
}

void HttpPlainHop::let_go() {
  limit_.stop();
  if (home_ != nullptr) std::exchange(home_, nullptr)->left(*this);
  if (!transfer_) return;
  transfer_->close();
  retire(loop_, std::move(transfer_));
}

void HttpPlainHop::end(std::string why) {
  let_go();
  loop_.defer([this, alive = alive_, why = std::move(why)] {
    if (*alive) listener_.on_hop_end(why);
  });
}

void HttpPlainHop::over(const std::string& why) {
  let_go();
  listener_.on_hop_end(why);
}

void HttpPlainHop::on_transfer_head(const http::ResponseInfo& info) {
  const bool refused = info.status == 401 || info.status == 403 || info.status == 429;
  if (refused && !personal_) return over(server_ + " refused Lineward's own credentials");
  limit_.stop();
  transfer_->unlimited_body();
  core::HeaderFields headers;
  if (refused) headers = challenge_headers(info.headers);
  if (info.headers.count("Allow") == 1) headers.emplace_back("Allow", std::string(info.headers.get("Allow")));
  listener_.on_hop_head(info.status, std::string(info.headers.get("Content-Type")), std::move(headers));
}

// One that shares a session with others (isolation) speaks for itself alone.
void HttpUpstream::pass_notification(const mcp::Message& message, const core::HeaderFields& headers) {
  const bool own =
      server_.isolation == config::Isolation::automatic || server_.isolation == config::Isolation::session;
  if (stopping_ || !broken_.empty() || !own || keeps_sessions() != false) return;
  ErrandPlan plan;
  plan.request.body = message.bytes();
  plan.request.headers = base_headers(server_, HttpVerb::post);
  add_all(plan.request.headers, forwarded_headers(server_, headers));
  add_revision(plan.request.headers, headers);
  errands_->run(std::move(plan));
}

// What this client sends to a server that keeps no sessions.
std::unique_ptr<core::Hop> HttpUpstream::hop(core::HopRequest request, core::HopListener& listener) {
  if (stopping_ || !broken_.empty() || keeps_sessions() != false) return nullptr;
  HttpRequest out{
      request.method, base_headers(server_, request.method == "GET" ? HttpVerb::get : HttpVerb::remove), {}};
  add_all(out.headers, forwarded_headers(server_, request.headers));
  add_revision(out.headers, request.headers);
  for (const auto& [name, value] : request.headers) {
    if (http::equals_ignoring_case(name, "Last-Event-ID")) out.headers.push_back({"Last-Event-ID", value});
  }
  return std::make_unique<HttpPlainHop>(plain_hops_, *pool_, std::move(out), listener, server_,
                                        plain_sidecar_);
}

}  // namespace lineward::upstream
