#include "proxy/upstream/http/http_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "foundation/base/backoff.h"
#include "foundation/json/json_scan.h"
#include "foundation/log/log.h"
#include "foundation/log/sanitize.h"
#include "protocol/http/char_class.h"
#include "protocol/mcp/errors.h"
#include "protocol/mcp/methods.h"
#include "protocol/mcp/rewrite.h"
#include "proxy/upstream/http/handshake_revision.h"
#include "proxy/upstream/http/http_call_table.h"
#include "proxy/upstream/http/http_health.h"
#include "proxy/upstream/http/session_groups.h"
#include "proxy/upstream/shared/own_id.h"
#include "proxy/upstream/shared/own_limits.h"
#include "proxy/upstream/shared/server_era.h"
#include "proxy/upstream/shared/shown_group.h"

namespace lineward::upstream {
namespace {

using mcp::EndReason;
using mcp::Field;
using mcp::Method;
using std::chrono::milliseconds;

// Limit for the answer to notifications/initialized; after it calls are sent anyway.
constexpr milliseconds kInitializedPatience{2000};
constexpr milliseconds kGoodbye{2000};
constexpr milliseconds kPostLimit{10000};
// Limit for each answer that calls wait for; after it they are sent anyway.
constexpr milliseconds kAnswerPatience{1000};
// Limit for the ping that checks the session; calls wait for it.
constexpr milliseconds kPingPatience{5000};
constexpr Backoff::Range kPingPauses{milliseconds(1000), milliseconds(10000)};
// Stands in for an answer that did not arrive.
constexpr std::string_view kNoAnswer =
    R"({"jsonrpc":"2.0","id":0,"error":{"code":-32603,"message":"no answer"}})";

// The statuses for `initialize` after which HTTP+SSE is tried (2025-11-25 transports, "Backwards
// Compatibility").
bool knows_no_post(int status) {
  return status == 400 || status == 404 || status == 405;
}

// 2025-11-25: visible ASCII only.
bool is_session_id(std::string_view id) {
  return !id.empty() && id.size() <= 1024 && std::all_of(id.begin(), id.end(), http::is_visible);
}

bool is_response(const mcp::Message& message) {
  return message.kind() == mcp::MessageKind::result || message.kind() == mcp::MessageKind::error;
}

char lower_letter(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

HttpSession::Verdict verdict_of_ping(const std::optional<mcp::Message>& answer, const MessagesEnd& end) {
  using Verdict = HttpSession::Verdict;
  const bool refused = end.status >= 400;
  if (answer && answer->kind() == mcp::MessageKind::error &&
      HttpSession::names_session(answer->text(Field::error_message)))
    return Verdict::lost;
  if (end.no_such_method || (answer && !refused)) return Verdict::knows;
  if (end.status == 404 || end.status == 410) return Verdict::lost;
  if (end.kind != MessagesEnd::Kind::refused) return Verdict::unsure;
  // A load balancer without a working server says nothing about sessions.
  const bool of_balancer = end.status >= 502 && end.status <= 504;
  return HttpSession::is_sign_of_loss(end.status) && !of_balancer ? Verdict::refuses : Verdict::unsure;
}

}  // namespace

HttpSession::HttpSession(const HttpParts& parts, std::string group, Transport transport, Origin& origin)
    : parts_(parts),
      loop_(parts.loop),
      server_(parts.server),
      group_(std::move(group)),
      origin_(origin, OriginUse::As::session),
      number_(parts.sub_requests.next_session()),
      credentials_(parts.server, origin.url()),
      transport_(transport),
      stream_(origin.pool(), parts.server, *this) {}

// ---- the handshake ----

void HttpSession::initialize(std::string_view params, IfRefused if_refused) {
  own_params_ = std::string(params);
  if_refused_ = if_refused;
  if (over_sse() && stream_.endpoint().empty()) return connect();  // continues when the endpoint is known
  opening(credentials_.forwarded());
  const int64_t id = parts_.ids.next();
  std::string body = mcp::initialize_request(id, own_params_);
  const milliseconds limit = server_.timeouts.startup;
  Answered answered = [this](std::optional<mcp::Message> answer, const MessagesEnd& end) {
    if (state_ == State::opening) handshake_answer(std::move(answer), end);
  };
  if (over_sse()) return ask_over_sse(id, std::move(body), limit, std::move(answered), nullptr);
  SubRequestPlan plan = plan_of_request(id, std::move(body), limit, std::move(answered));
  plan.option = "timeouts.startup";
  plan.session = 0;
  plan.opened = lifetime_.guard([this](const http::ResponseInfo& info) {
    credentials_.take_cookies(info);
    if (state_ == State::opening) opened(info);
  });
  parts_.sub_requests.run(std::move(plan));
}

void HttpSession::opening(const Headers& forwarded) {
  state_ = State::opening;
  credentials_.opened_with(forwarded);
}

void HttpSession::opened(const http::ResponseInfo& info) {
  std::string_view id = info.headers.get("Mcp-Session-Id");
  if (info.status == 200 && is_session_id(id)) credentials_.set_id(std::string(id));
}

void HttpSession::handshake_answer(std::optional<mcp::Message> answer, const MessagesEnd& end) {
  if (answer && mcp::is_initialize_result(*answer)) {
    initialized(*answer);
    if (!other_revision_.empty()) {  // refused first, and then accepted with this one
      parts_.era.note_handshake_revision(other_revision_);
      log::write(log::Level::info, "upstream.revision",
                 {{"upstream", server_.name}, {"revision", other_revision_}});
    }
    send_initialized(std::string(mcp::kInitialized));
    return parts_.groups.on_session_ready(*this);
  }
  if (end.fault.nothing_sent && parts_.groups.open_elsewhere(*this)) return;
  if (!credentials_.id().empty()) {  // of a session that was refused
    send_delete();
    credentials_.set_id({});
  }
  if (other_revision_.empty()) {
    other_revision_ = other_revision(own_params_, answer ? &*answer : nullptr, end);
    own_params_ = with_handshake_revision(own_params_, other_revision_);
    if (!other_revision_.empty()) return initialize(own_params_, if_refused_);
  }
  state_ = State::fresh;
  core::Failure failure = refusal_of(answer, end);
  if (!over_sse() && if_refused_ == IfRefused::try_http_sse && knows_no_post(end.status)) {
    was_refused_ = std::move(failure);
    return connect();
  }
  parts_.groups.on_session_failed(*this, failure);
}

// Why Lineward's own handshake failed.
core::Failure HttpSession::refusal_of(const std::optional<mcp::Message>& answer,
                                      const MessagesEnd& end) const {
  core::Failure failure{EndReason::upstream_protocol, server_.name + " "};
  if (end.kind != MessagesEnd::Kind::complete &&
      (!answer || end.status == 401 || end.status == 403 || end.status == 429)) {
    failure = parts_.failures.of(end);
  } else if (const auto reason = answer ? mcp::gateway_reason(*answer) : std::nullopt) {
    // Another Lineward: its error says why its server is unavailable.
    failure.reason = *reason;
    failure.text = sanitize(answer->text(Field::error_message), 300);
  } else if (answer && answer->kind() == mcp::MessageKind::result) {
    failure.text += "answered initialize without a protocolVersion";
  } else if (answer) {
    failure.text += "refused initialize: " + sanitize(answer->text(Field::error_message), 300);
  } else {
    failure.text += "did not answer initialize";
  }
  return failure;
}

void HttpSession::initialized(const mcp::Message& answer) {
  state_ = State::ready;
  own_params_ = {};  // the group keeps them for the next session
  initialize_result_.keep(std::string(answer.raw(Field::result)));
  legacy_server_ = mcp::read_initialize_result(initialize_result_.text());
  legacy_server_bytes_.set(mcp::bytes_of(legacy_server_));
  if (mcp::find_revision(legacy_server_.revision) == nullptr) legacy_server_.revision.clear();
}

void HttpSession::send_initialized(std::string message) {
  if (std::exchange(initialized_sent_, true)) return;
  settling_ = true;
  SubRequestPlan plan = plan_of(request(std::move(message)), kInitializedPatience);
  plan.done = lifetime_.guard([this](std::optional<mcp::Message>, const MessagesEnd& end) {
    if (settled_told_) loop_.defer(std::exchange(settled_told_, nullptr));
    if (state_ != State::ready) return;
    // A server that refuses a notification may not know its method, or the session.
    const bool doubtful = end.kind == MessagesEnd::Kind::refused && !end.no_such_method &&
                          is_sign_of_loss(end.status) && has_id() && !over_sse();
    if (!doubtful || !doubt()) settled();
  });
  parts_.sub_requests.run(std::move(plan));
}

void HttpSession::settled() {
  settling_ = false;
  if (!over_sse()) stream_.start();
  parts_.groups.on_session_free(*this);
}

void HttpSession::when_settled(std::function<void()> done) {
  if (!settling_) return loop_.defer(std::move(done));
  settled_told_ = std::move(done);
}

void HttpSession::adopt(std::string id, std::string revision) {
  stream_.share();
  if (id.empty()) credentials_.keep_no_cookies();
  credentials_.set_id(std::move(id));
  legacy_server_.revision = std::move(revision);
  state_ = State::ready;
}

// ---- the event stream ----

void HttpSession::connect() {
  transport_ = Transport::http_sse;
  state_ = State::connecting;
  stream_.connect_sse();
}

void HttpSession::on_stream_news(StreamNews news) {
  switch (news) {
    case StreamNews::settled:
      if (std::exchange(settles_first_, false)) acquire_turn();
      return parts_.groups.on_session_free(*this);
    case StreamNews::missed: return parts_.groups.on_session_missed(*this);
    case StreamNews::sse_connected:
      was_refused_.reset();
      state_ = State::fresh;
      parts_.groups.on_sse_found();
      return own_params_.empty() ? parts_.groups.on_session_free(*this)
                                 : initialize(own_params_, if_refused_);
    case StreamNews::sse_ended:
      if (state_ != State::opening || own_params_.empty()) return lost();
      asked_.clear();
      return parts_.groups.on_session_failed(
          *this, {EndReason::upstream_exited, server_.name + " closed its event stream during initialize"});
  }
}

void HttpSession::on_sse_failed(const MessagesEnd& end) {
  if (end.fault.nothing_sent && parts_.groups.open_elsewhere(*this)) return;
  state_ = State::fresh;
  if (end.status == 401 || end.status == 403)
    return parts_.groups.on_session_failed(*this, parts_.failures.of(end));
  const core::Failure& fault = end.fault;
  core::Failure failure{fault.reason, fmt::format("{} {}", server_.name, fault.text), fault.limit_ms};
  // The refusal over Streamable HTTP is more specific than the failure of the fallback.
  const bool refused_us = fault.reason == EndReason::unauthorized || fault.reason == EndReason::forbidden;
  if (was_refused_ && !refused_us) failure = *was_refused_;
  parts_.groups.on_session_failed(*this, failure);
}

// ---- waits of calls ----

bool HttpSession::takes(const HttpCall& call) const {
  if (state_ != State::ready || settling_) return false;
  const core::UpstreamRequest& request = call.request;
  // Its first log messages would be lost.
  const bool wants_lines = request.message.has(Field::meta_log_level) || !request.log_wish.level.empty();
  if (level_pending_ && wants_lines) return false;
  if (pinged_ && mcp::may_ask(request.method)) return false;
  // Messages of the server are lost before there is a stream for them; SDK servers lose requests too.
  return !stream_.is_pending() || (!call.is_listen() && !mcp::may_ask(request.method));
}

// Calls with this level wait for it for kAnswerPatience; the request itself has longer.
void HttpSession::want_level(const core::UpstreamRequest& request) {
  const std::string params = level_.lower_for(request, legacy_server_);
  if (params.empty()) return;
  level_pending_ = true;
  level_timer_.start(kAnswerPatience, [this] { level_set(); });
  ask("logging/setLevel", params,
      [this, level = level_.value()](std::optional<mcp::Message>, const MessagesEnd& end) {
        if (check_lost(end) || level != level_.value()) return;  // a lower one is being set
        level_timer_.stop();
        level_set();
      });
}

void HttpSession::level_set() {
  if (std::exchange(level_pending_, false)) parts_.groups.on_session_free(*this);
}

// Calls that allow server requests wait until the ping and the subscriptions sent meanwhile are answered, or
// kAnswerPatience has passed.
void HttpSession::acquire_turn() {
  if (!is_ready() || pinged_ || !answers_pings_) return;
  pinged_ = true;
  awaited_ = 1;
  answers_pings_ = false;  // until it has answered this one
  ++turn_;
  turn_timer_.start(kAnswerPatience, [this] { turn_settled(); });
  ask("ping", "{}", [this, turn = turn_](std::optional<mcp::Message> answer, const MessagesEnd& end) {
    if (check_lost(end)) return;
    answers_pings_ = pinged_ && answer.has_value();
    leave_turn(turn);
  });
}

// Changes made by a call are not notified before the subscription is answered.
uint32_t HttpSession::join_turn(std::string_view method) {
  if (!pinged_ || mcp::method_of(method) != Method::resources_subscribe) return 0;
  ++awaited_;
  return turn_;
}

void HttpSession::leave_turn(uint32_t turn) {
  if (turn != 0 && pinged_ && turn == turn_ && --awaited_ == 0) turn_settled();
}

void HttpSession::turn_settled() {
  turn_timer_.stop();
  pinged_ = false;
  parts_.groups.on_session_free(*this);
}

// ---- outgoing messages ----

Headers HttpSession::headers(HttpVerb verb) const {
  return credentials_.headers(verb, credentials_.forwarded(), legacy_server_.revision);
}

HttpRequest HttpSession::request(std::string body, const Headers* as) const {
  const Headers& forwarded = as != nullptr ? *as : credentials_.forwarded();
  HttpRequest request{"POST", credentials_.headers(HttpVerb::post, forwarded, legacy_server_.revision),
                      std::move(body)};
  request.target = stream_.endpoint();
  request.receipt_only = over_sse();
  return request;
}

// A refusal concerns the session only if the message has the session's credentials.
void HttpSession::post(std::string message, const Headers* as, std::function<void()> drained, Origin* at) {
  SubRequestPlan plan = plan_of(request(std::move(message), as), kPostLimit);
  if (at != nullptr && !has_id()) plan.origin.take(*at, OriginUse::As::other);
  plan.drained = std::move(drained);
  const bool its_own = as == nullptr || credentials_.are_of(*as);
  plan.done = lifetime_.guard([this, its_own](std::optional<mcp::Message>, const MessagesEnd& end) {
    if (its_own) check_lost(end);
  });
  parts_.sub_requests.run(std::move(plan));
}

void HttpSession::send_delete() {
  SubRequestPlan plan;
  plan.request = {"DELETE", headers(HttpVerb::remove), {}};
  plan.limit = kGoodbye;
  plan.origin.take(origin(), OriginUse::As::other);
  plan.session = number_;
  plan.is_last = true;
  parts_.sub_requests.run(std::move(plan));
}

void HttpSession::send_own(std::string_view method, std::string_view params, OwnAnswer answered) {
  ask(method, params,
      [this, turn = join_turn(method), answered = std::move(answered)](std::optional<mcp::Message> answer,
                                                                       const MessagesEnd& end) {
        if (check_lost(end)) return;
        leave_turn(turn);
        if (!answered) return;
        if (!answer) answer = mcp::Message::parse(std::string(kNoAnswer)).value();
        answered(*answer);
      });
}

void HttpSession::ask(std::string_view method, std::string_view params, Answered answered) {
  const int64_t id = parts_.ids.next();
  std::string body =
      fmt::format(R"({{"jsonrpc":"2.0","id":{},"method":{},"params":{}}})", id, json::quote(method), params);
  auto late = lifetime_.guard([this, id] { cancel_late(id); });
  const milliseconds limit = own_limit(server_, method);
  if (over_sse()) return ask_over_sse(id, std::move(body), limit, std::move(answered), std::move(late));
  SubRequestPlan plan = plan_of_request(id, std::move(body), limit, std::move(answered));
  plan.option = "timeouts.request";
  plan.answered_elsewhere = stream_.is_offered();
  plan.late = std::move(late);
  parts_.sub_requests.run(std::move(plan));
}

void HttpSession::cancel_late(int64_t id) {
  if (!is_ready()) return;
  log::write(log::Level::info, "upstream.own_request_late",
             {{"upstream", server_.name}, {"upstream_id", id}});
  if (server_.cancel == config::CancelMode::never) return;
  post(mcp::cancel_notification(id, "it took too long", mcp::Era::legacy));
}

SubRequestPlan HttpSession::plan_of(HttpRequest request, milliseconds limit) {
  SubRequestPlan plan;
  plan.request = std::move(request);
  plan.opened = lifetime_.guard([this](const http::ResponseInfo& info) { credentials_.take_cookies(info); });
  plan.limit = limit;
  plan.origin.take(origin(), OriginUse::As::other);
  plan.session = number_;
  return plan;
}

SubRequestPlan HttpSession::plan_of_request(int64_t id, std::string body, milliseconds limit,
                                            Answered answered) {
  SubRequestPlan plan = plan_of(request(std::move(body)), limit);
  plan.id = id;
  plan.other = lifetime_.guard([this](mcp::Message message) {
    if (is_ready()) hear(std::move(message), nullptr);
  });
  plan.done = lifetime_.guard(std::move(answered));
  return plan;
}

void HttpSession::ask_over_sse(int64_t id, std::string body, milliseconds limit, Answered answered,
                               std::function<void()> tell_late) {
  Asked& asked = asked_[id];
  asked.answered = std::move(answered);
  asked.limit = std::make_unique<net::Timer>(loop_);
  asked.limit->start(limit, [this, id, limit, tell = std::move(tell_late)] {
    if (tell) tell();
    core::Failure late{EndReason::timeout_startup, fmt::format("did not answer within {} ms", limit.count())};
    end_asked(id, std::nullopt, {.kind = MessagesEnd::Kind::failed, .fault = std::move(late)});
  });
  SubRequestPlan plan = plan_of(request(std::move(body)), limit);
  plan.done = lifetime_.guard([this, id](std::optional<mcp::Message>, const MessagesEnd& posted) {
    if (posted.kind != MessagesEnd::Kind::complete) end_asked(id, std::nullopt, posted);
  });
  parts_.sub_requests.run(std::move(plan));
}

void HttpSession::end_asked(int64_t id, std::optional<mcp::Message> answer, const MessagesEnd& how) {
  auto found = asked_.find(id);
  if (found == asked_.end()) return;
  Answered answered = std::move(found->second.answered);
  loop_.retire(std::move(found->second.limit));
  asked_.erase(found);
  answered(std::move(answer), how);
}

// ---- messages of the server ----

void HttpSession::hear(mcp::Message message, HttpCall* call) {
  note_answered();
  if (is_response(message) && take_answer(message)) return;
  if (is_response(message) || mcp::method_of(message.method()) == Method::progress)
    return parts_.calls.stray(*this, std::move(message));
  if (message.kind() == mcp::MessageKind::request && message.method() == "ping")
    return post(fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{{}}}})", message.raw(Field::id)));
  parts_.groups.on_session_message(*this, std::move(message), call);
}

