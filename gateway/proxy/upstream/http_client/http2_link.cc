#include "proxy/upstream/http_client/http2_link.h"

#include <fmt/format.h>
#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "protocol/http/stream_request.h"

namespace lineward::upstream {
namespace {

using mcp::EndReason;
using std::chrono::milliseconds;

// Bytes of an answer that may wait for its reader. The connection's window is given back as bytes come: a
// stream that is not read stops no other one.
constexpr uint32_t kStreamWindow = 256 * 1024;
constexpr int32_t kConnectionWindow = 4 * 1024 * 1024;
// The socket gets no more than it takes. So short requests do not wait for long ones.
constexpr size_t kMostUnsent = 64 * 1024;
constexpr size_t kPiece = 16 * 1024;
// A head that is this many times too large is not read to its end.
constexpr size_t kHeadFactor = 4;
// The end of an answer that is whole comes soon, or the stream is reset.
constexpr milliseconds kLinger{1000};
// A request that waited this long without any sign of the server makes it doubtful.
constexpr milliseconds kSilence{1000};

std::string sentence(http2::Session::Fault fault, std::string_view protocol_error) {
  switch (fault) {
    case http2::Session::Fault::resets: return "resets HTTP/2 streams faster than it may";
    case http2::Session::Fault::control_frames:
      return "sends more HTTP/2 control frames than it may (SETTINGS, PING, WINDOW_UPDATE, empty DATA)";
    case http2::Session::Fault::head:
      return "sent too much: a compressed head is larger than it may be (limits.maxHeadBytes), or in too "
             "many "
             "frames";
    case http2::Session::Fault::fields:
      return "sent too much: a head is larger than it may be (limits.maxHeadBytes)";
    case http2::Session::Fault::push: return "pushes over HTTP/2, which is switched off";
    case http2::Session::Fault::protocol: break;
  }
  return fmt::format("does not keep to HTTP/2: {}", protocol_error);
}

}  // namespace

Http2Link::Http2Link(net::Loop& loop, Http2LinkOwner& owner, Parts parts, const http::ResponseLimits& limits)
    : loop_(loop),
      owner_(owner),
      socket_(std::move(parts.socket)),
      tls_(std::move(parts.tls)),
      lease_(std::move(parts.lease)),
      address_(std::move(parts.address)),
      deadline_(parts.deadline),
      connect_limit_(parts.connect_limit),
      quiet_(parts.quiet),
      limits_(limits),
      session_(http2::Session::Side::client, *this, limits.head_bytes),
      heard_at_(loop.now()),
      idle_at_(loop.now()),
      timer_(loop),
      run_later_(
          loop, [](void* self) { static_cast<Http2Link*>(self)->run(); }, this) {}

Http2Link::~Http2Link() {
  shut();
}

void Http2Link::begin() {
  const std::array<nghttp2_settings_entry, 4> settings{{
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 0},  // that the server begins
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kStreamWindow},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<uint32_t>(limits_.head_bytes)},
  }};
  nghttp2_submit_settings(session_.raw(), NGHTTP2_FLAG_NONE, settings.data(), settings.size());
  nghttp2_session_set_local_window_size(session_.raw(), NGHTTP2_FLAG_NONE, 0, kConnectionWindow);
  socket_->set_owner(this);
  socket_->start_reading();
  later();
}

