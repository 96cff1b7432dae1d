#include "proxy/upstream/http/server_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace lineward::upstream {
namespace {

using mcp::EndReason;
using std::chrono::milliseconds;

// Limit for the response to the GET; after it calls are sent anyway.
constexpr milliseconds kStreamPatience{500};
// Time for the replica that had the client's stream to close the server's.
constexpr milliseconds kFirstSharedBackoff{250};
constexpr milliseconds kMaxSharedBackoff{5000};
// Listening clients reload their lists when told that they may have changed. If a server's streams keep
// ending early, these reloads become rarer.
constexpr Backoff::Range kGapPauses{milliseconds(1000), milliseconds(60000)};

}  // namespace

ServerStream::ServerStream(HttpPool& pool, const config::Server& server, ServerStreamCallbacks& owner)
    : loop_(pool.loop()),
      pool_(pool),
      server_(server),
      owner_(owner),
      place_(pool.streams(), [this] { ask(); }),
      timer_(pool.loop()),
      good_timer_(pool.loop()),
      gap_timer_(pool.loop()) {}

ServerStream::~ServerStream() {
  if (messages_) messages_->close();
}

void ServerStream::start() {
  if (!shared_) return open();
  wanted_ ? want() : let_go();
}

void ServerStream::open() {
  if (place_.take_or_wait()) return ask();
  pending_ = true;  // is not awaited
  settle();
}

void ServerStream::ask() {
  messages_ = get(last_event_id_);
  pending_ = !was_open_;
  if (pending_) timer_.start(kStreamPatience, [this] { settle(); });
}

std::unique_ptr<HttpMessages> ServerStream::get(std::string_view last_event_id) {
  HttpRequest request{"GET", owner_.headers(HttpVerb::get), {}};
  if (!last_event_id.empty()) request.headers.push_back({"Last-Event-ID", std::string(last_event_id)});
  return std::make_unique<HttpMessages>(pool_, std::move(request), server_.limits.max_message_bytes, *this);
}

void ServerStream::reopen(milliseconds after) {
  timer_.start(after, [this] { open(); });
}

void ServerStream::settle() {
  timer_.stop();
  if (std::exchange(pending_, false)) owner_.on_stream_news(StreamNews::settled);
}

void ServerStream::close() {
  timer_.stop();
  close_messages();
}

void ServerStream::close_messages() {
  gap_timer_.stop();
  good_timer_.stop();
  stream_.withdraw();
  place_.give();
  if (messages_) messages_->close();
  loop_.retire(std::move(messages_));
}

// ---- sessions that other replicas serve too ----

void ServerStream::want() {
  wanted_ = true;
  if (owner_.may_stream() && !messages_ && !timer_.running()) open();
}

void ServerStream::let_go() {
  wanted_ = false;
  if (!owner_.may_stream()) return;
  close();
  // Another replica may receive the next events: the event id is not valid any more.
  last_event_id_.clear();
  settle();
}

// Pauses of a shared stream are short: another replica may just have closed it. The server's `retry` sets the
// first one.
Backoff::Range ServerStream::pauses(milliseconds first) const {
  return {first, shared_ ? kMaxSharedBackoff : Backoff::kLongest};
}

void ServerStream::shared_ended(const MessagesEnd& end) {
  if (!wanted_ || owner_.check_lost(end)) return;
  const bool was_stream = end.is_stream && end.kind == MessagesEnd::Kind::complete;
  if (!was_stream && end.kind == MessagesEnd::Kind::refused && end.status == 405) return;  // offers none
  reopen(stream_.pause(loop_.now(), pauses(was_stream ? retry_ : kFirstSharedBackoff)));
}

// ---- messages ----

void ServerStream::on_messages_open(HttpMessages& from, const http::ResponseInfo& info) {
  owner_.take_cookies(info);
  if (is_sse_ || !from.is_stream()) return;
  was_open_ = true;
  stream_.up(loop_.now());
  good_timer_.start(Backoff::kGoodAfter, [this] {
    stream_.lasted();
    tell_gap();
  });
  settle();
  tell_gap();
}