bool HttpSession::take_answer(mcp::Message& message) {
  if (!over_sse()) return parts_.sub_requests.take_answer(number_, message);
  if (asked_.empty() || !message.has(Field::id)) return false;
  auto id = own_id(message.raw(Field::id));
  if (!id || asked_.count(*id) == 0) return false;
  end_asked(*id, std::move(message), {.status = 200, .is_stream = true});
  return true;
}

void HttpSession::refuse_malformed(const mcp::MessageFault& fault) {
  if (fault.names_method()) return post(mcp::error_message(fault.raw_id, mcp::kInvalidRequest, fault.text));
  take_broken_answer(fault);
  parts_.calls.broken(*this, fault);
}

// Ends the own request that it was meant to answer.
void HttpSession::take_broken_answer(const mcp::MessageFault& fault) {
  if (asked_.empty()) return;
  const mcp::RecoveredIds found = mcp::recover_ids(fault.bytes);
  const MessagesEnd broken{.kind = MessagesEnd::Kind::failed,
                           .fault = {EndReason::upstream_protocol, "sent a broken answer: " + fault.text}};
  const auto watch = lifetime_.watch();
  for (const std::string& raw : found.raw_ids) {
    if (auto id = own_id(raw); found.is_answer && id && !watch.gone()) end_asked(*id, std::nullopt, broken);
  }
}