size_t Http2Link::most_streams() const {
  const uint32_t most =
      nghttp2_session_get_remote_settings(session_.raw(), NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
  return std::min<size_t>(most, kMostStreams);
}

// Before the server has said how many it allows, one stream is safe.
size_t Http2Link::room() const {
  if (!socket_ || closing_ || is_saturated_ || is_doubtful_) return 0;
  const size_t most = has_settings_ ? most_streams() : 1;
  const size_t used = entries_.size() + reserved_.size();
  return most > used ? most - used : 0;
}

std::unique_ptr<LinkStream> Http2Link::open() {
  auto stream = std::make_unique<LinkStream>(loop_, *this);
  reserved_.push_back(stream.get());
  return stream;
}

LinkEntry* Http2Link::find(int32_t id) {
  const auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : found->second.get();
}

// ---- from the server ----

void Http2Link::on_data(std::string_view bytes) {
  if (!tls_) return read(bytes);
  std::string plain;
  const auto state = tls_->feed(bytes, plain);
  socket_->write(tls_->take_output());
  if (!plain.empty()) read(plain);
  if (!socket_) return;
  if (state == net::TlsEngine::State::failed)
    return lose({.reason = EndReason::upstream_unreachable, .text = tls_->fault()});
  if (state == net::TlsEngine::State::closed) on_end(0);
}

void Http2Link::read(std::string_view plain) {
  if (!socket_) return;
  heard_at_ = loop_.now();
  if (std::exchange(is_doubtful_, false)) owner_.on_link_room();
  if (!std::exchange(was_heard_, true) && plain.substr(0, 5) == "HTTP/")
    return lose({.reason = EndReason::upstream_protocol,
                 .text = "speaks HTTP/1, not HTTP/2 (http2: on)",
                 .unprocessed = true});
  const auto fault = session_.feed(plain, loop_.now());
  if (!socket_) return;
  if (fault) return fail(*fault);
  later();
}

void Http2Link::on_end(int error) {
  std::string text =
      error == 0 ? "closed the connection" : fmt::format("broke the connection: {}", strerror(-error));
  if (!goaway_.empty()) text += fmt::format(" ({})", goaway_);
  if (!has_settings_) text += " before it spoke HTTP/2";
  lose({.reason = EndReason::upstream_unreachable, .text = std::move(text)});
}

void Http2Link::on_settings() {
  has_settings_ = true;
  owner_.on_link_room();
}

// Streams above the last one that the server names are closed by the library, as refused.
void Http2Link::on_goaway(uint32_t code) {
  closing_ = true;
  goaway_ = fmt::format("GOAWAY {}", nghttp2_http2_strerror(code));
  later();
}

void Http2Link::on_head_begins(int32_t id, bool) {
  LinkEntry* entry = find(id);
  if (entry != nullptr && !entry->has_head) entry->head = std::make_unique<http::StreamAnswer>();
}

bool Http2Link::on_field(int32_t id, bool, std::string_view name, std::string_view value) {
  LinkEntry* entry = find(id);
  if (entry == nullptr || entry->head == nullptr) return true;  // trailers
  entry->head->add(name, value, limits_.head_bytes);
  return entry->head->size() <= limits_.head_bytes * kHeadFactor;
}

void Http2Link::on_head(int32_t id, bool, bool ends) {
  LinkEntry* entry = find(id);
  if (entry == nullptr) return;
  if (const auto head = std::move(entry->head)) {
    auto text = head->text();
    if (!text) {
      entry->invalid = text.error().text;
      return reset(*entry, NGHTTP2_PROTOCOL_ERROR);
    }
    if (entry->stream != nullptr) entry->stream->give(*text);
    entry->has_head = !head->is_interim();
  }
  if (ends) on_body_end(id);
}

void Http2Link::on_body(int32_t id, std::string_view bytes) {
  nghttp2_session_consume_connection(session_.raw(), bytes.size());
  LinkEntry* entry = find(id);
  if (entry == nullptr) return;
  if (entry->stream != nullptr) return entry->stream->give(bytes);
  reset(*entry, NGHTTP2_CANCEL);  // more than the whole answer
}

void Http2Link::credit(LinkEntry& entry, size_t bytes) {
  if (bytes == 0 || !socket_ || entry.ended) return;
  nghttp2_session_consume_stream(session_.raw(), entry.id, bytes);
  later();
}

// A server that answers before it has read the whole request does not want the rest.
void Http2Link::on_body_end(int32_t id) {
  LinkEntry* entry = find(id);
  if (entry == nullptr || std::exchange(entry->ended, true)) return;
  if (!entry->sent_all) reset(*entry, NGHTTP2_NO_ERROR);
  if (entry->stream != nullptr) entry->stream->finish();
}

void Http2Link::on_reset(int32_t id, uint32_t) {
  if (LinkEntry* entry = find(id)) entry->was_reset = true;
}

void Http2Link::on_invalid(int32_t id, std::string_view why) {
  invalid_ = why;
  if (LinkEntry* entry = find(id)) entry->invalid = why;
}

LinkLoss Http2Link::loss_of(const LinkEntry& entry, uint32_t code) {
  LinkLoss loss;
  loss.unprocessed = true;
  if (code == NGHTTP2_REFUSED_STREAM && !goaway_.empty()) {
    loss.text = fmt::format("ends its connection, and did not take the request ({})", goaway_);
  } else if (code == NGHTTP2_REFUSED_STREAM) {
    is_saturated_ = true;
    loss.text = "refused the request (REFUSED_STREAM)";
  } else if (code == NGHTTP2_HTTP_1_1_REQUIRED) {
    closing_ = true;
    owner_.on_link_http1();
    loss.text = "requires HTTP/1.1 (HTTP_1_1_REQUIRED)";
  } else if (!entry.sent) {
    loss.text = entry.invalid.empty() ? "has no stream for the request" : entry.invalid;
  } else if (entry.was_reset) {
    loss.unprocessed = false;
    loss.text = fmt::format("reset the stream of the call ({})", nghttp2_http2_strerror(code));
  } else {
    loss.unprocessed = false;
    loss.reason = EndReason::upstream_protocol;
    loss.text = fmt::format("sent a response that is not valid HTTP/2: {}",
                            entry.invalid.empty() ? nghttp2_http2_strerror(code) : entry.invalid);
  }
  // A server that has begun its response has processed the request, whatever its frames claim.
  if (entry.has_head) loss.unprocessed = false;
  return loss;
}

void Http2Link::on_stream_closed(int32_t id, uint32_t code) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;
  std::unique_ptr<LinkEntry> entry = std::move(found->second);
  entries_.erase(found);
  if (!entry->sent) --unsent_;
  if (code == NGHTTP2_NO_ERROR) {
    is_saturated_ = false;
    session_.answered();
  }
  LinkLoss loss;
  LinkStream* stream = std::exchange(entry->stream, nullptr);
  const bool is_lost = stream != nullptr && !entry->ended;
  if (is_lost) loss = loss_of(*entry, code);
  // It has refused all requests, or has no number for another one.
  if (entries_.empty() && is_saturated_) closing_ = true;
  if (nghttp2_session_check_request_allowed(session_.raw()) == 0) closing_ = true;
  if (is_idle()) idle_at_ = loop_.now();
  later();
  owner_.on_link_room();
  loop_.retire(std::move(entry));
  if (is_lost) {
    stream->lose(std::move(loss));
  } else if (stream != nullptr) {
    stream->disconnect();
  }
}

