#include "upstream/http_era.h"

#include <algorithm>
#include <utility>

#include "base/json_member.h"
#include "base/log.h"
#include "mcp/errors.h"
#include "mcp/rewrite.h"

namespace lineward::upstream {
namespace {

using mcp::EndReason;
using mcp::Field;
using std::chrono::milliseconds;

constexpr milliseconds kLegacyVerdictLasts{24ll * 60 * 60 * 1000};

// An Implementation object: name and version are what people want to see.
std::string describe(std::string_view implementation) {
  std::string name = json::string_value(json::member(implementation, "name"));
  std::string version = json::string_value(json::member(implementation, "version"));
  return version.empty() ? name : name + " " + version;
}

// Whether a response says nothing about MCP, so that it decides nothing.
bool is_no_evidence(int status) {
  return status < 200 || status == 401 || status == 403 || status == 408 || status == 429 || status >= 500 ||
         (status >= 300 && status < 400);
}

}  // namespace

HttpEra::HttpEra(net::Loop& loop, const config::Server& server, HttpErrands& errands, HttpHealth& health,
                 std::string unreachable, HttpEraOwner& owner)
    : loop_(loop),
      server_(server),
      errands_(errands),
      health_(health),
      unreachable_(std::move(unreachable)),
      owner_(owner) {
  const bool sse = server.type == config::ServerType::sse;
  if (server.protocol_era == config::Era::automatic && !sse) return;
  verdict_.known = true;
  verdict_.era = server.protocol_era == config::Era::modern && !sse ? mcp::Era::modern : mcp::Era::legacy;
  if (verdict_.era == mcp::Era::modern) verdict_.versions = {std::string(mcp::kNewestModern)};
  expires_ = milliseconds::max();
}

std::optional<std::vector<std::string>> HttpEra::versions() const {
  if (!verdict_.known) return std::nullopt;
  if (verdict_.era == mcp::Era::modern) return verdict_.versions;
  // In front of a legacy server Lineward speaks the modern era itself, and passes the others.
  std::vector<std::string> all;
  for (const auto& revision : mcp::kRevisions)
    all.emplace_back(revision.name);
  return all;
}

void HttpEra::warm_up(std::function<void(const Verdict&)> ready) {
  on_ready_ = std::move(ready);
  if (!verdict_.known) return ask();
  loop_.defer(lifetime_, [this] {
    if (on_ready_) std::exchange(on_ready_, nullptr)(verdict_);
  });
}

// ---- asking ----

void HttpEra::ask() {
  if (asking_ || stopping_) return;
  asking_ = true;
  if (!unreachable_.empty()) {
    loop_.defer(lifetime_, [this] {
      Verdict verdict;
      verdict.failure = {EndReason::upstream_unreachable, "cannot be reached: " + unreachable_, {}};
      decide(std::move(verdict), {EndReason::upstream_unreachable, server_.name + " cannot be reached"});
    });
    return;
  }
  ErrandPlan plan;
  plan.id = owner_.next_id();
  plan.request.body = mcp::discover_request(plan.id);
  plan.request.headers = probe_headers();
  if (auto message = mcp::Message::parse(plan.request.body))
    add_modern_headers(plan.request.headers, *message, {});
  plan.limit = server_.timeouts.startup;
  plan.option = "timeouts.startup";
  plan.done = lifetime_.guard([this](std::optional<mcp::Message> answer, const MessagesEnd& end) {
    on_answer(std::move(answer), end);
  });
  errands_.run(std::move(plan));
}

// The request goes out as the first client that waits for it: a server may let nobody else in.
Headers HttpEra::probe_headers() {
  Headers headers = base_headers(server_, HttpVerb::post);
  asked_as_.clear();
  if (waiting_.empty()) return headers;
  Headers lasting = lasting_headers(forwarded_headers(server_, waiting_.front()->request.headers));
  asked_as_ = identity_of(lasting);
  add_all(headers, lasting);
  return headers;
}

// behaviour.md 8: a result or a −32022 that names a version we speak is modern; any other answer of a server
// that works and lets us in is legacy; what says nothing about MCP decides nothing.
void HttpEra::on_answer(std::optional<mcp::Message> answer, const MessagesEnd& end) {
  Verdict verdict;
  bool cut_off = end.kind == MessagesEnd::Kind::failed && end.fault.reason != EndReason::upstream_protocol;
  if (is_no_evidence(end.status) || (cut_off && !answer)) {
    verdict.failure = {end.fault.reason, end.fault.text, {}};
    return decide(std::move(verdict), owner_.failure_of(end));
  }
  verdict.known = true;
  if (answer) {
    bool result = answer->kind() == mcp::MessageKind::result;
    Field list = result ? Field::result_supported_versions : Field::error_data_supported;
    if ((result || mcp::error_code(*answer) == mcp::kUnsupportedVersion) && answer->has(list)) {
      verdict.versions = mcp::spoken_versions(answer->raw(list));
    }
    for (const auto& version : verdict.versions) {
      if (mcp::find_revision(version)->era == mcp::Era::modern) verdict.era = mcp::Era::modern;
    }
    if (answer->has(Field::result_meta_server_info))
      verdict.server = describe(answer->raw(Field::result_meta_server_info));
  }
  if (answer) verdict.tells = tells_of(*answer);
  if (verdict.era == mcp::Era::legacy) verdict.versions.clear();
  decide(std::move(verdict), {});
}

void HttpEra::decide(Verdict verdict, const core::Failure& failure) {
  asking_ = false;
  verdict_ = std::move(verdict);
  expires_ = verdict_.era == mcp::Era::legacy ? loop_.now() + kLegacyVerdictLasts : milliseconds::max();
  log::write(verdict_.known ? log::Level::info : log::Level::warn, "upstream.era",
             {{"upstream", server_.name},
              {"era", verdict_.known ? mcp::name(verdict_.era) : std::string_view("unknown")},
              {"server", verdict_.server},
              {"why", verdict_.failure.text}});
  if (verdict_.known) health_.is_back();
  // What is told from here on may come back: work on copies.
  Verdict told = verdict_;
  if (on_ready_) std::exchange(on_ready_, nullptr)(told);
  std::deque<HttpCall*> waited;
  waited.swap(waiting_);
  if (!told.known) return fail(std::move(waited), failure);
  for (HttpCall* call : waited)
    owner_.on_era_known(*call);
}

// A refusal says something to those alone who came with the same credentials; for the others the server is
// asked again.
void HttpEra::fail(std::deque<HttpCall*> waited, const core::Failure& failure) {
  bool personal =
      failure.server_status == 401 || failure.server_status == 403 || failure.server_status == 429;
  std::deque<HttpCall*> meant;
  for (HttpCall* call : waited) {
    bool same = identity_of(forwarded_headers(server_, call->request.headers)) == asked_as_;
    (personal && !same ? waiting_ : meant).push_back(call);
  }
  bool again = !waiting_.empty();
  for (HttpCall* call : meant)
    call->fail(failure);
  if (again && !waiting_.empty()) ask();
}

// ---- calls that wait ----

void HttpEra::wait(HttpCall& call) {
  waiting_.push_back(&call);
  loop_.defer(lifetime_, [this] {
    std::deque<HttpCall*> waiting = waiting_;
    for (HttpCall* one : waiting) {
      if (std::find(waiting_.begin(), waiting_.end(), one) != waiting_.end())
        one->phase(core::CallPhase::starting);
    }
    if (!waiting_.empty()) ask();
  });
}

std::deque<HttpCall*> HttpEra::stop() {
  stopping_ = true;
  return std::exchange(waiting_, {});
}

}  // namespace lineward::upstream
