#include "proxy/client/session/session_stream.h"

namespace lineward::client {
namespace {

constexpr size_t kMaxEvents = 512;
constexpr size_t kMaxBytes = 1 << 20;
constexpr size_t kNode = 64;  // cost of an event beside its message

}  // namespace

SessionStream::SessionStream(net::Loop& loop, uint32_t number, const std::string& place,
                             std::shared_ptr<EventStore> store, std::chrono::milliseconds window,
                             ClientLeft client_left, Over over, Lingers lingers)
    : loop_(loop),
      number_(number),
      place_(place),
      store_(std::move(store)),
      window_length_(window),
      client_left_(std::move(client_left)),
      over_(std::move(over)),
      lingers_(std::move(lingers)),
      window_(loop) {}

SessionStream::~SessionStream() {
  forget_all();
}

// PLACE~STREAM-EVENT, or STREAM-EVENT. A place's name has no '~'.
std::string SessionStream::event_id(uint64_t event) const {
  std::string id = std::to_string(number_) + "-" + std::to_string(event);
  return place_.empty() ? id : place_ + "~" + id;
}

void SessionStream::when_drained(std::function<void()> drained) {
  drained_ = std::move(drained);
  if (transport_) transport_->when_drained([this] { drain_told(); });
}

void SessionStream::drain_told() {
  if (auto drained = std::exchange(drained_, nullptr)) drained();
}

// Frees the transport at the end of the turn: it may be on the stack.
void SessionStream::end_transport() {
  if (!transport_) return;
  bytes_before_ += transport_->bytes_out();
  drain_told();  // later messages are kept for a resume, within bounds
  loop_.retire(std::move(transport_));
}

// Keeps an event for a resume; the oldest are dropped first. The newest one is kept unless its caller's share
// is used up.
uint64_t SessionStream::keep(const std::string& message) {
  bytes_ += message.size();
  events_.push_back({++last_event_, message});
  store_->held.add(message.size() + kNode);
  while (events_.size() > 1 && (events_.size() > kMaxEvents || bytes_ > kMaxBytes))
    forget_oldest();
  store_->trim(*this);
  return last_event_;
}

void SessionStream::forget_oldest() {
  const size_t bytes = events_.front().message.size();
  bytes_ -= bytes;
  store_->held.set(store_->held.mine() - bytes - kNode);
  events_.pop_front();
}

void SessionStream::forget_all() {
  while (!events_.empty())
    forget_oldest();
}

void SessionStream::client_left(mcp::EndReason why) {
  ids_sent_ = ids_sent_ || (transport_ && transport_->primed());
  if (auto before = lost()) why = *before;  // later messages were lost: nothing to resume
  end_transport();
  if (finished_) return linger();
  if (ids_sent_ && why == mcp::EndReason::cancelled_client && window_length_.count() > 0) {
    window_.start(window_length_, [this] {
      if (auto left = std::exchange(client_left_, nullptr)) left(mcp::EndReason::cancelled_client);
      over_(number_);
    });
    return;
  }
  if (auto left = std::exchange(client_left_, nullptr)) left(why);
  over_(number_);
}

void SessionStream::linger() {
  lingers_(number_);
  window_.start(window_length_, [this] { over_(number_); });
}

bool SessionStream::can_resume(uint64_t after) const {
  if (after > last_event_) return false;
  if (finished_ && after == last_event_) return false;  // it has ended and was read completely
  // The next event must still be kept.
  return after == last_event_ || (!events_.empty() && events_.front().number <= after + 1);
}

void SessionStream::resume(uint64_t after, std::unique_ptr<HttpReply> transport) {
  window_.stop();
  if (transport_) {
    // A second connection takes over; the first, half-open one must not report its loss any more.
    transport_->forget();
    end_transport();
  }
  transport_ = std::move(transport);
  transport_->open_stream();
  for (const Event& event : events_) {
    if (event.number > after && transport_) transport_->send_event(event.message, event_id(event.number));
  }
  if (!finished_ || !transport_) return;
  transport_->finish_empty();
  linger();
}

bool SessionStream::send(std::string message) {
  if (!can_send()) return false;
  uint64_t event = keep(message);
  if (!transport_) return true;
  ids_sent_ = true;
  transport_->send_event(std::move(message), event_id(event));
  return !transport_->lost();
}

void SessionStream::finish(std::string message, int status) {
  if (finished_) return;
  if (lost()) return abandon();  // later messages were lost: there is nothing to resume
  finished_ = true;
  client_left_ = nullptr;
  bool resumable = ids_sent_ || (transport_ && (transport_->primed() || transport_->streamed()));
  if (!resumable && transport_) {
    // A plain JSON answer cannot be resumed.
    transport_->finish_event(std::move(message), status, event_id(last_event_ + 1));
    return over_(number_);
  }
  uint64_t event = keep(message);
  if (transport_) transport_->finish_event(std::move(message), status, event_id(event));
  linger();
}

void SessionStream::finish_empty() {
  if (finished_) return;
  if (lost()) return abandon();
  forget_all();
  last_event_ = 0;  // makes the stream not resumable
  finish_behind_sent();
}

void SessionStream::finish_behind_sent() {
  if (finished_) return;
  if (lost()) return abandon();  // later messages were lost: there is nothing to resume
  finished_ = true;
  client_left_ = nullptr;
  if (transport_) transport_->finish_empty();
  linger();
}

void SessionStream::abandon() {
  client_left_ = nullptr;
  drained_ = nullptr;
  if (finished_) return;
  finished_ = true;
  forget_all();
  last_event_ = 0;
  cut();
  linger();
}

void SessionStream::cut() {
  if (transport_) transport_->cut();
}

}  // namespace lineward::client
