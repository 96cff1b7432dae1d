#include "proxy/client/http/connection_reply.h"

#include <algorithm>
#include <utility>

#include "proxy/client/http/client_connection.h"
#include "proxy/metrics/limits.h"

namespace lineward::client {
namespace {

// The fraction of the cap (1/n) above which a server is paused.
constexpr uint64_t kHighWatermark = 4;
// A proxy that does not watch its client's connection notices the disconnect at its second write, after the
// first was answered with a reset.
constexpr std::chrono::milliseconds kEcho{300};

}  // namespace

ConnectionReply::ConnectionReply(net::Loop& loop, ClientConnection& connection, ReplyOptions&& options,
                                 ClientLeft client_left)
    : loop_(loop),
      connection_(&connection),
      options_(std::move(options)),
      client_left_(std::move(client_left)),
      beat_(loop),
      wrote_at_(loop.now()),
      stall_(loop) {
  connection.attach(this);
  const bool head_first = options_.head_within.count() > 0;
  beat_in(head_first ? std::min(options_.head_within, options_.comment_every) : options_.comment_every);
}

ConnectionReply::~ConnectionReply() {
  if (connection_ != nullptr) std::exchange(connection_, nullptr)->reply_dropped();
}

void ConnectionReply::beat_in(std::chrono::milliseconds time) {
  beat_.start(time, [this] { beat(); });
}

// Each write postpones the next beat: the timer is not restarted, but checks again when it fires.
void ConnectionReply::beat() {
  const std::chrono::milliseconds every = options_.comment_every, quiet = loop_.now() - wrote_at_;
  const bool again = std::exchange(echoes_, false) && quiet >= kEcho;
  const bool due = !head_sent_ || again || quiet >= every;
  beat_in(due ? every : every - quiet);
  if (connection_->client_is_silent(every)) return connection_->cut(mcp::EndReason::cancelled_client);
  if (!due) return;
  const uint64_t before = bytes_out_;
  on_beat(again ? Beat::again : Beat::first);
  if (again || bytes_out_ == before || finished_ || connection_ == nullptr) return;
  echoes_ = options_.beats_twice && every > kEcho;
  if (echoes_) beat_in(kEcho);
}

http::ResponseHead ConnectionReply::begin_head(int status, std::string_view content_type) {
  head_sent_ = true;
  status_ = status;
  keep_alive_ = options_.minor_version == 1 && connection_->may_keep_alive();
  http::ResponseHead head;
  head.status = status;
  head.keep_alive = keep_alive_;
  head.minor_version = options_.minor_version;
  head.content_type = content_type;
  return head;
}

void ConnectionReply::write(std::string bytes) {
  bytes_out_ += bytes.size();
  wrote_at_ = loop_.now();
  connection_->write(std::move(bytes));
}

void ConnectionReply::done() {
  finished_ = true;
  beat_.stop();
  std::exchange(connection_, nullptr)->reply_finished(keep_alive_, status_);
}

void ConnectionReply::cut_connection() {
  if (connection_ == nullptr) return;
  finished_ = true;
  beat_.stop();
  std::exchange(connection_, nullptr)->reply_dropped();
}

void ConnectionReply::leave_connection() {
  finished_ = true;
  client_left_ = nullptr;
  beat_.stop();
  std::exchange(connection_, nullptr)->attach(nullptr);
}

bool ConnectionReply::has_backlog() {
  const uint64_t mark = options_.max_backlog_bytes / kHighWatermark;
  if (connection_ == nullptr || finished_ || connection_->backlog() <= mark) return false;
  connection_->flush_now();
  return connection_->backlog() > mark;
}

void ConnectionReply::await_drain(std::function<void()> drained) {
  drained_ = std::move(drained);
  watch_stall();
}

void ConnectionReply::watch_stall() {
  if (connection_ == nullptr) return;
  stall_.start(options_.write_timeout, [this, before = connection_->backlog()] {
    if (connection_ == nullptr || !drained_) return;
    if (connection_->backlog() >= before) {
      metrics::limit_reached(metrics::Limit::write_timeout);
      return connection_->cut(mcp::EndReason::client_too_slow);
    }
    watch_stall();
  });
}

void ConnectionReply::drained() {
  stall_.stop();
  if (auto call_back = std::exchange(drained_, nullptr)) call_back();
}

void ConnectionReply::client_left(mcp::EndReason why) {
  connection_ = nullptr;
  beat_.stop();
  if (auto left = std::move(client_left_)) left(why);
}

}  // namespace lineward::client
