// The half of HttpSession that serves a session which other replicas may serve too (docs/replicas.md).
// Servers allow one GET stream for a session, so each replica has one only while the session's client has its
// own there.
#include <algorithm>

#include "upstream/http_session.h"

namespace lineward::upstream {
namespace {

using std::chrono::milliseconds;

// Until the replica that the client's stream was at has let go of the server's.
constexpr milliseconds kFirstRetry{250};
constexpr milliseconds kLongestRetry{5000};

}  // namespace

void HttpSession::adopt(std::string id, std::string revision) {
  shared_ = true;
  id_ = std::move(id);
  legacy_server_.revision = std::move(revision);
  state_ = State::ready;
}

void HttpSession::want_stream(bool wanted) {
  stream_wanted_ = wanted;
  if (state_ != State::ready || settling_) return;
  if (wanted) {
    if (!stream_ && !stream_timer_.running()) open_stream();
    return;
  }
  stream_timer_.stop();
  if (stream_) stream_->close();
  loop_.retire(std::move(stream_));
  // What comes meanwhile may be told to another replica: this place in the stream means nothing any more.
  last_event_id_.clear();
  backoff_ = milliseconds(0);
  if (std::exchange(stream_pending_, false)) owner_.on_session_free(*this);
}

void HttpSession::when_settled(std::function<void()> done) {
  if (!settling_) return loop_.defer(std::move(done));
  settled_told_ = std::move(done);
}

void HttpSession::shared_stream_ended(const MessagesEnd& end) {
  if (!stream_wanted_ || check_lost(end)) return;
  bool was_stream = end.is_stream && end.kind == MessagesEnd::Kind::complete;
  if (was_stream) return reopen_stream(retry_);
  if (end.kind == MessagesEnd::Kind::refused && end.status == 405) return;  // it offers none
  backoff_ = std::clamp(backoff_ * 2, kFirstRetry, kLongestRetry);
  reopen_stream(backoff_);
}

}  // namespace lineward::upstream
