#include "proxy/client/http/http_reply.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "foundation/base/string_pool.h"
#include "proxy/client/http/client_connection.h"
#include "proxy/client/http/resource_names.h"
#include "proxy/metrics/limits.h"

namespace lineward::client {
namespace {

constexpr uint64_t kBurst = 16;
constexpr size_t kForget = 256;  // boundaries below sent_ before they are erased
constexpr std::chrono::milliseconds kStall{1000};

}  // namespace

HttpReply::HttpReply(net::Loop& loop, ClientConnection& connection, ReplyOptions&& options,
                     ClientLeft client_left)
    : ConnectionReply(loop, connection, std::move(options), std::move(client_left)),
      cut_later_(
          loop,
          [](void* it) {
            auto* self = static_cast<HttpReply*>(it);
            if (self->connected()) self->connection_->cut(*self->lost_);
          },
          this) {}

HttpReply::~HttpReply() = default;

void HttpReply::open_stream() {
  if (!may_answer()) return;
  start_events();
  if (!options_.prime_id.empty()) prime();
}

void HttpReply::announce(std::string_view event, std::string_view data) {
  if (!may_answer()) return;
  start_events();
  piece("event: " + std::string(event) + "\ndata: " + std::string(data) + "\n\n");
}

void HttpReply::start_events() {
  streamed_ = true;
  sent_at_ = loop_.now();
  http::ResponseHead head = begin_head(200, "text/event-stream");
  head.headers = std::move(options_.headers);
  add_extra(head.headers);
  connection_->add_headers(head.headers);
  head.headers.push_back({"Cache-Control", "no-cache, no-transform"});
  head.headers.push_back({"X-Accel-Buffering", "no"});
  add_session(head.headers);
  write_part(http::streaming_head(head));
}

void HttpReply::add_session(std::vector<http::OutHeader>& headers) {
  if (options_.name_session) {
    options_.session_header = options_.name_session();
    if (!options_.session_header.empty()) connection_->sharing().named(options_.session_header);
  }
  if (!options_.session_header.empty()) headers.push_back({"Mcp-Session-Id", options_.session_header});
}

void HttpReply::write_part(std::string bytes) {
  write(std::move(bytes));
  boundaries_.push_back(bytes_out_);
}

void HttpReply::piece(const std::string& event) {
  write_part(http::body_piece(event, options_.minor_version));
}

void HttpReply::event(std::string message, std::string_view id) {
  http::EventPieces event = http::sse_event(std::move(message), id, options_.minor_version);
  if (event.data.empty()) return write_part(std::move(event.before));
  write(std::move(event.before));
  write(std::move(event.data));
  write_part(std::string(event.after));
}

// The bytes behind the message being written are capped; that message is not, so one of any legal size gets
// through. Over the cap, a client is too slow when it has read nothing for kStall, or when kBurst times the
// cap is pending.
bool HttpReply::too_slow() {
  auto behind = [&] {
    uint64_t sent = bytes_out_ - std::min<uint64_t>(bytes_out_, connection_->backlog());
    if (sent != sent_) {
      sent_ = sent;
      sent_at_ = loop_.now();
    }
    while (passed_ < boundaries_.size() && boundaries_[passed_] <= sent)
      ++passed_;
    if (passed_ == boundaries_.size()) {
      boundaries_.clear();
      passed_ = 0;
    } else if (passed_ >= kForget && passed_ > boundaries_.size() / 2) {
      boundaries_.erase(boundaries_.begin(), boundaries_.begin() + static_cast<std::ptrdiff_t>(passed_));
      passed_ = 0;
    }
    return boundaries_.size() - passed_ < 2 ? 0 : bytes_out_ - boundaries_[passed_];
  };
  if (behind() <= options_.max_backlog_bytes) return false;
  connection_->flush_now();
  uint64_t waiting = behind();
  if (waiting <= options_.max_backlog_bytes) return false;
  return waiting > kBurst * options_.max_backlog_bytes || loop_.now() - sent_at_ > kStall;
}

void HttpReply::send(std::string message) {
  send_event(std::move(message), {});
}

void HttpReply::finish(std::string message, int status) {
  finish_event(std::move(message), status, {});
}

void HttpReply::send_event(std::string message, std::string_view event_id) {
  if (!can_send()) return;
  if (too_slow()) {
    metrics::limit_reached(metrics::Limit::stream_backlog);
    return cut_soon(mcp::EndReason::client_too_slow);
  }
  if (!head_sent_) start_events();
  may_prime_ = false;
  event(std::move(message), event_id);
}

// Deferred: the sender is on the stack, and must not be notified of its own end before it returns.
void HttpReply::cut_soon(mcp::EndReason why) {
  lost_ = why;
  cut_later_.schedule();
}

void HttpReply::finish_event(std::string message, int status, std::string_view event_id) {
  if (!connected() || finished_) return;
  if (lost_) return cut();  // a stream with missing messages must not look complete
  // A status is more useful than an error event in a stream that has not begun.
  if (!head_sent_ && (options_.takes_json || status != 200)) {
    http::ResponseHead head = begin_head(status, "application/json");
    head.headers = std::move(options_.headers);
    add_extra(head.headers);
    connection_->add_headers(head.headers);
    if (status == 200) add_session(head.headers);
    if (status == 200 && message.size() >= http::kOwnPiece) {
      write(http::full_head(head, message.size()));
      write(std::move(message));
    } else {
      write(http::full_response(head, message));
      StringPool::give(std::move(message));
    }
    return done();
  }
  if (!head_sent_) start_events();
  event(std::move(message), event_id);
  write(http::body_end(options_.minor_version));
  done();
}

void HttpReply::add_headers(const core::HeaderFields& fields) {
  if (!may_answer()) return;
  auto told = told_headers(fields, options_.resource.get(), connection_->head(), connection_->is_secure());
  std::move(told.begin(), told.end(), std::back_inserter(extra_));
}

void HttpReply::add_header(std::string_view name, std::string value) {
  if (http::equals_ignoring_case(name, "WWW-Authenticate"))
    return core::ReplyStream::add_header(name, std::move(value));
  if (!may_answer()) return;
  if (extra_.empty()) extra_.reserve(4);
  extra_.push_back({std::string(name), std::move(value)});
}

void HttpReply::add_extra(std::vector<http::OutHeader>& headers) {
  if (headers.empty()) {
    headers = std::move(extra_);
  } else {
    std::move(extra_.begin(), extra_.end(), std::back_inserter(headers));
  }
}

void HttpReply::finish_empty() {
  if (!connected() || finished_) return;
  if (lost_) return cut();
  if (!head_sent_) start_events();
  write(http::body_end(options_.minor_version));
  done();
}

void HttpReply::on_beat(Beat beat) {
  if (!can_send()) return;
  if (!head_sent_) return open_with_beat();
  if (too_slow()) return;
  // Once the client has an event id, a disconnect is not a cancel by itself: a call that ends soon gets no
  // id.
  if (beat == Beat::first && std::exchange(may_prime_, false)) return prime();
  piece(http::sse_comment());
}

// A quiet stream begins with a comment; the priming event of a resumable stream comes with the next beat.
void HttpReply::open_with_beat() {
  start_events();
  may_prime_ = !options_.prime_id.empty();
  piece(http::sse_comment());
}

void HttpReply::prime() {
  primed_ = true;
  piece(http::sse_prime(options_.prime_id));
}

}  // namespace lineward::client