// ---- to the server ----

void Http2Link::request(LinkStream& stream, std::string text) {
  std::erase(reserved_, &stream);
  auto entry = std::make_unique<LinkEntry>(stream);
  entry->begun_at = loop_.now();
  const size_t end = std::min(text.find("\r\n\r\n"), text.size() - 4) + 4;
  std::string head_text = text.substr(0, end);
  std::string body = std::move(text);
  body.erase(0, end);
  const auto head = http::stream_request(head_text);
  int32_t id = -1;
  if (head) {
    std::vector<nghttp2_nv> fields;
    fields.reserve(head->fields.size() + 4);
    fields.push_back(http2::Session::field(":method", head->method));
    fields.push_back(http2::Session::field(":scheme", tls_ ? "https" : "http"));
    fields.push_back(http2::Session::field(":authority", head->authority));
    fields.push_back(http2::Session::field(":path", head->path));
    for (const auto& [name, value] : head->fields)
      fields.push_back(http2::Session::field(name, value));
    entry->body.complete = true;
    const bool has_body = !body.empty();
    entry->body.push(std::move(body));
    const nghttp2_data_provider source = http2::Session::source(entry->body);
    id = nghttp2_submit_request(session_.raw(), nullptr, fields.data(), fields.size(),
                                has_body ? &source : nullptr, nullptr);
  }
  if (id < 0) {
    stream.disconnect();
    if (is_idle()) idle_at_ = loop_.now();
    later();
    return stream.lose_later({.text = "has no stream for the request", .unprocessed = true});
  }
  entry->id = id;
  stream.begun(*entry);
  if (entries_.empty()) look_at_ = loop_.now() + quiet_;
  entries_.emplace(id, std::move(entry));
  ++unsent_;
  later();
}

void Http2Link::on_head_sent(int32_t id) {
  LinkEntry* entry = find(id);
  if (entry == nullptr) return;
  if (!std::exchange(entry->sent, true)) --unsent_;
  entry->mark = mark_;
}

// The library closes the stream then.
void Http2Link::on_head_not_sent(int32_t id) {
  LinkEntry* entry = find(id);
  if (entry != nullptr && entry->invalid.empty())
    entry->invalid = "cannot be sent the request: its head is too large for HTTP/2, or the connection ends";
}

