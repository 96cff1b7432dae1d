#include "proxy/upstream/http/http_call_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "foundation/base/string_pool.h"
#include "foundation/log/sanitize.h"
#include "protocol/http/writer.h"
#include "protocol/mcp/errors.h"
#include "protocol/mcp/rewrite.h"
#include "proxy/metrics/limits.h"
#include "proxy/upstream/http/handshake_revision.h"
#include "proxy/upstream/http/http_health.h"
#include "proxy/upstream/http/origin_set.h"
#include "proxy/upstream/http/question_slots.h"
#include "proxy/upstream/http/session_groups.h"
#include "proxy/upstream/http_client/http_pool.h"
#include "proxy/upstream/shared/legacy_facade.h"
#include "proxy/upstream/shared/own_id.h"
#include "proxy/upstream/shared/server_era.h"
#include "proxy/upstream/shared/shared_server.h"

namespace lineward::upstream {
namespace {

using mcp::EndReason;
using mcp::Field;
using mcp::Method;
using std::chrono::milliseconds;

// Failed attempts in a row to resume a stream.
constexpr uint32_t kResumes = 3;
constexpr int kRefused = 400;
constexpr size_t kMaxShownMethod = 100;
// Bounds of the stream of an answered call: time after the answer, bytes of messages, number of messages.
constexpr milliseconds kAfterAnswer{1000};
constexpr size_t kBytesAfterAnswer = 1024 * 1024;
constexpr size_t kMessagesAfterAnswer = 256;
// Such streams of one server; messages on streams beyond these are dropped.
constexpr size_t kAnsweredStreams = 64;

// An error in answer to a POST without an id, as sent by servers that could not parse it: it can only mean
// this call.
bool names_nothing(const mcp::Message& message) {
  return message.kind() == mcp::MessageKind::error &&
         (!message.has(Field::id) || message.raw(Field::id) == "null");
}

// Gives an error an id, which is later replaced by the client's.
void give_some_id(mcp::Message& message) {
  if (message.has(Field::id)) return;
  std::string text = message.bytes();
  text.insert(text.find('{') + 1, R"("id":0,)");
  auto parsed = mcp::Message::parse(std::move(text));
  if (parsed) message = std::move(*parsed);
}

// These statuses are definite, whatever MCP message is in the body.
bool speaks_for_itself(int status) {
  return status == 401 || status == 403 || status == 429;
}

bool is_open_for_client(const HttpCall& call) {
  return call.is_listen() && (call.acknowledged || call.request.reopens);
}

// Lineward's own messages in a session carry headers that the server has not refused. A request that only
// names a session, with other credentials, must not determine those of the session's cancels.
Headers lasting_of(const config::Server& server, const HttpCall& call) {
  return lasting_headers(forwarded_headers(server, call.request.headers));
}

// The server has not replied to the request with these headers yet. They are the newest of this client's, or
// those of another caller, and apply to this call alone.
std::optional<Headers> not_remembered(const config::Server& server, const HttpCall& call) {
  if (!call.messages || call.messages->status() != 0) return std::nullopt;
  return lasting_of(server, call);
}

core::Failure broken_answer(const config::Server& server, const mcp::MessageFault& fault) {
  return {EndReason::upstream_protocol, fmt::format("{} sent a broken answer: {}", server.name, fault.text)};
}

// 2026-07-28 forbids server requests, and HTTP has no way to answer them: the server would wait for ever.
core::Failure forbidden_request(const config::Server& server, const mcp::Message& request) {
  return {EndReason::upstream_protocol,
          fmt::format("{} sent its client the request {} during a call, which servers of {} must not",
                      server.name, sanitize(request.method(), kMaxShownMethod), mcp::kNewestModern)};
}

// Servers can guess ids, which are consecutive: a call that was not sent cannot be answered.
template <class Calls>
HttpCall* call_in(const Calls& calls, const HttpSession& session, std::optional<int64_t> id) {
  auto found = id ? calls.find(*id) : calls.end();
  const bool is_known =
      found != calls.end() && found->second->group == session.group() && found->second->sent;
  return is_known ? found->second : nullptr;
}

HttpRequest modern_call(const HttpCall& call, const SharedHeaders& ours, ModernLines& lines,
                        const Headers& forwarded) {
  HttpRequest request;
  const bool only_traces =
      std::all_of(forwarded.begin(), forwarded.end(),
                  [&](const http::OutHeader& header) { return is_trace_header(header.name); });
  if (only_traces) {  // no client header can replace one of Lineward's
    request.shared_headers = &ours;
    request.lines = StringPool::take(256);
    lines.append(request.lines, call.request.message, call.request.headers);
    for (const http::OutHeader& header : forwarded)
      http::append_field(request.lines, header.name, header.value);
  } else {
    request.headers = ours.all();
    add_all(request.headers, forwarded);
    add_modern_headers(request.headers, call.request.message, call.request.headers);
  }
  request.body = mcp::request_for_upstream(call.request.message, call.id);
  return request;
}

template <class Calls>
bool is_one_of(const Calls& calls, const HttpCall& call) {
  auto entry = calls.find(call.id);
  return entry != calls.end() && entry->second == &call;
}

// A call without an answer yet may still be refused, and be repeated. This is how long it is awaited.
constexpr std::chrono::milliseconds kLastWord{2000};

bool is_its_session(const HttpCall& call, const SessionGroup& group) {
  return group.session() != nullptr && group.session_number() == call.in_session;
}

// A server that fails with 5xx may have started the call. Lists and documents can be requested again; a tool
// may have run.
bool may_be_accepted(const HttpCall& call, int status, std::string_view words) {
  return status >= 500 && call.request.method == Method::tools_call && !HttpSession::names_session(words);
}

// Its calls go where its session is. Without a session id each call stands alone.
bool is_pinned(const SessionGroup& group) {
  const HttpSession* session = group.era == mcp::Era::legacy && !group.plain ? group.session() : nullptr;
  return session != nullptr && (session->has_id() || !session->is_ready());
}

bool may_renew(const HttpCall& call, const SessionGroup& group) {
  return call.in_session != 0 && group.replays() && !call.repeated && group.era == mcp::Era::legacy;
}

}  // namespace

// A stream without a waiting caller: its messages belong to the session.
class HttpCallTable::AnsweredStream final : public MessagesCallbacks {
 public:
  AnsweredStream(HttpCallTable& calls, std::unique_ptr<HttpMessages> messages, const SessionGroup& its_group)
      : group(its_group.key),
        session(its_group.session_number()),
        calls_(calls),
        messages_(std::move(messages)),
        limit_(calls.loop_) {
    messages_->set_owner(*this);
    messages_->resume();
    limit_.start(kAfterAnswer, [this] { end(); });
  }

