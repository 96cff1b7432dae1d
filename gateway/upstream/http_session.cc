#include "upstream/http_session.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "base/printable.h"
#include "http/char_class.h"
#include "mcp/errors.h"
#include "mcp/rewrite.h"
#include "upstream/own_limits.h"

namespace lineward::upstream {
namespace {

using mcp::EndReason;
using mcp::Field;
using mcp::Method;
using std::chrono::milliseconds;

// A server that has not answered these by then is not waited for any more: its calls go on.
constexpr milliseconds kInitializedPatience{2000};
constexpr milliseconds kStreamPatience{500};
constexpr milliseconds kAnswerPatience{1000};
constexpr milliseconds kGoodbye{2000};
constexpr milliseconds kPostLimit{10000};
constexpr milliseconds kLongestBackoff{30000};

// The answers to an `initialize` after which HTTP+SSE is worth a try (2025-11-25 transports, "Backwards
// Compatibility").
bool knows_no_post(int status) {
  return status == 400 || status == 404 || status == 405;
}

// 2025-11-25: visible ASCII only.
bool is_session_id(std::string_view id) {
  return !id.empty() && id.size() <= 1024 && std::all_of(id.begin(), id.end(), http::is_visible);
}

}  // namespace

HttpSession::HttpSession(HttpPool& pool, HttpErrands& errands, const config::Server& server,
                         SessionOwner& owner, std::string group, bool sse)
    : loop_(pool.loop()),
      pool_(pool),
      errands_(errands),
      server_(server),
      owner_(owner),
      group_(std::move(group)),
      stream_timer_(pool.loop()),
      level_timer_(pool.loop()),
      ping_timer_(pool.loop()),
      sse_(sse) {}

HttpSession::~HttpSession() {
  lifetime_.end();
  if (stream_) stream_->close();
}

Headers HttpSession::headers(HttpVerb verb) const {
  Headers out = base_headers(server_, verb);
  add_all(out, forwarded_);
  add_session_headers(out, id_, legacy_server_.revision);
  return out;
}

// ---- the handshake ----

void HttpSession::initialize(std::string_view params, bool automatic) {
  own_params_ = std::string(params);
  may_fall_back_ = automatic;
  if (sse_ && endpoint_.empty()) return connect();  // it goes on when there is an endpoint
  send_initialize();
}

void HttpSession::send_initialize() {
  state_ = State::opening;
  int64_t id = owner_.next_id();
  ask(id, mcp::initialize_request(id, own_params_), server_.timeouts.startup,
      [this](std::optional<mcp::Message> answer, const MessagesEnd& end) {
        if (state_ == State::opening) handshake_answer(std::move(answer), end);
      });
}

void HttpSession::opened(const http::ResponseInfo& info) {
  std::string_view id = info.headers.get("Mcp-Session-Id");
  if (info.status == 200 && is_session_id(id)) id_ = std::string(id);
}

void HttpSession::handshake_answer(std::optional<mcp::Message> answer, const MessagesEnd& end) {
  if (answer && answer->kind() == mcp::MessageKind::result) {
    initialized(*answer);
    send_initialized(std::string(mcp::kInitialized));
    return owner_.on_session_ready(*this);
  }
  state_ = State::fresh;
  core::Failure failure = failure_of(answer, end);
  if (!sse_ && may_fall_back_ && knows_no_post(end.status)) {
    was_refused_ = std::move(failure);
    return connect();
  }
  owner_.on_session_failed(*this, failure);
}

core::Failure HttpSession::failure_of(const std::optional<mcp::Message>& answer,
                                      const MessagesEnd& end) const {
  core::Failure failure{EndReason::upstream_protocol, server_.name + " "};
  if (end.kind != MessagesEnd::Kind::complete &&
      (!answer || end.status == 401 || end.status == 403 || end.status == 429)) {
    failure = owner_.failure_of(end);
  } else if (answer) {
    failure.text += "refused initialize: " + printable(answer->text(Field::error_message), 300);
  } else {
    failure.text += "did not answer initialize";
  }
  return failure;
}

void HttpSession::initialized(const mcp::Message& answer) {
  state_ = State::ready;
  own_params_ = {};  // the next session gets them from the group
  initialize_result_.keep(std::string(answer.raw(Field::result)));
  legacy_server_ = mcp::read_initialize_result(initialize_result_.text());
  legacy_server_bytes_.set(mcp::bytes_of(legacy_server_));
  if (mcp::find_revision(legacy_server_.revision) == nullptr) legacy_server_.revision.clear();
}

void HttpSession::send_initialized(std::string message) {
  if (std::exchange(initialized_sent_, true)) return;
  settling_ = true;
  ErrandPlan plan;
  plan.request = request(std::move(message));
  plan.limit = kInitializedPatience;
  plan.done = lifetime_.guard([this](std::optional<mcp::Message>, const MessagesEnd& end) {
    if (settled_told_) loop_.defer(std::exchange(settled_told_, nullptr));
    if (state_ != State::ready || check_lost(end)) return;
    settling_ = false;
    if (!sse_ && !shared_) open_stream();
    if (shared_) want_stream(stream_wanted_);
    owner_.on_session_free(*this);
  });
  errands_.run(std::move(plan));
}

bool HttpSession::takes(const HttpCall& call) const {
  if (state_ != State::ready || settling_) return false;
  // Its first lines would be lost.
  if (level_pending_ && call.request.message.has(Field::meta_log_level)) return false;
  // What the server tells before there is a stream for it is lost.
  if (stream_pending_ && call.is_listen()) return false;
  // SDK servers lose a question that they ask before there is a stream for it.
  return (!stream_pending_ && !pinged_) || !mcp::may_ask(call.request.method);
}

// ---- what goes out ----

HttpRequest HttpSession::request(std::string body) const {
  HttpRequest request{"POST", headers(HttpVerb::post), std::move(body)};
  request.target = endpoint_;
  request.receipt_only = sse_;
  return request;
}

// A request of Lineward's own, which is cancelled like any client's when it takes too long.
void HttpSession::ask(std::string_view method, std::string_view params, Answered answered) {
  int64_t id = owner_.next_id();
  std::string body =
      fmt::format(R"({{"jsonrpc":"2.0","id":{},"method":{},"params":{}}})", id, json::quote(method), params);
  auto late = lifetime_.guard([this, id] {
    if (state_ != State::ready) return;
    log::write(log::Level::info, "upstream.own_request_late",
               {{"upstream", server_.name}, {"upstream_id", id}});
    if (server_.cancel == config::CancelMode::never) return;
    post(mcp::cancel_notification(id, "it took too long", mcp::Era::legacy));
  });
  ask(id, std::move(body), own_limit(server_, method), std::move(answered), std::move(late));
}

void HttpSession::ask(int64_t id, std::string body, milliseconds limit, Answered answered,
                      std::function<void()> late) {
  if (sse_) return ask_over_sse(id, std::move(body), limit, std::move(answered), std::move(late));
  ErrandPlan plan;
  plan.id = id;
  plan.request = request(std::move(body));
  plan.limit = limit;
  plan.option = late ? "timeouts.request" : "timeouts.startup";
  plan.late = std::move(late);
  plan.opened = lifetime_.guard([this](const http::ResponseInfo& info) {
    if (state_ == State::opening) opened(info);
  });
  plan.other = lifetime_.guard([this](mcp::Message message) {
    if (state_ == State::ready) handle(std::move(message), nullptr);
  });
  plan.done = lifetime_.guard(std::move(answered));
  errands_.run(std::move(plan));
}

void HttpSession::send_own(std::string_view method, std::string_view params, OwnAnswer answered) {
  // What a call changes would not be told before it is answered.
  bool awaited = pinged_ && mcp::method_of(method) == Method::resources_subscribe;
  if (awaited) ++awaited_;
  ask(method, params,
      [this, turn = awaited ? turn_ : 0, answered = std::move(answered)](std::optional<mcp::Message> answer,
                                                                         const MessagesEnd& end) {
        if (check_lost(end)) return;
        if (turn != 0) settled_one(turn);
        if (!answered) return;
        if (!answer) {
          answer =
              mcp::Message::parse(R"({"jsonrpc":"2.0","id":0,"error":{"code":-32603,"message":"no answer"}})")
                  .value();
        }
        answered(*answer);
      });
}

// Calls that want this level wait a moment for it; it has longer.
void HttpSession::want_level(const mcp::Message& request) {
  auto wanted = mcp::log_level(request.text(Field::meta_log_level));
  if (!wanted || *wanted >= level_ || !legacy_server_.logging) return;
  level_ = *wanted;
  level_pending_ = true;
  auto go_on = [this] {
    if (std::exchange(level_pending_, false)) owner_.on_session_free(*this);
  };
  level_timer_.start(kAnswerPatience, go_on);
  ask("logging/setLevel", fmt::format(R"({{"level":{}}})", request.raw(Field::meta_log_level)),
      [this, go_on, level = level_](std::optional<mcp::Message>, const MessagesEnd& end) {
        if (check_lost(end) || level != level_) return;  // a lower one is on its way
        level_timer_.stop();
        go_on();
      });
}

void HttpSession::post(std::string message, std::function<void()> drained) {
  ErrandPlan plan;
  plan.request = request(std::move(message));
  plan.limit = kPostLimit;
  plan.drained = std::move(drained);
  plan.done =
      lifetime_.guard([this](std::optional<mcp::Message>, const MessagesEnd& end) { check_lost(end); });
  errands_.run(std::move(plan));
}

bool HttpSession::check_lost(const MessagesEnd& end) {
  if (end.status != 404 || !has_id()) return false;
  lost();
  return true;
}

void HttpSession::stop_asking() {
  asked_.clear();
  level_timer_.stop();
  ping_timer_.stop();
}

void HttpSession::lost() {
  if (state_ == State::lost) return;
  state_ = State::lost;
  stop_asking();
  stream_timer_.stop();
  if (stream_) stream_->close();
  loop_.retire(std::move(stream_));
  log::write(log::Level::info, "upstream.session_lost", {{"upstream", server_.name}, {"group", group_}});
  owner_.on_session_lost(*this);
}

void HttpSession::end() {
  lifetime_.renew();
  stop_asking();
  stream_timer_.stop();
  if (stream_) stream_->close();
  loop_.retire(std::move(stream_));
  if (state_ == State::ready && !id_.empty() && !shared_) {
    ErrandPlan plan;
    plan.request = {"DELETE", headers(HttpVerb::remove), {}};
    plan.limit = kGoodbye;
    errands_.run(std::move(plan));
  }
  state_ = State::lost;
}

// ---- the GET stream ----

void HttpSession::open_stream() {
  HttpRequest request{"GET", headers(HttpVerb::get), {}};
  if (!last_event_id_.empty()) request.headers.push_back({"Last-Event-ID", last_event_id_});
  stream_ =
      std::make_unique<HttpMessages>(pool_, std::move(request), server_.limits.max_message_bytes, *this);
  stream_pending_ = !stream_was_open_;
  if (stream_pending_) stream_timer_.start(kStreamPatience, [this] { stream_settled(); });
}

void HttpSession::stream_settled() {
  stream_timer_.stop();
  if (!std::exchange(stream_pending_, false)) return;
  if (std::exchange(settles_first_, false)) settle_turn();
  owner_.on_session_free(*this);
}

// It takes no call that may ask before the ping is answered, and what was subscribed meanwhile, or a moment
// has passed.
void HttpSession::settle_turn() {
  if (state_ != State::ready || pinged_ || !answers_pings_) return;
  pinged_ = true;
  awaited_ = 1;
  answers_pings_ = false;  // as long as it has not
  ++turn_;
  ping_timer_.start(kAnswerPatience, [this] { turn_settled(); });
  ask("ping", "{}", [this, turn = turn_](std::optional<mcp::Message> answer, const MessagesEnd& end) {
    if (check_lost(end)) return;
    answers_pings_ = pinged_ && answer.has_value();
    settled_one(turn);
  });
}

void HttpSession::settled_one(uint32_t turn) {
  if (pinged_ && turn == turn_ && --awaited_ == 0) turn_settled();
}

void HttpSession::turn_settled() {
  ping_timer_.stop();
  pinged_ = false;
  owner_.on_session_free(*this);
}

void HttpSession::reopen_stream(milliseconds after) {
  stream_timer_.start(after, [this] { open_stream(); });
}

void HttpSession::on_messages_open(HttpMessages& from, const http::ResponseInfo&) {
  if (!from.is_stream() || sse_) return;
  stream_was_open_ = true;
  backoff_ = milliseconds(0);
  stream_settled();
}

void HttpSession::on_message(HttpMessages&, mcp::Message&& message) {
  handle(std::move(message), nullptr);
}

void HttpSession::on_messages_end(HttpMessages& from, const MessagesEnd& end) {
  if (!from.last_event_id().empty()) last_event_id_ = from.last_event_id();
  if (from.retry()) retry_ = *from.retry();
  loop_.retire(std::move(stream_));
  if (sse_) return sse_stream_ended(end);
  stream_settled();
  if (state_ != State::ready) return;
  if (shared_) return shared_stream_ended(end);
  bool was_stream = end.is_stream && end.kind == MessagesEnd::Kind::complete;
  if (was_stream) return reopen_stream(retry_);
  if (stream_was_open_ && check_lost(end)) return;
  // 405: it offers none. So does every other refusal before there was one.
  if (end.kind == MessagesEnd::Kind::refused && (end.status == 405 || !stream_was_open_)) return;
  backoff_ = std::clamp(backoff_ * 2, milliseconds(1000), kLongestBackoff);
  reopen_stream(std::max(backoff_, retry_));
}

// ---- what the server says ----

void HttpSession::from_call(HttpCall& call, mcp::Message message) {
  handle(std::move(message), &call);
}

void HttpSession::refuse_malformed(const mcp::MessageFault& fault) {
  post(mcp::error_message(fault.raw_id, mcp::kInvalidRequest, fault.text));
}

void HttpSession::handle(mcp::Message message, HttpCall* call) {
  bool response = message.kind() == mcp::MessageKind::result || message.kind() == mcp::MessageKind::error;
  if (response && own_answer(message)) return;
  if (response || mcp::method_of(message.method()) == Method::progress) {
    return owner_.on_session_stray(*this, std::move(message));
  }
  if (message.kind() == mcp::MessageKind::request && message.method() == "ping") {
    return post(fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{{}}}})", message.raw(Field::id)));
  }
  owner_.on_session_message(*this, std::move(message), call);
}

}  // namespace lineward::upstream
