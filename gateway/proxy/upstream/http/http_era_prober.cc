#include "proxy/upstream/http/http_era_prober.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "protocol/mcp/rewrite.h"
#include "proxy/upstream/http/handshake_revision.h"
#include "proxy/upstream/http/http_health.h"

namespace lineward::upstream {
namespace {

using mcp::EndReason;
using std::chrono::milliseconds;

// As for a stdio server: if the probe is not answered by then, `initialize` is sent too.
constexpr milliseconds kProbePatience{2000};
constexpr milliseconds kLeastTrial{1000};
constexpr milliseconds kProbeGoodbye{2000};

// Whether a response says nothing about MCP, and so decides nothing.
bool is_no_evidence(int status) {
  return status < 200 || status == 401 || status == 403 || status == 408 || status == 429 || status >= 500 ||
         (status >= 300 && status < 400);
}

}  // namespace

HttpEraProber::HttpEraProber(const HttpParts& parts, std::string unreachable)
    : parts_(parts),
      loop_(parts.loop),
      server_(parts.server),
      sub_requests_(parts.sub_requests),
      unreachable_(std::move(unreachable)),
      patience_(parts.loop) {}

void HttpEraProber::ask(const core::UpstreamRequest* first, Done done) {
  asking_ = true;
  tried_ = trying_ = false;
  silent_.reset();
  session_.clear();
  done_ = std::move(done);
  if (!unreachable_.empty()) {
    loop_.defer(lifetime_, [this] {
      EraVerdict verdict;
      verdict.failure = {EndReason::upstream_unreachable, "cannot be reached: " + unreachable_, {}};
      decided(std::move(verdict), {EndReason::upstream_unreachable, server_.name + " cannot be reached"});
    });
    return;
  }
  headers_ = probe_headers(first);
  until_ = loop_.now() + server_.timeouts.startup;
  const int64_t id = parts_.ids.next();
  SubRequestPlan plan = plan_of(mcp::discover_request(id));
  plan.id = id;
  if (auto message = mcp::Message::parse(plan.request.body))
    add_modern_headers(plan.request.headers, *message, {});
  ++round_;
  plan.went = probed_ = std::make_shared<OriginUse>();
  plan.opened = lifetime_.guard([this, round = round_](const http::ResponseInfo& info) {
    if (round == round_) session_ = std::string(info.headers.get("Mcp-Session-Id"));
  });
  plan.done =
      lifetime_.guard([this, round = round_](std::optional<mcp::Message> answer, const MessagesEnd& end) {
        if (round == round_) on_answer(std::move(answer), end);
      });
  sub_requests_.run(std::move(plan));
  if (kProbePatience < server_.timeouts.startup)
    patience_.start(kProbePatience, [this] { try_initialize(mcp::bare_initialize_params()); });
}

SubRequestPlan HttpEraProber::plan_of(std::string body) {
  SubRequestPlan plan;
  plan.request.body = std::move(body);
  plan.request.headers = headers_;
  plan.limit = std::max(until_ - loop_.now(), kLeastTrial);
  plan.option = "timeouts.startup";
  return plan;
}

Headers HttpEraProber::probe_headers(const core::UpstreamRequest* first) {
  Headers headers = base_headers(server_, HttpVerb::post);
  asked_as_.clear();
  asked_with_.clear();
  if (first == nullptr) return headers;
  asked_with_ = lasting_headers(forwarded_headers(server_, first->headers));
  const Headers& lasting = asked_with_;
  asked_as_ = identity_of(lasting);
  add_all(headers, lasting);
  return headers;
}

// behaviour.md 8: a result, or a −32022, with a version that Lineward speaks means modern. Any other answer
// of a working server that accepts the credentials means legacy. A response that says nothing about MCP
// decides nothing.
void HttpEraProber::on_answer(std::optional<mcp::Message> answer, const MessagesEnd& end) {
  EraVerdict verdict;
  bool cut_off = end.kind == MessagesEnd::Kind::failed && end.fault.reason != EndReason::upstream_protocol;
  if (is_no_evidence(end.status) || (cut_off && !answer)) {
    const bool of_client = end.status == 401 || end.status == 403 || end.status == 429;
    silent_ = end;
    if (of_client || end.fault.nothing_sent) return no_evidence(end);
    if (!tried_) return try_initialize(mcp::bare_initialize_params());
    return trying_ ? void() : no_evidence(end);
  }
  if (answer) {
    verdict = verdict_of_discover(*answer);
  } else {
    verdict.known = true;
  }
  decided(std::move(verdict), {});
}

void HttpEraProber::no_evidence(const MessagesEnd& end) {
  EraVerdict verdict;
  verdict.failure = {end.fault.reason, end.fault.text, {}};
  decided(std::move(verdict), parts_.failures.of(end));
}

void HttpEraProber::try_initialize(std::string params) {
  patience_.stop();
  tried_ = trying_ = true;
  const int64_t id = parts_.ids.next();
  SubRequestPlan plan = plan_of(mcp::initialize_request(id, params));
  plan.id = id;
  auto session = std::make_shared<std::string>();
  auto at = std::make_shared<OriginUse>();
  plan.went = at;
  plan.opened = [session](const http::ResponseInfo& info) {
    *session = std::string(info.headers.get("Mcp-Session-Id"));
  };
  plan.done = lifetime_.guard([this, round = round_, params = std::move(params), session, at](
                                  std::optional<mcp::Message> answer, const MessagesEnd& end) {
    end_session(*session, *at);  // it was opened for this request alone
    if (round == round_) on_initialize_answer(params, answer, end);
  });
  sub_requests_.run(std::move(plan));
}

void HttpEraProber::on_initialize_answer(const std::string& params, const std::optional<mcp::Message>& answer,
                                         const MessagesEnd& end) {
  trying_ = false;
  EraVerdict verdict;
  verdict.known = answer && answer->kind() == mcp::MessageKind::result;
  if (verdict.known) return decided(std::move(verdict), {});
  const bool is_first = params == mcp::bare_initialize_params();
  const std::string revision =
      is_first ? other_revision(params, answer ? &*answer : nullptr, end) : std::string();
  if (!revision.empty()) return try_initialize(with_handshake_revision(params, revision));
  if (silent_) no_evidence(*silent_);
}

// Ends a session; the reply is ignored.
void HttpEraProber::end_session(std::string id, const OriginUse& at) {
  if (id.empty()) return;
  SubRequestPlan plan;
  plan.request = {"DELETE", base_headers(server_, HttpVerb::remove), {}};
  add_all(plan.request.headers, lasting_headers(asked_with_));
  add_session_headers(plan.request.headers, id, {});
  plan.limit = kProbeGoodbye;
  if (at.get() != nullptr) plan.origin.take(*at.get(), OriginUse::As::other);
  sub_requests_.run(std::move(plan));
}

void HttpEraProber::decided(EraVerdict verdict, const core::Failure& failure) {
  asking_ = false;
  patience_.stop();
  ++round_;  // a pending second request decides nothing any more
  const bool is_modern = verdict.known && verdict.era == mcp::Era::modern;
  const auto at = std::exchange(probed_, nullptr);  // it may leave now
  if (std::string id = std::exchange(session_, {}); !is_modern && at) end_session(std::move(id), *at);
  if (verdict.known) parts_.health.is_back();
  if (auto done = std::exchange(done_, nullptr)) done(std::move(verdict), failure);
}

bool HttpEraProber::concerns(const core::UpstreamRequest& request, const core::Failure& failure) const {
  const int status = failure.server_status;
  const bool personal = status == 401 || status == 403 || status == 429;
  return !personal || identity_of(forwarded_headers(server_, request.headers)) == asked_as_;
}

}  // namespace lineward::upstream