void Http2Link::on_end_sent(int32_t id) {
  LinkEntry* entry = find(id);
  if (entry == nullptr) return;
  entry->sent_all = true;
  sent_all_.push_back(id);
}

void Http2Link::on_drained() {
  for (const int32_t id : std::exchange(sent_all_, {})) {
    LinkEntry* entry = find(id);
    if (entry != nullptr && entry->stream != nullptr) entry->stream->drained();
    if (!socket_) return;
  }
  later();
}

// Once, whatever else comes on it meanwhile.
void Http2Link::reset(LinkEntry& entry, uint32_t code) {
  if (!socket_ || std::exchange(entry.resets, true)) return;
  entry.body.drop();
  nghttp2_submit_rst_stream(session_.raw(), NGHTTP2_FLAG_NONE, entry.id, code);
  later();
}

// Its reader leaves.
void Http2Link::close(LinkStream& stream) {
  LinkEntry* entry = stream.entry();
  if (entry == nullptr) {
    if (std::erase(reserved_, &stream) > 0) {
      if (is_idle()) idle_at_ = loop_.now();
      later();
      owner_.on_link_room();
    }
    return;
  }
  entry->stream = nullptr;
  if (entry->ended) return;
  if (stream.is_answered()) {
    entry->left_at = loop_.now();
    any_left_ = true;
    return later();
  }
  reset(*entry, NGHTTP2_CANCEL);
  doubt(*entry);
}

// With HTTP/1.1 a connection is lost when its server does not answer a call. This one has to show that it
// works before it gets the next call.
void Http2Link::doubt(const LinkEntry& entry) {
  if (!entry.sent || heard_at_ > entry.begun_at || loop_.now() - entry.begun_at < kSilence) return;
  if (std::exchange(is_doubtful_, true)) return;
  nghttp2_submit_ping(session_.raw(), NGHTTP2_FLAG_NONE, nullptr);
}

bool Http2Link::got_nothing(const LinkEntry& entry) const {
  return !entry.sent || (socket_ && socket_->sent() <= entry.mark);
}

void Http2Link::write(std::string bytes) {
  if (tls_) {
    tls_->write(bytes);
    bytes = tls_->take_output();
  }
  socket_->write(std::move(bytes));
  mark_ = socket_->sent() + socket_->backlog();
}

void Http2Link::flush() {
  std::string out;
  mark_ = socket_->sent() + socket_->backlog();
  while (socket_->backlog() + out.size() < kMostUnsent) {
    const std::string_view bytes = session_.output();
    if (!socket_ || bytes.empty()) break;
    out += bytes;
    if (out.size() >= kPiece) write(std::exchange(out, {}));
  }
  if (socket_ && !out.empty()) write(std::move(out));
}

void Http2Link::run() {
  if (!socket_) return;
  flush();
  if (!socket_) return;
  const bool is_over =
      nghttp2_session_want_read(session_.raw()) == 0 && nghttp2_session_want_write(session_.raw()) == 0;
  // The library has ended the session by itself.
  if (is_over && !entries_.empty()) {
    socket_->flush_now();
    return lose({.reason = EndReason::upstream_protocol,
                 .text = fmt::format("does not keep to HTTP/2: {}",
                                     invalid_.empty() ? "it broke the protocol" : invalid_)});
  }
  if (is_idle() && (is_over || closing_ || !owner_.on_link_idle())) return finish();
  const bool has_no_room = closing_ || (!entries_.empty() && is_full());
  if (has_no_room && awaits_only_room()) return finish();
  watch();
}

// ---- its end ----

void Http2Link::end_when_idle() {
  closing_ = true;
  later();
}

void Http2Link::fail(http2::Session::Fault fault) {
  say_last(http2::Session::goaway_code(fault));
  lose({.reason = EndReason::upstream_protocol, .text = sentence(fault, session_.protocol_error())});
}

void Http2Link::say_last(uint32_t code) {
  nghttp2_session_terminate_session(session_.raw(), code);
  flush();
  socket_->flush_now();
}

void Http2Link::finish() {
  say_last(NGHTTP2_NO_ERROR);
  lose({});
}

void Http2Link::cut() {
  if (socket_) lose({.text = "is not used any more"});
}

