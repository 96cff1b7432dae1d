#include "proxy/client/http2/http2_connection.h"

#include <fmt/format.h>
#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <utility>

#include "foundation/log/log.h"
#include "foundation/net/byte_stream.h"
#include "proxy/client/http2/channel.h"
#include "proxy/client/http2/http2_stream.h"
#include "proxy/client/http2/relay.h"

namespace lineward::client {
namespace {

using std::chrono::milliseconds;

// Bytes of a request body that may be on their way: of one stream, and of all together.
constexpr uint32_t kStreamWindow = 256 * 1024;
constexpr int32_t kConnectionWindow = 1024 * 1024;
// The socket gets no more than it takes. So the backlog of each stream is known, and short answers do not
// wait for long ones.
constexpr size_t kMostUnsent = 64 * 1024;
constexpr size_t kPiece = 16 * 1024;
// Ends that are kept for the next streams.
constexpr size_t kMostIdle = 8;
// A head that is this many times too large is not read to its end.
constexpr size_t kHeadFactor = 4;
// After the last answer the client gets this time to close.
constexpr milliseconds kLinger{2000};
constexpr milliseconds kLeastCheck{1000};

std::string_view sentence(http2::Session::Fault fault, std::string_view protocol_error) {
  switch (fault) {
    case http2::Session::Fault::resets: return "the client resets streams faster than it may";
    case http2::Session::Fault::control_frames:
      return "the client sends more control frames than it may (SETTINGS, PING, WINDOW_UPDATE, empty DATA)";
    case http2::Session::Fault::head:
      return "a compressed head is larger than it may be (listen.maxHeadBytes), or in too many frames";
    case http2::Session::Fault::fields: return "a head is larger than it may be (listen.maxHeadBytes)";
    case http2::Session::Fault::push: return "the client pushes";
    case http2::Session::Fault::protocol: break;
  }
  return protocol_error;
}

metrics::Http2Fault counted_as(http2::Session::Fault fault) {
  switch (fault) {
    case http2::Session::Fault::resets: return metrics::Http2Fault::resets;
    case http2::Session::Fault::control_frames: return metrics::Http2Fault::control_frames;
    case http2::Session::Fault::head:
    case http2::Session::Fault::fields: return metrics::Http2Fault::head;
    case http2::Session::Fault::push:
    case http2::Session::Fault::protocol: break;
  }
  return metrics::Http2Fault::protocol;
}

void count(metrics::Http2Stream how) {
  ++metrics::stats().http2_streams[static_cast<size_t>(how)];
}

}  // namespace

Http2Connection::Http2Connection(net::Loop& loop, const config::Listen& limits, Http2Owner& owner,
                                 std::unique_ptr<net::Stream> stream, std::string peer, AccountPtr account)
    : loop_(loop),
      limits_(limits),
      owner_(owner),
      stream_(std::move(stream)),
      peer_(std::move(peer)),
      account_(std::move(account)),
      session_(http2::Session::Side::server, *this, limits.max_head_bytes),
      began_at_(loop.now()),
      idle_at_(loop.now()),
      timer_(loop),
      run_later_(
          loop, [](void* self) { static_cast<Http2Connection*>(self)->run(); }, this) {
  stream_->set_owner(this);
  stream_->charge(account_);
  ++metrics::stats().http2_connections;
}

Http2Connection::~Http2Connection() {
  close();
}

void Http2Connection::begin(std::string_view first) {
  const std::array<nghttp2_settings_entry, 4> settings{{
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits_.max_streams},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kStreamWindow},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, limits_.max_head_bytes},
      {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
  }};
  nghttp2_submit_settings(session_.raw(), NGHTTP2_FLAG_NONE, settings.data(), settings.size());
  nghttp2_session_set_local_window_size(session_.raw(), NGHTTP2_FLAG_NONE, 0, kConnectionWindow);
  stream_->start_reading();
  later();
  if (!first.empty()) on_data(first);
}

std::optional<milliseconds> Http2Connection::idle_for() const {
  if (!may_ask() || !streams_.empty() || stream_->backlog() > 0) return std::nullopt;
  return loop_.now() - idle_at_;
}