// ---- whether the server still knows it ----

bool HttpSession::is_sign_of_loss(int status) {
  return status == 400 || status == 401 || status == 403 || status == 404 || status == 410 || status >= 500;
}

bool HttpSession::names_session(std::string_view words) {
  constexpr std::string_view kSession = "session";
  return std::search(words.begin(), words.end(), kSession.begin(), kSession.end(),
                     [](char a, char b) { return lower_letter(a) == b; }) != words.end();
}

bool HttpSession::check_lost(const MessagesEnd& end) {
  if (!has_id() || end.no_such_method) return false;
  if (end.status == 404) {
    lost();
    return true;
  }
  const bool refused = end.kind == MessagesEnd::Kind::refused && is_sign_of_loss(end.status);
  if (refused && is_ready() && !over_sse()) doubt();
  return false;
}

bool HttpSession::doubt() {
  if (checking_) return true;
  if (loop_.now() < next_check_) return false;
  checking_ = true;
  check_timer_.start(kPingPatience, [this] { checked(Verdict::unsure); });
  ask("ping", "{}", [this](std::optional<mcp::Message> answer, const MessagesEnd& end) {
    const Verdict verdict = verdict_of_ping(answer, end);
    if (checking_ || verdict == Verdict::lost) checked(verdict);
  });
  return true;
}