  void end() {
    limit_.stop();
    if (messages_) messages_->close();
    calls_.loop_.retire(std::move(messages_));
    calls_.over(*this);
  }

  const std::string group;
  const uint64_t session;

 private:
  void on_message(HttpMessages&, mcp::Message&& message) override {
    if (has_room_for(message.bytes().size())) calls_.after_answer(*this, std::move(message));
  }
  void on_malformed_request(HttpMessages&, const mcp::MessageFault& fault) override {
    has_room_for(fault.bytes.size());
  }
  void on_no_message(HttpMessages&, const mcp::MessageFault& fault) override {
    has_room_for(fault.bytes.size());
  }
  void on_other_event(HttpMessages&, const http::SseEvent& event) override {
    has_room_for(event.data.size());
  }
  void on_messages_end(HttpMessages&, const MessagesEnd&) override { end(); }

  bool has_room_for(size_t bytes) {
    bytes_ += bytes;
    if (++count_ <= kMessagesAfterAnswer && bytes_ <= kBytesAfterAnswer) return true;
    calls_.drop("after_answer");
    end();
    return false;
  }

  HttpCallTable& calls_;
  std::unique_ptr<HttpMessages> messages_;
  size_t bytes_ = 0;
  size_t count_ = 0;
  net::Timer limit_;
};

HttpCallTable::HttpCallTable(const HttpParts& parts)
    : parts_(parts),
      loop_(parts.loop),
      server_(parts.server),
      groups_(parts.groups),
      stats_(metrics::upstream_stats(parts.server.name)),
      post_headers_(base_headers(parts.server, HttpVerb::post)),
      cancels_(parts) {
  if (!parts.shared) return;
  places_.emplace(parts.shared.version->in_flight, parts.shared.mailbox, [this] { parts_.pump.schedule(); });
}

HttpCallTable::~HttpCallTable() {
  end_answered();
}

SessionGroup* HttpCallTable::group_of(const HttpCall& call) const {
  return groups_.find(call.group);
}

void HttpCallTable::stop() {
  stopping_ = true;
  cancels_.close_kept();
  end_answered();
}

void HttpCallTable::drop(std::string_view kind, std::string_view id) {
  if (kind == "unknown_id") stats_.message_error(metrics::MessageError::unknown_id);
  parts_.origins.log_dropped(kind, id);
}

// ---- sending ----

bool HttpCallTable::take_room(const SessionGroup& group, const HttpCall& call) {
  if (is_pinned(group) ? group.session()->origin().pool().full() : parts_.origins.full()) return false;
  if (!call.counts()) return true;
  const uint32_t most = server_.limits.max_in_flight;
  const bool took = places_ ? places_->take(most) : in_flight_ < most;
  if (!took) {
    wants_room_ = true;
    return false;
  }
  ++in_flight_;
  return true;
}

void HttpCallTable::give_place() {
  --in_flight_;
  if (places_) places_->give();
}

// In a legacy session a listen needs no connection. A listen that its client knows to be open gets its place
// back.
std::optional<core::Failure> HttpCallTable::refuses(const SessionGroup& group, const HttpCall& call) const {
  const bool takes_one =
      call.is_listen() && group.era == mcp::Era::modern && !call.request.reopens && !call.stream_place;
  if (!takes_one || parts_.origins.has_stream_room()) return std::nullopt;
  metrics::limit_reached(metrics::Limit::server_connections);
  return core::Failure{
      EndReason::queue_full,
      fmt::format("listens and streams have half of the {} connections that there may be with {} "
                  "already (limits.maxConnections)",
                  server_.limits.max_connections, server_.name)};
}

void HttpCallTable::send(SessionGroup& group, HttpCall& call) {
  call.id = parts_.ids.next();
  calls_.emplace_hint(calls_.end(), call.id, &call);
  group.sent(call);
  call.phase(core::CallPhase::starting);
  if (!call.live()) return;  // cancelled just now
  Origin* origin = is_pinned(group) ? &group.session()->origin() : parts_.origins.pick(call.tried);
  if (origin == nullptr || origin->state().is_left_alone(loop_.now()))
    return fail(call, parts_.origins.refusal(origin));
  call.origin.take(*origin, call.is_listen() ? OriginUse::As::other : OriginUse::As::call);
  if (call.is_listen() && group.era == mcp::Era::modern) {
    call.stream_place.emplace(origin->pool().streams());
    call.stream_place->take_anyway();
  }
  const Headers forwarded = forwarded_headers(server_, call.request.headers);
  HttpRequest request = group.era == mcp::Era::modern
                            ? modern_call(call, post_headers_, modern_lines_, forwarded)
                            : session_request(group, call, forwarded);
  call.messages = std::make_unique<HttpMessages>(origin->pool(), std::move(request),
                                                 server_.limits.max_message_bytes, call);
}

HttpRequest HttpCallTable::session_request(SessionGroup& group, HttpCall& call, const Headers& forwarded) {
  HttpSession& session = *group.session();
  const bool is_handshake = call.request.method == Method::initialize;
  if (is_handshake && session.state() == HttpSession::State::fresh)
    session.opening(lasting_headers(forwarded));
  if (call.request.method == Method::logging_set_level) session.level_is_set(call.request.message);
  call.in_session = session.has_id() ? group.session_number() : 0;
  if (session.has_id() || !group.http_status_visible()) group.remember(call);
  HttpRequest request =
      session.request(group.translates(call) ? mcp::modern_request_for_legacy(call.request.message, call.id)
                                             : legacy_request(session, call),
                      &forwarded);
  if (group.plain) add_revision(request.headers, call.request.headers);
  return request;
}

// ---- messages ----

void HttpCallTable::call_opened(HttpCall& call, HttpMessages& from, const http::ResponseInfo& info) {
  if (from.is_stream() && !call.is_listen()) call.failures = 0;
  SessionGroup* group = group_of(call);
  if (group != nullptr && group->session() && info.status < kRefused)
    group->session()->credentials().remember(lasting_of(server_, call));
  const bool of_other = group == nullptr || !group->session() ||
                        (call.in_session != 0 && call.in_session != group->session_number());
  if (!of_other) group->session()->credentials().take_cookies(info);
  bool own = group != nullptr && group->session() && !group->own_handshake;
  if (!own || call.request.method != Method::initialize) return;
  if (!group->plain) return group->session()->opened(info);
  if (info.headers.count("Mcp-Session-Id") > 0) groups_.note_id_given();
}

void HttpCallTable::call_message(HttpCall& call, HttpMessages& from, mcp::Message&& message) {
  SessionGroup* group = group_of(call);
  bool legacy = group != nullptr && group->era == mcp::Era::legacy && group->session();
  const bool says_more =
      message.kind() == mcp::MessageKind::request || message.kind() == mcp::MessageKind::notification;
  // A half-open probe need not wait for the answer: that of a listen may take hours.
  if (says_more && std::exchange(call.health_probe, false)) parts_.health.answered();
  if (message.kind() == mcp::MessageKind::request) {
    if (!legacy) {
      drop("server_request");
      // A ping needs no client, and a listen has no end that its server could delay.
      const bool waits = !call.is_listen() && message.method() != "ping";
      return waits ? fail(call, forbidden_request(server_, message)) : void();
    }
    return group->session()->hear(std::move(message), &call);
  }
  if (message.kind() == mcp::MessageKind::notification)
    return call_notification(call, group, std::move(message));
  int status = from.status();
  // call_ended() handles these. A 404 is about the session in which the call was sent, even if that has
  // ended.
  const bool no_such_method =
      message.kind() == mcp::MessageKind::error && mcp::error_code(message) == mcp::kMethodNotFound;
  if (speaks_for_itself(status) || (status == 404 && call.in_session != 0 && !no_such_method)) return;
  if (groups_.finds_revision(call, group, &message, {.status = status})) {
    from.finish_quietly();
    loop_.retire(std::move(call.messages));
    left(call);
    return groups_.try_revision(call, *group);
  }
  if (groups_.may_try_sse(call, group, status)) {
    give_some_id(message);
    call.refusal = std::move(message);  // sent if HTTP+SSE fails as well
    return;
  }
  auto id = message.has(Field::id) ? own_id(message.raw(Field::id)) : std::nullopt;
  if (id != call.id && !names_nothing(message)) {
    from.distrust();
    if (legacy) return group->session()->hear(std::move(message), &call);
    return drop("unknown_id", message.raw(Field::id));
  }
  give_some_id(message);
  if (group != nullptr && is_doubtful(call, *group, message, status)) {
    from.finish_quietly();
    return loop_.retire(std::move(call.messages));
  }
  const bool may_say_more = legacy && !group->plain && from.is_stream() && !stopping_;
  if (may_say_more) {
    read_on(std::move(call.messages), *group);
  } else {
    from.finish_quietly();
    loop_.retire(std::move(call.messages));
  }
  finish(call, std::move(message));
}

// An invalid answer must not leave its caller waiting.
void HttpCallTable::call_malformed(HttpCall& call, const mcp::MessageFault& fault) {
  if (!fault.names_method() && !call.is_listen() && HttpMessages::is_broken_answer(fault, call.id))
    return fail(call, broken_answer(server_, fault));
  SessionGroup* group = group_of(call);
  if (group != nullptr && group->session()) group->session()->refuse_malformed(fault);
}

void HttpCallTable::call_notification(HttpCall& call, SessionGroup* group, mcp::Message&& message) {
  Method method = mcp::method_of(message.method());
  if (method == Method::progress) {
    if (own_id(message.raw(Field::params_progress_token)) == call.id) return call.message(std::move(message));
    if (group != nullptr && group->session()) return group->session()->hear(std::move(message), &call);
    return drop("unknown_token", message.raw(Field::params_progress_token));
  }
  // Only this call can be meant.
  if (group != nullptr && group->plain) return call.message(std::move(message));
  if (group != nullptr && group->era == mcp::Era::legacy && group->session()) {
    return group->session()->hear(std::move(message), &call);
  }
  if (method == Method::cancelled && call.is_listen()) {
    // The server ends the listen; it may name it in either form. No cancel is sent.
    if (own_id(message.raw(Field::params_request_id)) != call.id)
      return drop("unknown_id", message.raw(Field::params_request_id));
    if (call.messages) call.messages->finish_quietly();
    loop_.retire(std::move(call.messages));
    left(call);
    return call.answer(std::move(message));
  }
  if (method == Method::subscriptions_acknowledged) call.acknowledged = true;
  bool of_listen = method == Method::subscriptions_acknowledged || message.has(Field::meta_subscription_id);
  if (of_listen && !call.is_listen()) return drop("unknown_subscription");
  call.message(std::move(message));
}

// The final message of a call, as its server wrote it.
void HttpCallTable::finish(HttpCall& call, mcp::Message&& answer) {
  SessionGroup* group = group_of(call);
  left(call);
  if (group != nullptr) parts_.slots.note_over(*group, call);
  if (group != nullptr) group->refuse_open(call);
  if (call.in_session != 0 && group != nullptr && group->session() &&
      call.in_session == group->session_number() && call.request.method != Method::initialize)
    group->session()->note_answered();
  if (call.request.method == Method::initialize) call.phase(core::CallPhase::written);
  if (group != nullptr) group->tried = 0;
  if (group != nullptr && group->session()) {
    if (call.request.method == Method::initialize && !group->own_handshake && !group->plain) {
      if (answer.kind() == mcp::MessageKind::result) {
        if (group->session()->over_sse() || !group->http_status_visible())
          group->facade.keep_handshake(handshake_of(*group->session(), call), call.request.account());
        group->session()->initialized(answer);
        groups_.note_answer_of(*group->session());
        parts_.era.note_initialized();
        answer = legacy_answer(*group->session(), call, std::move(answer));
      } else {
        groups_.close_session(*group);  // the client may try again
      }
    }
    if (group->translates(call)) {
      auto modern = mcp::Message::parse(
          mcp::legacy_answer_for_modern(answer, call.request.method, group->session()->legacy_server()));
      if (modern) answer = std::move(*modern);
    }
  }
  call.answer(std::move(answer));
}

void HttpCallTable::fail(HttpCall& call, const core::Failure& failure) {
  SessionGroup* group = group_of(call);
  left(call);
  if (group != nullptr && call.sent) parts_.slots.note_over(*group, call);
  if (group != nullptr && group->session() && call.request.method == Method::initialize &&
      !group->own_handshake && group->session()->state() == HttpSession::State::opening) {
    groups_.close_session(*group);
  }
  if (call.messages) call.messages->close();
  loop_.retire(std::move(call.messages));
  call.fail(failure);
}

void HttpCallTable::fail_queue(SessionGroup& group, const core::Failure& failure) {
  for (HttpCall* call : group.queue().take_all())
    call->fail(failure);
}

// The group, or its session, is over.
void HttpCallTable::fail_sent(SessionGroup& group, const core::Failure& failure) {
  for (HttpCall* call : group.under_way()) {
    fail(*call, failure);
  }
}

void HttpCallTable::left(HttpCall& call) {
  auto entry = calls_.find(call.id);
  if (entry == calls_.end() || entry->second != &call) return;
  calls_.erase(entry);
  call.origin.give();
  IntrusiveList<HttpCall>::leave(call);
  if (call.counts()) give_place();
  if (SessionGroup* group = group_of(call)) {
    group->used();
    groups_.note_served(*group);
  }
  parts_.pump.schedule();
}

// ---- streams of answered calls ----

void HttpCallTable::read_on(std::unique_ptr<HttpMessages> messages, const SessionGroup& group) {
  if (answered_.size() >= kAnsweredStreams) {
    messages->finish_quietly();
    return loop_.retire(std::move(messages));
  }
  answered_.push_back(std::make_unique<AnsweredStream>(*this, std::move(messages), group));
}

// As if it had come on the GET stream. A question that its call can no longer carry must not be taken for
// another caller's.
void HttpCallTable::after_answer(const AnsweredStream& stream, mcp::Message&& message) {
  SessionGroup* group = groups_.find(stream.group);
  if (group == nullptr || !group->is_ready() || group->session_number() != stream.session)
    return drop("after_answer");
  HttpSession& session = *group->session();
  const bool asks = message.kind() == mcp::MessageKind::request && message.method() != "ping";
  if (asks && group->scope() == nullptr) return session.post(LegacyFacade::nobody_to_ask(message, "session"));
  session.hear(std::move(message), nullptr);
}

void HttpCallTable::over(AnsweredStream& stream) {
  auto found =
      std::find_if(answered_.begin(), answered_.end(), [&](const auto& one) { return one.get() == &stream; });
  if (found == answered_.end()) return;
  loop_.retire(std::move(*found));  // it may be on the stack
  answered_.erase(found);
}

void HttpCallTable::end_answered() {
  while (!answered_.empty())
    answered_.back()->end();
}

// ---- responses without an answer ----

void HttpCallTable::call_ended(HttpCall& call, const MessagesEnd& end) {
  SessionGroup* group = group_of(call);
  bool legacy = group != nullptr && group->era == mcp::Era::legacy;
  bool over_sse = legacy && group->session() && group->session()->over_sse();
  if (end.kind == MessagesEnd::Kind::failed && end.fault.nothing_sent && send_elsewhere(call, group)) return;
  if (over_sse && end.kind == MessagesEnd::Kind::complete)
    return;  // a receipt: the answer comes on the session's stream
  // Some servers of Streamable HTTP do the same.
  const bool accepted = end.kind == MessagesEnd::Kind::complete && end.status == kAccepted;
  HttpSession* session = accepted && legacy && !call.is_listen() ? group->session() : nullptr;
  if (session != nullptr && session->is_ready() && session->stream().is_offered()) return;
  bool resuming = legacy && call.failures > 0 && !end.flooded;
  if (legacy && !call.last_event_id.empty() && (end.is_stream || resuming)) return resume(call, end);
  if (end.kind == MessagesEnd::Kind::refused) return refused(call, end);
  core::Failure failure = parts_.failures.of(end);
  if (end.kind == MessagesEnd::Kind::complete) {
    failure.reason = EndReason::upstream_protocol;
    failure.text = fmt::format("{} ended its response without an answer (HTTP {})", server_.name, end.status);
    if (!end.dropped.empty())
      failure.text += fmt::format("; the last of what was no message in it: {}", end.dropped);
  }
  if (is_open_for_client(call)) return listen_lost(call, std::move(failure), end.flooded);
  if (end.kind == MessagesEnd::Kind::failed) tell_given_up(call);
  fail(call, failure);
}

// A session stays at its origin: it is lost if its calls cannot be sent there and the origin is out of
// service. A connection that fails once proves nothing.
bool HttpCallTable::send_elsewhere(HttpCall& call, SessionGroup* group) {
  Origin* origin = call.origin.get();
  const bool may_move = parts_.origins.are_several() && origin != nullptr && group != nullptr &&
                        call.last_event_id.empty() && call.live();
  if (!may_move) return false;
  HttpSession* session = is_pinned(*group) ? group->session() : nullptr;
  if (session == nullptr) {
    call.tried |= origin->bit();
    if (parts_.origins.another(call.tried) == nullptr) return false;
    left(call);
    call.sent = false;
    call.stream_place.reset();
    group->queue().put_back(call);
    groups_.want(*group);
  } else if (session->state() == HttpSession::State::opening && !group->own_handshake &&
             !session->over_sse() && call.request.method == Method::initialize) {
    left(call);
    call.sent = false;
    if (!groups_.open_elsewhere(call, *group)) return false;
  } else {
    const bool is_its = call.in_session != 0 && is_its_session(call, *group);
    if (!is_its || session->over_sse() || !origin->is_avoided(loop_.now())) return false;
    no_such_session(call, *group);
    return true;
  }
  ++stats_.retries[static_cast<size_t>(metrics::RetryOn::origin)];
  return true;
}

// A broken stream does not end its call (2025-11-25 transports): the server may continue it and send
// requests, in the session that the next call uses. So the server gets a cancel, and the next call waits
// briefly. In a client's own session such requests are for that client anyway.
void HttpCallTable::tell_given_up(HttpCall& call) {
  SessionGroup* group = group_of(call);
  const bool asks = group != nullptr && group->exclusive && mcp::may_ask(call.request.method);
  if (!asks || group->era != mcp::Era::legacy || !group->is_ready() || !call.sent) return;
  parts_.slots.keep_apart(*group);
  if (server_.cancel == config::CancelMode::never) return;
  LeftCall gone;
  gone.means = LeftCall::Means::post;
  gone.id = call.id;
  gone.group = call.group;
  gone.why = "its stream broke, and no client waits for it any more";
  gone.forwarded = not_remembered(server_, call);
  gone.refusals = call.open_questions.refuse();
  cancels_.take(std::move(gone));
}

void HttpCallTable::refused(HttpCall& call, const MessagesEnd& end) {
  SessionGroup* group = group_of(call);
  if (groups_.finds_revision(call, group, nullptr, end)) {
    left(call);
    return groups_.try_revision(call, *group);
  }
  if (groups_.may_try_sse(call, group, end.status)) {
    left(call);
    return groups_.try_sse(call, *group, parts_.failures.of(end));
  }
  if (group != nullptr && is_doubtful(call, *group, end)) return;
  // A server that rejects the form of a request may have been replaced: probe its era again next time.
  bool changed = end.status == 400 || end.status == 404 || end.status == 405 || end.status == 415;
  if (changed && server_.protocol_era == config::Era::automatic &&
      call.request.client_era == mcp::Era::modern) {
    parts_.era.forget();
  }
  if (changed && group != nullptr && group->plain) groups_.forget_id_given();
  core::Failure failure = parts_.failures.of(end);
  if (is_open_for_client(call)) return listen_lost(call, std::move(failure), false);
  fail(call, failure);
}

// 2025-11-25: the stream is resumed with GET and Last-Event-ID; the call fails only if that fails.
void HttpCallTable::resume(HttpCall& call, const MessagesEnd& end) {
  bool refusal = end.kind == MessagesEnd::Kind::refused;
  bool lost_again = end.kind == MessagesEnd::Kind::failed && !end.is_stream && call.failures >= kResumes;
  if (refusal || lost_again) {
    if (end.status == 404 && !end.no_such_method) {
      if (SessionGroup* group = group_of(call);
          group != nullptr && group->session() && group->session_number() == call.in_session) {
        group->session()->lost();
      }
    }
    tell_given_up(call);
    return fail(call, {EndReason::upstream_unreachable,
                       fmt::format("{} broke off its stream, and it could not be resumed: it {}",
                                   server_.name, end.fault.text)});
  }
  const Backoff::Range pauses{call.retry, 16 * call.retry};
  call.timer.start(Backoff::exact(pauses, call.failures++), [this, &call] {
    SessionGroup* group = group_of(call);
    const bool its_session = group != nullptr && group->session() && group->is_ready() &&
                             (call.in_session == 0 || group->session_number() == call.in_session);
    if (!its_session) {
      return fail(call, {EndReason::upstream_unreachable,
                         fmt::format("{} broke off its stream, and the session that it was to be resumed in "
                                     "is over",
                                     server_.name)});
    }
    HttpRequest request{"GET", group->session()->headers(HttpVerb::get), {}};
    request.headers.push_back({"Last-Event-ID", call.last_event_id});
    call.messages = std::make_unique<HttpMessages>(call.origin.get()->pool(), std::move(request),
                                                   server_.limits.max_message_bytes, call);
  });
}

// The layer above opens it again (layers/listen_hub.h).
void HttpCallTable::listen_lost(HttpCall& call, core::Failure failure, bool flooded) {
  if (stopping_) return fail(call, failure);
  left(call);
  failure.listen_loss = flooded ? core::ListenLoss::flooded : core::ListenLoss::broken;
  call.lose(failure);
}

void HttpCallTable::retried(HttpCall& call) {
  SessionGroup* group = group_of(call);
  if (group != nullptr && group->session() && group->translates(call))
    group->session()->want_level(call.request);
}

void HttpCallTable::session_facts(const HttpCall& call, core::CallFacts& facts) {
  SessionGroup* group = group_of(call);
  if (group == nullptr || !group->session()) return;
  facts.server_info = group->session()->legacy_server().info;
  facts.has_session = group->session()->has_id();
}

void HttpCallTable::park(HttpCall& call) {
  if (call.is_listen() || std::exchange(call.parked, true)) return;
  if (!is_one_of(calls_, call)) return;
  give_place();
  parts_.pump.schedule();
}

void HttpCallTable::unpark(HttpCall& call) {
  if (call.is_listen() || !std::exchange(call.parked, false)) return;
  if (!is_one_of(calls_, call)) return;
  ++in_flight_;
  if (places_) places_->take_anyway();
  parts_.pump.schedule();
}

void HttpCallTable::reply(HttpCall& call, std::string message) {
  SessionGroup* group = group_of(call);
  if (group != nullptr && group->session())
    group->session()->post(std::move(message), nullptr, nullptr, call.origin.get());
}

// ---- calls of a session that may be lost (behaviour.md 11) ----

bool HttpCallTable::is_doubtful(HttpCall& call, SessionGroup& group, const MessagesEnd& end) {
  if (call.in_session == 0 || end.no_such_method) return false;
  HttpSession* session = is_its_session(call, group) ? group.session() : nullptr;
  if (end.status == 404) {
    const bool its_callers =
        session == nullptr || session->credentials().are_of(forwarded_headers(server_, call.request.headers));
    if (its_callers) {
      no_such_session(call, group);
      return true;
    }
    // Other credentials may be refused although the session exists for its own client.
    if (!may_renew(call, group)) {
      session->doubt();
      left(call);
      call.fail(group.session_over());
      return true;
    }
  }
  if (!HttpSession::is_sign_of_loss(end.status) || !may_renew(call, group)) return false;
  return put_in_doubt(call, group,
                      {parts_.failures.of(end), {}, may_be_accepted(call, end.status, end.fault.text)});
}

bool HttpCallTable::is_doubtful(HttpCall& call, SessionGroup& group, const mcp::Message& answer, int status) {
  if (answer.kind() != mcp::MessageKind::error || !may_renew(call, group)) return false;
  const std::string words = answer.text(mcp::Field::error_message);
  const bool is_sign =
      HttpSession::is_sign_of_loss(status) && mcp::error_code(answer) != mcp::kMethodNotFound;
  if (!is_sign && !HttpSession::names_session(words)) return false;
  return put_in_doubt(call, group, {{}, answer, may_be_accepted(call, status, words)});
}

bool HttpCallTable::put_in_doubt(HttpCall& call, SessionGroup& group, HttpCall::Doubt doubt) {
  if (!is_its_session(call, group)) {  // it was replaced meanwhile
    if (!doubt.accepted) repeat(call, group);
    return !doubt.accepted;
  }
  HttpSession& session = *group.session();
  if (session.over_sse() || !session.is_ready() || !session.doubt()) return false;
  call.doubt = std::move(doubt);
  return true;
}

// The server does not know the session of the call. With a 404 it accepted nothing: if a new session can be
// opened, the call is repeated in it.
void HttpCallTable::no_such_session(HttpCall& call, SessionGroup& group) {
  const bool its_own = is_its_session(call, group);
  core::Failure over = group.session_over();
  if (call.request.method == mcp::Method::initialize && !group.replays())
    over.text = fmt::format("{} answered initialize with 404", server_.name);
  const bool renews = group.replays() && !call.repeated;
  renews ? repeat(call, group) : left(call);
  if (its_own) group.session()->lost();
  if (!renews) call.fail(over);
}

void HttpCallTable::repeat(HttpCall& call, SessionGroup& group) {
  call.repeated = true;
  call.doubt.reset();
  call.timer.stop();
  left(call);
  ++stats_.retries[static_cast<size_t>(metrics::RetryOn::session_lost)];
  group.queue().put_back(call);
  groups_.want(group);
}

void HttpCallTable::end_doubt(HttpCall& call, HttpCall::Doubt doubt) {
  doubt.answer ? finish(call, std::move(*doubt.answer)) : fail(call, doubt.failure);
}

// Each call that ends may start others.
void HttpCallTable::session_lost(SessionGroup& group) {
  const std::string key = group.key;
  const core::Failure gone{
      EndReason::upstream_protocol,
      fmt::format("{} lost the session that this call was made in before it answered", server_.name)};
  const core::Failure broken{
      EndReason::upstream_unreachable,
      fmt::format("{} broke off its stream, and the session that it was to be resumed in is over",
                  server_.name)};
  for (HttpCall* call : group.under_way()) {
    if (groups_.find(key) != &group) return;
    if (call->list == nullptr || call->in_session != group.session_number()) continue;
    if (auto doubt = std::exchange(call->doubt, std::nullopt)) {
      if (!doubt->accepted) {
        repeat(*call, group);
      } else {
        end_doubt(*call, std::move(*doubt));
      }
    } else if (!call->messages) {
      fail(*call, broken);
    } else if (call->messages->status() != 0) {
      fail(*call, gone);
    } else {
      call->timer.start(kLastWord, [this, call, gone] { fail(*call, gone); });
    }
  }
}

void HttpCallTable::session_kept(SessionGroup& group) {
  const std::string key = group.key;
  for (HttpCall* call : group.under_way()) {
    if (groups_.find(key) != &group) return;
    if (call->list == nullptr) continue;
    auto doubt = std::exchange(call->doubt, std::nullopt);
    if (doubt) end_doubt(*call, std::move(*doubt));
  }
}

// ---- cancelling ----

void HttpCallTable::withdraw(HttpCall& call, std::string_view why) {
  parts_.era.withdraw(call);
  parts_.slots.withdraw(call);
  SessionGroup* group = group_of(call);
  if (group != nullptr) {
    group->queue().withdraw(call);
    groups_.note_served(*group);  // it may never have been sent
  }
  if (call.is_listen()) groups_.close_listen(call);
  const bool under_way = is_one_of(calls_, call);
  OriginUse origin;
  if (call.origin.get() != nullptr) origin.take(*call.origin.get(), OriginUse::As::other);
  left(call);
  if (!under_way) return stats_.cancel_settled(call.request.tag, {});
  if (group != nullptr && call.sent) parts_.slots.note_over(*group, call, Attribution::End::cancelled);
  if (!call.sent || call.doubt || call.request.method == Method::initialize) {
    if (call.messages) call.messages->close();
    loop_.retire(std::move(call.messages));
    metrics::CancelReport report;
    if (call.sent) report.told = metrics::CancelTold::stream_closed;
    return stats_.cancel_settled(call.request.tag, report);
  }
  LeftCall gone;
  const bool told_in_session = group != nullptr && group->era == mcp::Era::legacy && group->is_ready();
  // A listen ends only with its stream: otherwise it would stay open for ever.
  if (server_.cancel == config::CancelMode::never && !call.is_listen()) {
    gone.means = LeftCall::Means::keep;
  } else if (told_in_session && server_.cancel != config::CancelMode::never) {
    gone.means = LeftCall::Means::post;
  }
  if (gone.means == LeftCall::Means::post) gone.forwarded = not_remembered(server_, call);
  gone.messages = std::move(call.messages);
  gone.id = call.id;
  gone.group = call.group;
  gone.origin = std::move(origin);
  gone.why = std::string(why);
  gone.tag = call.request.tag;
  gone.may_be_task = told_in_session && call.request.message.has(Field::params_task);
  gone.at_most = std::max(call.written_at + server_.timeouts.max_duration - loop_.now(), milliseconds(0));
  gone.refusals = call.open_questions.refuse();
  cancels_.take(std::move(gone));
}

void HttpCallTable::broken(const HttpSession& session, const mcp::MessageFault& fault) {
  const mcp::RecoveredIds found = mcp::recover_ids(fault.bytes);
  if (!found.is_answer) return;
  for (const std::string& raw : found.raw_ids) {
    HttpCall* call = call_in(calls_, session, own_id(raw));
    if (call != nullptr && !call->is_listen()) fail(*call, broken_answer(server_, fault));
  }
}

// Routed by the id, within the session only.
void HttpCallTable::stray(HttpSession& session, mcp::Message message) {
  bool progress = message.kind() == mcp::MessageKind::notification;
  Field field = progress ? Field::params_progress_token : Field::id;
  auto id = message.has(field) ? own_id(message.raw(field)) : std::nullopt;
  HttpCall* named = call_in(calls_, session, id);
  if (named == nullptr) {
    SessionGroup* group = groups_.find(session.group());
    if (!progress && id && cancels_.answered(message, *id)) return;
    // It may belong to a task: the task's call was answered long ago.
    if (progress && id && group != nullptr && group->scope() != nullptr)
      return group->scope()->on_scope_message(std::move(message), std::nullopt);
    return drop(progress ? "unknown_token" : "unknown_id", message.raw(field));
  }
  HttpCall& call = *named;
  session.credentials().remember(lasting_of(server_, call));
  if (progress) return call.message(std::move(message));
  if (call.messages) session.over_sse() ? call.messages->finish_quietly() : call.messages->close();
  loop_.retire(std::move(call.messages));
  finish(call, std::move(message));
}

}  // namespace lineward::upstream
