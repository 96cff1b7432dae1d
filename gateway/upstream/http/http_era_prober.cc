#include "upstream/http/http_era_prober.h"

#include <utility>

#include "mcp/rewrite.h"

namespace lineward::upstream {
namespace {

using mcp::EndReason;

// Whether a response says nothing about MCP, so that it decides nothing.
bool is_no_evidence(int status) {
  return status < 200 || status == 401 || status == 403 || status == 408 || status == 429 || status >= 500 ||
         (status >= 300 && status < 400);
}

}  // namespace

HttpEraProber::HttpEraProber(net::Loop& loop, const config::Server& server, HttpSubRequests& sub_requests,
                             HttpHealth& health, std::string unreachable, HttpEraProberOwner& owner)
    : loop_(loop),
      server_(server),
      sub_requests_(sub_requests),
      health_(health),
      unreachable_(std::move(unreachable)),
      owner_(owner) {}

void HttpEraProber::ask(const core::CallRequest* first, Done done) {
  asking_ = true;
  done_ = std::move(done);
  if (!unreachable_.empty()) {
    loop_.defer(lifetime_, [this] {
      EraVerdict verdict;
      verdict.failure = {EndReason::upstream_unreachable, "cannot be reached: " + unreachable_, {}};
      decided(std::move(verdict), {EndReason::upstream_unreachable, server_.name + " cannot be reached"});
    });
    return;
  }
  SubRequestPlan plan;
  plan.id = owner_.next_id();
  plan.request.body = mcp::discover_request(plan.id);
  plan.request.headers = probe_headers(first);
  if (auto message = mcp::Message::parse(plan.request.body))
    add_modern_headers(plan.request.headers, *message, {});
  plan.limit = server_.timeouts.startup;
  plan.option = "timeouts.startup";
  plan.done = lifetime_.guard([this](std::optional<mcp::Message> answer, const MessagesEnd& end) {
    on_answer(std::move(answer), end);
  });
  sub_requests_.run(std::move(plan));
}

Headers HttpEraProber::probe_headers(const core::CallRequest* first) {
  Headers headers = base_headers(server_, HttpVerb::post);
  asked_as_.clear();
  if (first == nullptr) return headers;
  Headers lasting = lasting_headers(forwarded_headers(server_, first->headers));
  asked_as_ = identity_of(lasting);
  add_all(headers, lasting);
  return headers;
}

// behaviour.md 8: a result or a −32022 that names a version we speak is modern; any other answer of a server
// that works and lets us in is legacy; what says nothing about MCP decides nothing.
void HttpEraProber::on_answer(std::optional<mcp::Message> answer, const MessagesEnd& end) {
  EraVerdict verdict;
  bool cut_off = end.kind == MessagesEnd::Kind::failed && end.fault.reason != EndReason::upstream_protocol;
  if (is_no_evidence(end.status) || (cut_off && !answer)) {
    verdict.failure = {end.fault.reason, end.fault.text, {}};
    return decided(std::move(verdict), owner_.failure_of(end));
  }
  if (answer) {
    verdict = verdict_of_discover(*answer);
  } else {
    verdict.known = true;
  }
  decided(std::move(verdict), {});
}

void HttpEraProber::decided(EraVerdict verdict, const core::Failure& failure) {
  asking_ = false;
  if (verdict.known) health_.is_back();
  if (auto done = std::exchange(done_, nullptr)) done(std::move(verdict), failure);
}

bool HttpEraProber::concerns(const core::CallRequest& request, const core::Failure& failure) const {
  const int status = failure.server_status;
  const bool personal = status == 401 || status == 403 || status == 429;
  return !personal || identity_of(forwarded_headers(server_, request.headers)) == asked_as_;
}

}  // namespace lineward::upstream