void HttpSession::note_answered() {
  was_of_use_ = true;
  check_pause_ = milliseconds(0);
}

void HttpSession::checked(Verdict verdict) {
  check_timer_.stop();
  checking_ = false;
  check_pause_ = Backoff::after(check_pause_, kPingPauses);
  next_check_ = loop_.now() + check_pause_;
  if (!is_ready()) return;
  parts_.groups.on_session_checked(*this, verdict);
  if (is_ready() && settling_) settled();
}

// ---- the end ----

void HttpSession::close_streams() {
  asked_.clear();
  level_timer_.stop();
  turn_timer_.stop();
  check_timer_.stop();
  checking_ = false;
  stream_.close();
}

void HttpSession::lost() {
  if (state_ == State::lost) return;
  const bool useless = is_ready() && !was_of_use_ && !over_sse() && !stream_.is_shared();
  state_ = State::lost;
  close_streams();
  // If another replica of the server answered, the replica that opened the session still has it.
  if (useless) send_delete();
  log::write(log::Level::info, "upstream.session_lost",
             {{"upstream", server_.name}, {"group", shown_group(group_)}});
  parts_.groups.on_session_lost(*this);
}

void HttpSession::end() {
  lifetime_.renew();
  close_streams();
  // A cancel after it would arrive in a session that no longer exists.
  if (state_ == State::ready && !credentials_.id().empty() && !stream_.is_shared()) send_delete();
  state_ = State::lost;
}

// ---- credentials ----

bool SessionCredentials::are_of(const Headers& forwarded) const {
  if (!opened_as_) return true;
  const std::string identity = identity_of(forwarded);
  return identity == *opened_as_ || identity == identity_of(forwarded_);
}

void SessionCredentials::take_cookies(const http::ResponseInfo& info) {
  if (keeps_cookies_ && info.status < 400) cookies_.take(info.headers, url_);
}

Headers SessionCredentials::headers(HttpVerb verb, const Headers& forwarded,
                                    const std::string& revision) const {
  Headers out = base_headers(server_, verb);
  add_all(out, forwarded);
  add_session_headers(out, id_, revision);
  if (cookies_.empty()) return out;
  for (http::OutHeader& header : out) {
    if (!http::equals_ignoring_case(header.name, "Cookie")) continue;
    header.value += "; " + cookies_.header();
    return out;
  }
  out.push_back({"Cookie", cookies_.header()});
  return out;
}

}  // namespace lineward::upstream
