#include "proxy/upstream/http/http_session.h"

#include <fmt/format.h>

#include <algorithm>

#include "foundation/log/log.h"
#include "foundation/log/sanitize.h"
#include "protocol/http/char_class.h"
#include "protocol/mcp/errors.h"
#include "protocol/mcp/rewrite.h"
#include "proxy/upstream/http/handshake_revision.h"

namespace lineward::upstream {
namespace {

using mcp::EndReason;
using mcp::Field;
using mcp::Method;
using std::chrono::milliseconds;

// Limit for the answer to notifications/initialized; after it calls are sent anyway.
constexpr milliseconds kInitializedPatience{2000};
constexpr milliseconds kGoodbye{2000};
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

// Why Lineward's own handshake failed.
core::Failure refusal_of(const config::Server& server, SessionCallbacks& owner,
                         const std::optional<mcp::Message>& answer, const MessagesEnd& end) {
  core::Failure failure{EndReason::upstream_protocol, server.name + " "};
  if (end.kind != MessagesEnd::Kind::complete &&
      (!answer || end.status == 401 || end.status == 403 || end.status == 429)) {
    failure = owner.failure_of(end);
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

}  // namespace

HttpSession::HttpSession(HttpPool& pool, HttpSubRequests& sub_requests, const config::Server& server,
                         SessionCallbacks& owner, std::string group, Transport transport)
    : loop_(pool.loop()),
      server_(server),
      owner_(owner),
      group_(std::move(group)),
      credentials_(server, pool.url()),
      transport_(transport),
      stream_(pool, server, *this),
      sse_(pool, server, *this),
      requests_(pool.loop(), sub_requests, server, *this),
      waits_(pool.loop(), requests_, *this),
      check_(pool.loop(), requests_, [this](SessionCheck::Verdict verdict) {
        if (!is_ready()) return;
        owner_.on_session_checked(*this, verdict);
        if (is_ready() && settling_) settled();
      }) {
  requests_.answers_come_on(stream_);
}

Headers HttpSession::headers(HttpVerb verb) const {
  return credentials_.headers(verb, credentials_.forwarded(), legacy_server_.revision);
}

// ---- the handshake ----

void HttpSession::initialize(std::string_view params, IfRefused if_refused) {
  own_params_ = std::string(params);
  if_refused_ = if_refused;
  if (over_sse() && sse_.endpoint().empty()) return connect();  // continues when the endpoint is known
  opening(credentials_.forwarded());
  requests_.initialize(
      own_params_,
      [this](const http::ResponseInfo& info) {
        if (state_ == State::opening) opened(info);
      },
      [this](std::optional<mcp::Message> answer, const MessagesEnd& end) {
        if (state_ == State::opening) handshake_answer(std::move(answer), end);
      });
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
    if (!other_revision_.empty()) owner_.on_session_revision(other_revision_);
    send_initialized(std::string(mcp::kInitialized));
    return owner_.on_session_ready(*this);
  }
  if (!credentials_.id().empty()) {  // of a session that was refused
    requests_.goodbye({"DELETE", headers(HttpVerb::remove), {}}, kGoodbye);
    credentials_.set_id({});
  }
  if (other_revision_.empty()) {
    other_revision_ = other_revision(own_params_, answer ? &*answer : nullptr, end);
    own_params_ = with_handshake_revision(own_params_, other_revision_);
    if (!other_revision_.empty()) return initialize(own_params_, if_refused_);
  }
  state_ = State::fresh;
  core::Failure failure = refusal_of(server_, owner_, answer, end);
  if (!over_sse() && if_refused_ == IfRefused::try_http_sse && knows_no_post(end.status)) {
    was_refused_ = std::move(failure);
    return connect();
  }
  owner_.on_session_failed(*this, failure);
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
  requests_.post(std::move(message), kInitializedPatience, [this](const MessagesEnd& end) {
    if (settled_told_) loop_.defer(std::exchange(settled_told_, nullptr));
    if (state_ != State::ready) return;
    // A server that refuses a notification may not know its method, or the session.
    const bool doubtful = end.kind == MessagesEnd::Kind::refused && !end.no_such_method &&
                          SessionCheck::is_sign(end.status) && has_id() && !over_sse();
    if (!doubtful || !check_.doubt()) settled();
  });
}

void HttpSession::settled() {
  settling_ = false;
  if (!over_sse()) stream_.start();
  owner_.on_session_free(*this);
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

// ---- HTTP+SSE ----

void HttpSession::connect() {
  transport_ = Transport::http_sse;
  state_ = State::connecting;
  sse_.connect();
}

void HttpSession::on_sse_connected() {
  was_refused_.reset();
  state_ = State::fresh;
  owner_.on_session_speaks_sse();
  if (!own_params_.empty()) return initialize(own_params_, if_refused_);
  owner_.on_session_free(*this);
}

void HttpSession::on_sse_failed(const MessagesEnd& end) {
  state_ = State::fresh;
  if (end.status == 401 || end.status == 403) return owner_.on_session_failed(*this, owner_.failure_of(end));
  const core::Failure& fault = end.fault;
  core::Failure failure{fault.reason, fmt::format("{} {}", server_.name, fault.text), fault.limit_ms};
  // The refusal over Streamable HTTP is more specific than the failure of the fallback.
  const bool refused_us = fault.reason == EndReason::unauthorized || fault.reason == EndReason::forbidden;
  if (was_refused_ && !refused_us) failure = *was_refused_;
  owner_.on_session_failed(*this, failure);
}

void HttpSession::on_sse_ended() {
  if (state_ != State::opening || own_params_.empty()) return lost();
  requests_.forget();
  owner_.on_session_failed(
      *this, {EndReason::upstream_exited, server_.name + " closed its event stream during initialize"});
}

// ---- outgoing messages ----

bool HttpSession::takes(const HttpCall& call) const {
  if (state_ != State::ready || settling_ || !waits_.takes(call.request)) return false;
  if (!stream_.is_pending()) return true;
  // Messages of the server are lost before there is a stream for them; SDK servers lose requests too.
  return !call.is_listen() && !mcp::may_ask(call.request.method);
}

HttpRequest HttpSession::request(std::string body, const Headers* as) const {
  const Headers& forwarded = as != nullptr ? *as : credentials_.forwarded();
  HttpRequest request{"POST", credentials_.headers(HttpVerb::post, forwarded, legacy_server_.revision),
                      std::move(body)};
  request.target = sse_.endpoint();
  request.receipt_only = over_sse();
  return request;
}

void HttpSession::post(std::string message, const Headers* as, std::function<void()> drained) {
  const bool its_own = as == nullptr || credentials_.are_of(*as);
  requests_.post(request(std::move(message), as), its_own, std::move(drained));
}

void HttpSession::send_own(std::string_view method, std::string_view params, OwnAnswer answered) {
  requests_.ask(method, params,
                [this, turn = waits_.join(method), answered = std::move(answered)](
                    std::optional<mcp::Message> answer, const MessagesEnd& end) {
                  if (check_lost(end)) return;
                  waits_.left(turn);
                  if (!answered) return;
                  if (!answer) answer = mcp::Message::parse(std::string(kNoAnswer)).value();
                  answered(*answer);
                });
}

// ---- the end ----

bool HttpSession::check_lost(const MessagesEnd& end) {
  if (!has_id() || end.no_such_method) return false;
  if (end.status == 404) {
    lost();
    return true;
  }
  const bool refused = end.kind == MessagesEnd::Kind::refused && SessionCheck::is_sign(end.status);
  if (refused && is_ready() && !over_sse()) check_.doubt();
  return false;
}

void HttpSession::close_streams() {
  requests_.forget();
  waits_.stop();
  check_.stop();
  stream_.close();
  sse_.close();
}

void HttpSession::lost() {
  if (state_ == State::lost) return;
  const bool useless = is_ready() && !check_.was_of_use() && !over_sse() && !stream_.is_shared();
  state_ = State::lost;
  close_streams();
  // If another replica of the server answered, the replica that opened the session still has it.
  if (useless) requests_.goodbye({"DELETE", headers(HttpVerb::remove), {}}, kGoodbye);
  log::write(log::Level::info, "upstream.session_lost", {{"upstream", server_.name}, {"group", group_}});
  owner_.on_session_lost(*this);
}

void HttpSession::end() {
  requests_.stop();
  close_streams();
  if (state_ == State::ready && !credentials_.id().empty() && !stream_.is_shared()) {
    // A cancel after it would arrive in a session that no longer exists.
    requests_.goodbye({"DELETE", headers(HttpVerb::remove), {}}, kGoodbye);
  }
  state_ = State::lost;
}

// ---- messages of the server ----

void HttpSession::on_stream_news(StreamNews news) {
  if (news == StreamNews::missed) return owner_.on_session_missed(*this);
  waits_.stream_settled();
  owner_.on_session_free(*this);
}

void HttpSession::refuse_malformed(const mcp::MessageFault& fault) {
  if (!fault.names_method()) {
    requests_.broken_answer(fault);
    return owner_.on_session_broken(*this, fault);
  }
  post(mcp::error_message(fault.raw_id, mcp::kInvalidRequest, fault.text));
}

void HttpSession::hear(mcp::Message message, HttpCall* call) {
  check_.answered();
  const bool response =
      message.kind() == mcp::MessageKind::result || message.kind() == mcp::MessageKind::error;
  if (response && requests_.take_answer(message)) return;
  if (response || mcp::method_of(message.method()) == Method::progress) {
    return owner_.on_session_stray(*this, std::move(message));
  }
  if (message.kind() == mcp::MessageKind::request && message.method() == "ping") {
    return post(fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{{}}}})", message.raw(Field::id)));
  }
  owner_.on_session_message(*this, std::move(message), call);
}

}  // namespace lineward::upstream