// Ends all streams.
void Http2Link::lose(const LinkLoss& why) {
  if (!socket_) return;
  std::vector<std::pair<LinkStream*, bool>> streams;
  for (LinkStream* stream : std::exchange(reserved_, {}))
    streams.emplace_back(stream, true);
  for (const auto& [id, entry] : entries_) {
    if (LinkStream* stream = std::exchange(entry->stream, nullptr))
      streams.emplace_back(stream, why.unprocessed || got_nothing(*entry));
  }
  shut();
  owner_.on_link_over(*this);
  // A stream that loses its connection may close others.
  for (const auto& [stream, unprocessed] : streams)
    stream->disconnect();
  for (const auto& [stream, unprocessed] : streams) {
    LinkLoss loss = why;
    loss.unprocessed = unprocessed;
    stream->lose(std::move(loss));
  }
}

void Http2Link::shut() {
  if (!socket_) return;
  timer_.stop();
  run_later_.cancel();
  socket_->close();
  loop_.retire(std::move(socket_));
  lease_.reset();
}

// ---- time ----

void Http2Link::watch() {
  milliseconds due = milliseconds::max();
  if (!has_settings_) due = deadline_;
  if (is_idle()) due = std::min(due, idle_at_ + owner_.link_idle_timeout());
  if (!entries_.empty()) due = std::min(due, look_at_);
  if (any_left_) {
    any_left_ = false;
    for (const auto& [id, entry] : entries_) {
      if (entry->left_at.count() == 0) continue;
      any_left_ = true;
      due = std::min(due, entry->left_at + kLinger);
    }
  }
  if (unsent_ > 0 && is_full()) {
    for (const auto& [id, entry] : entries_) {
      if (!entry->sent && entry->stream != nullptr) due = std::min(due, entry->begun_at + connect_limit_);
    }
  }
  if (due == milliseconds::max()) return timer_.stop();
  if (timer_.running() && due_ == due) return;
  due_ = due;
  timer_.start(std::max(due - loop_.now(), milliseconds(1)), [this] { check(); });
}

// As many streams have begun as the server allows now. Else a request that is not sent waits for the socket.
bool Http2Link::is_full() const {
  return entries_.size() - unsent_ >= most_streams();
}

// No stream is left but those of requests that were given up before the server allowed them.
bool Http2Link::awaits_only_room() const {
  return reserved_.empty() && std::all_of(entries_.begin(), entries_.end(), [](const auto& entry) {
           return !entry.second->sent && entry.second->stream == nullptr;
         });
}

// The server has lowered the number of streams, to none even, and does not raise it.
void Http2Link::give_up(LinkEntry& entry) {
  closing_ = true;
  LinkStream* stream = std::exchange(entry.stream, nullptr);
  reset(entry, NGHTTP2_CANCEL);
  stream->disconnect();
  stream->lose_later(
      {.reason = EndReason::timeout_connect,
       .text = fmt::format("allowed no further HTTP/2 stream in time ({} ms, lineward timeouts.connect)",
                           connect_limit_.count()),
       .limit_ms = connect_limit_.count(),
       .unprocessed = true});
  later();
}

void Http2Link::check() {
  const milliseconds now = loop_.now();
  if (!has_settings_ && now >= deadline_)
    return lose({.reason = EndReason::timeout_connect,
                 .text = fmt::format("did not begin HTTP/2 at {} in time ({} ms, lineward timeouts.connect)",
                                     address_, connect_limit_.count()),
                 .limit_ms = connect_limit_.count()});
  if (is_idle() && now - idle_at_ >= owner_.link_idle_timeout()) return finish();
  // The kernel notices it by itself only if nothing was sent meanwhile.
  if (!entries_.empty() && now >= look_at_) {
    look_at_ = now + quiet_;
    if (socket_->peer_is_silent(quiet_)) return on_end(-ETIMEDOUT);
  }
  std::vector<LinkEntry*> unsent;
  if (unsent_ > 0 && is_full()) {
    for (const auto& [id, entry] : entries_) {
      if (!entry->sent && entry->stream != nullptr && now - entry->begun_at >= connect_limit_)
        unsent.push_back(entry.get());
    }
  }
  for (LinkEntry* entry : unsent)
    give_up(*entry);
  for (const auto& [id, entry] : entries_) {
    if (entry->left_at.count() == 0 || now - entry->left_at < kLinger) continue;
    entry->left_at = milliseconds(0);
    reset(*entry, NGHTTP2_CANCEL);
  }
  watch();
}

}  // namespace lineward::upstream