// ---- from the client ----

void Http2Connection::on_data(std::string_view bytes) {
  if (ending_) return;
  const auto fault = session_.feed(bytes, loop_.now());
  head_at_ = !session_.in_head() ? milliseconds(0) : head_at_.count() > 0 ? head_at_ : loop_.now();
  if (!stream_) return;
  if (fault)
    return fail(counted_as(*fault), sentence(*fault, session_.protocol_error()),
                http2::Session::goaway_code(*fault));
  later();
}

void Http2Connection::on_end(int) {
  note_client_end();
  close();
}

Http2Stream* Http2Connection::find(int32_t id) {
  const auto found = streams_.find(id);
  return found == streams_.end() || found->second->closed ? nullptr : found->second.get();
}

void Http2Connection::on_head_begins(int32_t id, bool first) {
  if (first) streams_.emplace(id, std::make_unique<Http2Stream>(id));
}

bool Http2Connection::on_field(int32_t id, bool first, std::string_view name, std::string_view value) {
  if (!first) return true;  // trailers
  Http2Stream* stream = find(id);
  if (stream == nullptr || stream->head == nullptr) return true;
  const size_t most = limits_.max_head_bytes;
  stream->head->add(name, value, most);
  return stream->head->size() <= most * kHeadFactor;
}

void Http2Connection::on_head(int32_t id, bool first, bool ends) {
  Http2Stream* stream = find(id);
  if (stream == nullptr) return;
  if (first) {
    read_request(*stream, ends);
  } else if (ends) {
    on_body_end(id);
  }
}

StreamEnd* Http2Connection::choose_end(Http2Stream& stream) {
  for (const auto& relay : relays_) {
    if (relay->is_idle() && relay->path() == stream.path && relay->is_quiet()) return relay.get();
  }
  if (!idle_channels_.empty()) {
    Channel* last = idle_channels_.back();  // it knows the last request's head
    idle_channels_.pop_back();
    return last;
  }
  auto made = std::make_unique<Channel>(loop_, *this);
  Channel* channel = made.get();
  channels_.push_back(channel);
  if (owner_.on_channel(*this, std::move(made))) return channel;
  forget(*channel);
  return nullptr;
}

void Http2Connection::read_request(Http2Stream& stream, bool ends) {
  stream.has_body = ends;
  const std::unique_ptr<http::StreamHead> head = std::move(stream.head);
  if (head == nullptr) return;
  auto text = head->text(!ends);
  stream.path = std::hash<std::string>()(head->path());
  stream.is_chunked = head->is_chunked();
  if (!text) {
    count(metrics::Http2Stream::refused);
    return send_reset(stream, NGHTTP2_PROTOCOL_ERROR);
  }
  StreamEnd* end = choose_end(stream);
  if (end == nullptr) {
    count(metrics::Http2Stream::refused);
    return send_reset(stream, NGHTTP2_REFUSED_STREAM);
  }
  stream.end = end;
  stream.answer.begin(head->is_head_request());
  end->begin(stream);
  end->give(*text);
}

void Http2Connection::on_body(int32_t id, std::string_view bytes) {
  Http2Stream* found = find(id);
  if (found == nullptr) {
    nghttp2_session_consume(session_.raw(), id, bytes.size());
    return;
  }
  Http2Stream& stream = *found;
  stream.untaken += bytes.size();
  if (stream.end != nullptr) {
    if (stream.is_chunked) {
      stream.end->give(fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes));
    } else {
      stream.end->give(bytes);
    }
  }
  may_give(stream);
}

void Http2Connection::on_body_end(int32_t id) {
  Http2Stream* stream = find(id);
  if (stream == nullptr) return;
  stream->has_body = true;
  if (stream->end != nullptr && stream->is_chunked) stream->end->give("0\r\n\r\n");
}

// The client may send as much again, unless the other end is full.
void Http2Connection::may_give(Http2Stream& stream) {
  if (stream.untaken == 0 || stream.closed || !stream_) return;
  if (stream.end != nullptr && stream.end->is_full()) return;
  nghttp2_session_consume(session_.raw(), stream.id, std::exchange(stream.untaken, 0));
  later();
}

