#include "proxy/upstream/http/session_requests.h"

#include <fmt/format.h>

#include <utility>

#include "foundation/json/json_scan.h"
#include "foundation/log/log.h"
#include "protocol/mcp/rewrite.h"
#include "proxy/upstream/http/server_stream.h"
#include "proxy/upstream/http/session_credentials.h"
#include "proxy/upstream/shared/own_id.h"
#include "proxy/upstream/shared/own_limits.h"

namespace lineward::upstream {
namespace {

using mcp::EndReason;
using mcp::Field;
using std::chrono::milliseconds;

constexpr milliseconds kPostLimit{10000};

}  // namespace

SessionRequests::SessionRequests(net::Loop& loop, HttpSubRequests& sub_requests, const config::Server& server,
                                 SessionRequestsCallbacks& owner)
    : loop_(loop),
      sub_requests_(sub_requests),
      server_(server),
      owner_(owner),
      session_(sub_requests.next_session()) {}

void SessionRequests::stop() {
  lifetime_.renew();
  forget();
}

void SessionRequests::post(HttpRequest request, bool its_own, std::function<void()> drained) {
  SubRequestPlan plan;
  plan.request = std::move(request);
  plan.opened = takes_cookies();
  plan.limit = kPostLimit;
  plan.session = session_;
  plan.drained = std::move(drained);
  plan.done = lifetime_.guard([this, its_own](std::optional<mcp::Message>, const MessagesEnd& end) {
    if (its_own) owner_.check_lost(end);
  });
  sub_requests_.run(std::move(plan));
}

SessionRequests::Opened SessionRequests::takes_cookies() {
  return lifetime_.guard([this](const http::ResponseInfo& info) { owner_.credentials().take_cookies(info); });
}

void SessionRequests::goodbye(HttpRequest request, milliseconds limit) {
  SubRequestPlan plan;
  plan.request = std::move(request);
  plan.limit = limit;
  plan.session = session_;
  plan.is_last = true;
  sub_requests_.run(std::move(plan));
}

void SessionRequests::post(std::string message, milliseconds limit, Posted posted) {
  SubRequestPlan plan;
  plan.request = owner_.request(std::move(message));
  plan.opened = takes_cookies();
  plan.limit = limit;
  plan.session = session_;
  plan.done = lifetime_.guard(
      [posted = std::move(posted)](std::optional<mcp::Message>, const MessagesEnd& end) { posted(end); });
  sub_requests_.run(std::move(plan));
}

void SessionRequests::initialize(std::string_view params, Opened opened, Answered answered) {
  const int64_t id = owner_.next_id();
  std::string body = mcp::initialize_request(id, params);
  const milliseconds limit = server_.timeouts.startup;
  if (owner_.over_sse()) return ask_over_sse(id, std::move(body), limit, std::move(answered), nullptr);
  SubRequestPlan plan = plan_of(id, std::move(body), limit, std::move(answered));
  plan.option = "timeouts.startup";
  plan.opened = lifetime_.guard([this, opened = std::move(opened)](const http::ResponseInfo& info) {
    owner_.credentials().take_cookies(info);
    opened(info);
  });
  sub_requests_.run(std::move(plan));
}

void SessionRequests::ask(std::string_view method, std::string_view params, Answered answered) {
  const int64_t id = owner_.next_id();
  std::string body =
      fmt::format(R"({{"jsonrpc":"2.0","id":{},"method":{},"params":{}}})", id, json::quote(method), params);
  auto late = lifetime_.guard([this, id] {
    if (!owner_.is_ready()) return;
    log::write(log::Level::info, "upstream.own_request_late",
               {{"upstream", server_.name}, {"upstream_id", id}});
    if (server_.cancel == config::CancelMode::never) return;
    post(owner_.request(mcp::cancel_notification(id, "it took too long", mcp::Era::legacy)), true, nullptr);
  });
  const milliseconds limit = own_limit(server_, method);
  if (owner_.over_sse())
    return ask_over_sse(id, std::move(body), limit, std::move(answered), std::move(late));
  SubRequestPlan plan = plan_of(id, std::move(body), limit, std::move(answered));
  plan.option = "timeouts.request";
  plan.session = session_;
  plan.answered_elsewhere = stream_ != nullptr && stream_->is_offered();
  plan.late = std::move(late);
  sub_requests_.run(std::move(plan));
}

SubRequestPlan SessionRequests::plan_of(int64_t id, std::string body, milliseconds limit, Answered answered) {
  SubRequestPlan plan;
  plan.id = id;
  plan.request = owner_.request(std::move(body));
  plan.opened = takes_cookies();
  plan.limit = limit;
  plan.other = lifetime_.guard([this](mcp::Message message) {
    if (owner_.is_ready()) owner_.hear(std::move(message), nullptr);
  });
  plan.done = lifetime_.guard(std::move(answered));
  return plan;
}

// ---- HTTP+SSE ----

void SessionRequests::ask_over_sse(int64_t id, std::string body, milliseconds limit, Answered answered,
                                   std::function<void()> tell_late) {
  Asked& asked = asked_[id];
  asked.answered = std::move(answered);
  asked.limit = std::make_unique<net::Timer>(loop_);
  asked.limit->start(limit, [this, id, limit, tell = std::move(tell_late)] {
    if (tell) tell();
    MessagesEnd late;
    late.kind = MessagesEnd::Kind::failed;
    late.fault = {EndReason::timeout_startup, fmt::format("did not answer within {} ms", limit.count())};
    end(id, std::nullopt, late);
  });
  post(std::move(body), limit, [this, id](const MessagesEnd& posted) {
    if (posted.kind != MessagesEnd::Kind::complete) end(id, std::nullopt, posted);
  });
}

void SessionRequests::end(int64_t id, std::optional<mcp::Message> answer, const MessagesEnd& how) {
  auto found = asked_.find(id);
  if (found == asked_.end()) return;
  Answered answered = std::move(found->second.answered);
  loop_.retire(std::move(found->second.limit));
  asked_.erase(found);
  answered(std::move(answer), how);
}

void SessionRequests::broken_answer(const mcp::MessageFault& fault) {
  if (asked_.empty()) return;
  const mcp::RecoveredIds found = mcp::recover_ids(fault.bytes);
  MessagesEnd broken;
  broken.kind = MessagesEnd::Kind::failed;
  broken.fault = {EndReason::upstream_protocol, "sent a broken answer: " + fault.text};
  const auto watch = lifetime_.watch();
  for (const std::string& raw : found.raw_ids) {
    if (auto id = own_id(raw); found.is_answer && id && !watch.gone()) end(*id, std::nullopt, broken);
  }
}

bool SessionRequests::take_answer(mcp::Message& message) {
  if (!owner_.over_sse()) return sub_requests_.take_answer(session_, message);
  if (asked_.empty() || !message.has(Field::id)) return false;
  auto id = own_id(message.raw(Field::id));
  if (!id || asked_.count(*id) == 0) return false;
  MessagesEnd complete;
  complete.status = 200;
  complete.is_stream = true;
  end(*id, std::move(message), complete);
  return true;
}

}  // namespace lineward::upstream