// With an event id the stream is resumed; a shared stream's notifications are delivered by other replicas.
void ServerStream::note_gap() {
  const bool resumes = shared_ || !last_event_id_.empty();
  const bool lasted = stream_.has_lasted(loop_.now());
  if (stream_.down(loop_.now(), resumes ? StandingListen<>::Gap::resumes : StandingListen<>::Gap::changes))
    gap_pause_ = lasted ? kGapPauses.first : Backoff::after(gap_pause_, kGapPauses);
}

void ServerStream::tell_gap() {
  if (!stream_.owes_changes() || gap_timer_.running()) return;
  const milliseconds now = loop_.now();
  if (now < next_gap_) return gap_timer_.start(next_gap_ - now, [this] { tell_gap(); });
  stream_.take_changes();
  next_gap_ = now + gap_pause_;
  owner_.on_stream_news(StreamNews::missed);
}

void ServerStream::on_message(HttpMessages&, mcp::Message&& message) {
  if (!is_sse_) {
    stream_.brought();
    tell_gap();
    if (!messages_) return;  // that ended the session
  }
  owner_.hear(std::move(message), nullptr);
}

void ServerStream::on_messages_end(HttpMessages& from, const MessagesEnd& end) {
  if (is_sse_) return sse_ended(end);
  if (!from.last_event_id().empty()) last_event_id_ = from.last_event_id();
  if (from.retry()) retry_ = std::max(*from.retry(), kLeastRetry);
  loop_.retire(std::move(messages_));
  place_.give();
  if (end.flooded) stream_.spoiled();
  note_gap();
  good_timer_.stop();
  settle();
  if (!owner_.is_ready()) return;
  if (shared_) return shared_ended(end);
  const bool was_stream = end.is_stream && end.kind == MessagesEnd::Kind::complete;
  // A server that sends an event id and `retry` is polled as often as it says.
  const bool polls = was_stream && from.retry() && !from.last_event_id().empty();
  if (polls) return reopen(retry_);
  if (!was_stream && was_open_ && owner_.check_lost(end)) return;
  // 405: it offers none. Any other refusal before the first stream means the same.
  if (end.kind == MessagesEnd::Kind::refused && (end.status == 405 || !was_open_)) return;
  reopen(stream_.pause(loop_.now(), pauses(retry_)));
}

// ---- HTTP+SSE ----

void ServerStream::connect_sse() {
  is_sse_ = connecting_ = true;
  place_.take_anyway();  // there was room before the session was opened
  messages_ = get();
  timer_.start(server_.timeouts.startup, [this] {
    fail_sse(EndReason::timeout_startup,
             fmt::format("named no endpoint for HTTP+SSE within {} ms (timeouts.startup)",
                         server_.timeouts.startup.count()));
  });
}

void ServerStream::on_other_event(HttpMessages&, const http::SseEvent& event) {
  if (event.event != "endpoint" || !connecting_) return;
  auto target = resolve_target(pool_.url(), event.data);
  if (!target) {
    return fail_sse(EndReason::upstream_protocol,
                    "named an endpoint that is not used: " + target.error().text);
  }
  timer_.stop();
  connecting_ = false;
  endpoint_ = std::move(*target);
  owner_.on_stream_news(StreamNews::sse_connected);
}

void ServerStream::sse_ended(const MessagesEnd& end) {
  loop_.retire(std::move(messages_));
  place_.give();
  if (!connecting_) return owner_.on_stream_news(StreamNews::sse_ended);
  if (end.kind != MessagesEnd::Kind::complete) return fail_sse(end);
  fail_sse(EndReason::upstream_protocol, end.is_stream ? "ended its event stream before it named an endpoint"
                                                       : "answered a GET for HTTP+SSE with no event stream");
}

void ServerStream::fail_sse(EndReason reason, std::string text) {
  fail_sse({.kind = MessagesEnd::Kind::failed, .fault = {reason, std::move(text)}});
}

void ServerStream::fail_sse(const MessagesEnd& end) {
  close();
  connecting_ = false;
  owner_.on_sse_failed(end);
}

}  // namespace lineward::upstream