void Http2Connection::on_stream_closed(int32_t id, uint32_t code) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  Http2Stream& stream = *found->second;
  stream.closed = true;
  if (stream.untaken > 0)
    nghttp2_session_consume_connection(session_.raw(), std::exchange(stream.untaken, 0));
  stream.body.clear();
  closed_.push_back({std::move(found->second), code == NGHTTP2_NO_ERROR && stream.sent});
  streams_.erase(found);
  if (streams_.empty()) idle_at_ = loop_.now();
  later();
}

// ---- to the client ----

void Http2Connection::answer(Http2Stream& stream, std::string bytes) {
  if (stream.closed || !stream_) return;
  http::AnswerParts parts;
  if (!stream.answer.take(std::move(bytes), parts)) return send_reset(stream, NGHTTP2_INTERNAL_ERROR);
  if (stream.body.empty()) stream.progress_at = loop_.now();
  for (std::string& piece : parts.pieces)
    stream.body.push(std::move(piece));
  stream.body.complete |= parts.complete;
  stream.keeps_connection &= parts.keeps_connection;
  for (const http::AnswerHead& head : parts.heads)
    send_head(stream, head, head.status >= 200 && stream.body.complete && stream.body.empty());
  if (parts.heads.empty()) session_.resume(stream.id, stream.body);
  later();
}

void Http2Connection::send_head(Http2Stream& stream, const http::AnswerHead& head, bool ends) {
  const std::string status = std::to_string(head.status);
  std::vector<nghttp2_nv> fields;
  fields.reserve(head.fields.size() + 1);
  fields.push_back(http2::Session::field(":status", status));
  for (const auto& [name, value] : head.fields)
    fields.push_back(http2::Session::field(name, value));
  if (head.status < 200) {
    nghttp2_submit_headers(session_.raw(), NGHTTP2_FLAG_NONE, stream.id, nullptr, fields.data(),
                           fields.size(), nullptr);
    return;
  }
  stream.answering = true;
  const nghttp2_data_provider body = http2::Session::source(stream.body);
  nghttp2_submit_response(session_.raw(), stream.id, fields.data(), fields.size(), ends ? nullptr : &body);
}

void Http2Connection::on_body_taken(int32_t id) {
  Http2Stream* stream = find(id);
  if (stream == nullptr) return;
  stream->progress_at = loop_.now();
  if (stream->body.empty() && !stream->body.complete) drained_.push_back(id);
}

// A client that still sends its request learns that it need not (RFC 9113, 8.1).
void Http2Connection::on_end_sent(int32_t id) {
  Http2Stream* stream = find(id);
  if (stream == nullptr) return;
  stream->sent = true;
  if (!stream->has_body) nghttp2_submit_rst_stream(session_.raw(), NGHTTP2_FLAG_NONE, id, NGHTTP2_NO_ERROR);
}

void Http2Connection::send_reset(const Http2Stream& stream, uint32_t code) {
  if (stream.closed || !stream_) return;
  nghttp2_submit_rst_stream(session_.raw(), NGHTTP2_FLAG_NONE, stream.id, code);
  later();
}

void Http2Connection::reset(Http2Stream& stream) {
  end(stream, NGHTTP2_INTERNAL_ERROR);
}

void Http2Connection::refuse(Http2Stream& stream) {
  end(stream, NGHTTP2_REFUSED_STREAM);
}

void Http2Connection::end(Http2Stream& stream, uint32_t code) {
  stream.end = nullptr;
  if (!stream.sent) count(metrics::Http2Stream::cut);
  stream.body.drop();
  send_reset(stream, code);
}

void Http2Connection::flush_now() {
  if (session_.is_busy() || !stream_) return;
  flush();
  if (stream_) stream_->flush_now();
}

void Http2Connection::later() {
  run_later_.schedule();
}

void Http2Connection::run() {
  flush();
  settle();
  if (!stream_) return;
  const bool wants =
      nghttp2_session_want_read(session_.raw()) != 0 || nghttp2_session_want_write(session_.raw()) != 0;
  const bool served = last_words_ && streams_.empty() && nghttp2_session_want_write(session_.raw()) == 0;
  if (!wants) note_client_end();  // by its GOAWAY
  if (!wants || served) return finish();
  watch();
}

void Http2Connection::flush() {
  std::string out;
  const auto queued = [&] { return stream_->backlog() + out.size(); };
  while (stream_ && queued() < kMostUnsent) {
    const std::string_view bytes = session_.output();
    if (bytes.empty()) break;
    out += bytes;
    if (out.size() < kPiece) continue;
    written_ += out.size();
    stream_->write(std::exchange(out, {}));
  }
  if (!stream_) return;
  written_ += out.size();
  stream_->write(std::move(out));
}

size_t Http2Connection::backlog() const {
  size_t sum = stream_ ? stream_->backlog() : 0;
  for (const auto& relay : relays_)
    sum += relay->backlog();
  return sum;
}

// Tells the ends of streams what happened to them. They may begin, answer and reset streams meanwhile.
void Http2Connection::settle() {
  for (Closed& closed : std::exchange(closed_, {})) {
    const Http2Stream& stream = *closed.stream;
    if (closed.whole) {
      session_.answered();
      count(metrics::Http2Stream::answered);
    } else if (stream.end != nullptr) {
      count(metrics::Http2Stream::left);
    }
    if (stream.end == nullptr) continue;
    if (closed.whole) {
      stream.end->finished(stream.keeps_connection && stream.has_body && may_keep_end());
    } else {
      stream.end->leave();
    }
    loop_.retire(std::move(closed.stream));
  }
  for (const int32_t id : std::exchange(drained_, {})) {
    Http2Stream* stream = find(id);
    if (stream != nullptr && stream->end != nullptr && stream->body.empty()) stream->end->drained();
  }
}

bool Http2Connection::may_keep_end() const {
  const auto idle =
      std::count_if(relays_.begin(), relays_.end(), [](const auto& one) { return one->is_idle(); });
  return may_ask() && idle_channels_.size() + static_cast<size_t>(idle) < kMostIdle;
}

void Http2Connection::on_drained() {
  if (ending_) return linger(0);
  progress_at_ = loop_.now();
  later();
}

// ---- the ends of streams ----

bool Http2Connection::move_to_relay(Http2Stream& stream, int socket) {
  auto made = net::ByteStream::from_socket(loop_, socket);
  if (!made) return false;
  auto relay = std::make_unique<Relay>(*this, std::move(*made));
  stream.end = relay.get();
  stream.end->begin(stream);
  relays_.push_back(std::move(relay));
  return true;
}

void Http2Connection::forget(Channel& channel) {
  const auto remove = [&](std::vector<Channel*>& from) {
    from.erase(std::remove(from.begin(), from.end(), &channel), from.end());
  };
  remove(channels_);
  remove(idle_channels_);
}

void Http2Connection::forget(Relay& relay) {
  const auto found =
      std::find_if(relays_.begin(), relays_.end(), [&](const auto& one) { return one.get() == &relay; });
  if (found == relays_.end()) return;
  loop_.retire(std::move(*found));
  relays_.erase(found);
}

// ---- its own end ----

// A client that answers Lineward's end of the connection has not left.
void Http2Connection::note_client_end() {
  if (!last_words_ && !announced_) end_->by_client(loop_.now());
}

void Http2Connection::announce_end() {
  if (!may_ask()) return;
  announced_ = true;
  nghttp2_submit_shutdown_notice(session_.raw());
  later();
}

void Http2Connection::end_when_idle() {
  if (!may_ask()) return;
  last_words_ = true;
  nghttp2_submit_goaway(session_.raw(), NGHTTP2_FLAG_NONE,
                        nghttp2_session_get_last_proc_stream_id(session_.raw()), NGHTTP2_NO_ERROR, nullptr,
                        0);
  later();
}

// Counted each, logged at powers of two: a flood must not become a flood of log lines.
void Http2Connection::fail(metrics::Http2Fault fault, std::string_view why, uint32_t code) {
  const uint64_t times = ++metrics::stats().http2_faults[static_cast<size_t>(fault)];
  if ((times & (times - 1)) == 0)
    log::write(log::Level::warn, "http2.failed", {{"why", why}, {"count", times}, {"remote", peer_}});
  say_last(code);
}

void Http2Connection::end_now() {
  say_last(NGHTTP2_NO_ERROR);
}

void Http2Connection::say_last(uint32_t code) {
  nghttp2_session_terminate_session(session_.raw(), code);
  flush();
  if (stream_) stream_->flush_now();
  close();
}

// Sends what is queued, then waits for the client to close.
void Http2Connection::finish() {
  if (std::exchange(ending_, true)) return;
  last_words_ = true;
  stream_->end_writes();
  linger(stream_->backlog());
}

// Its client may still read the last answers: `left` bytes of them wait for the socket.
void Http2Connection::linger(size_t left) {
  timer_.start(left > 0 ? limits_.write_timeout : kLinger, [this, left] {
    const size_t now = stream_->backlog();
    now > 0 && now < left ? linger(now) : close();
  });
}

void Http2Connection::cut() {
  close();
}

void Http2Connection::close() {
  if (!stream_) return;
  timer_.stop();
  run_later_.cancel();
  end_->by_gateway();  // unless its client closed it first
  stream_->close();
  loop_.retire(std::move(stream_));
  --metrics::stats().http2_connections;
  for (Channel* channel : std::exchange(channels_, {}))
    channel->lose_connection();
  for (auto& relay : std::exchange(relays_, {}))
    loop_.retire(std::move(relay));
  owner_.on_closed(*this);
}

// ---- time ----

void Http2Connection::watch() {
  const milliseconds now = loop_.now();
  milliseconds due = now + std::max(limits_.keep_alive, kLeastCheck);
  if (streams_.empty() && stream_->backlog() == 0) due = idle_at_ + limits_.idle_timeout;
  if (session_.awaits_preface()) due = std::min(due, began_at_ + limits_.head_timeout);
  if (head_at_.count() > 0) due = std::min(due, head_at_ + limits_.head_timeout);
  if (timer_.running() && due_ <= due) return;
  due_ = due;
  timer_.start(std::max(due - now, milliseconds(1)), [this] { check(); });
}

void Http2Connection::check() {
  const milliseconds now = loop_.now();
  const bool no_preface = session_.awaits_preface() && now - began_at_ >= limits_.head_timeout;
  if (no_preface || (head_at_.count() > 0 && now - head_at_ >= limits_.head_timeout)) {
    metrics::limit_reached(metrics::Limit::head_timeout);
    return fail(metrics::Http2Fault::head, "a head was not complete in time (listen.headTimeout)",
                NGHTTP2_ENHANCE_YOUR_CALM);
  }
  const size_t backlog = stream_->backlog();
  const uint64_t taken = written_ - std::min<uint64_t>(written_, backlog);
  if (backlog == 0 || taken != std::exchange(last_taken_, taken)) progress_at_ = now;
  if (now - progress_at_ >= limits_.write_timeout) {
    metrics::limit_reached(metrics::Limit::write_timeout);
    for (const auto& [id, stream] : streams_)
      stream->too_slow = true;
    return close();
  }
  // A client that opens no window for a stream. Channels count as much themselves, relays do not.
  for (const auto& [id, stream] : streams_) {
    if (stream->body.empty() || now - stream->progress_at < limits_.write_timeout) continue;
    metrics::limit_reached(metrics::Limit::write_timeout);
    stream->too_slow = true;
    send_reset(*stream, NGHTTP2_CANCEL);
  }
  if (!streams_.empty() && stream_->peer_is_silent(std::max(limits_.keep_alive, kLeastCheck))) return close();
  if (streams_.empty() && backlog == 0 && now - idle_at_ >= limits_.idle_timeout) {
    // GOAWAY; the client may close first.
    if (last_words_) return close();
    end_when_idle();
  }
  watch();
}

}  // namespace lineward::client
