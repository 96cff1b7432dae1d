#include "proxy/upstream/http_client/stream_limiter.h"

#include <utility>

#include "proxy/metrics/limits.h"

namespace lineward::upstream {

StreamLimiter::StreamLimiter(net::Loop& loop)
    : give_out_later_(
          loop, [](void* self) { static_cast<StreamLimiter*>(self)->give_out(); }, this) {}

void StreamLimiter::share_of(size_t connections) {
  most_ = connections / 2;
  if (!waiting_.empty()) give_out_later_.schedule();
}

// A callback may release its own or other permits; a stream that starts waiting meanwhile gets its turn
// later.
void StreamLimiter::give_out() {
  for (size_t left = waiting_.size(); left > 0 && !waiting_.empty() && has_room(); --left) {
    StreamPlace& first = *waiting_.front();
    waiting_.pop_front();
    first.waits_ = false;
    first.take_anyway();
    if (first.comes_) first.comes_();
  }
}

bool StreamPlace::take() {
  if (!held_ && limiter_.has_room()) take_anyway();
  return held_;
}

bool StreamPlace::take_or_wait() {
  if (waits_ || take()) return held_;
  metrics::limit_reached(metrics::Limit::server_connections);
  waits_ = true;
  limiter_.waiting_.push_back(this);
  return false;
}

void StreamPlace::take_anyway() {
  if (!std::exchange(held_, true)) ++limiter_.taken_;
}

void StreamPlace::give() {
  if (std::exchange(waits_, false)) std::erase(limiter_.waiting_, this);
  if (!std::exchange(held_, false)) return;
  --limiter_.taken_;
  if (!limiter_.waiting_.empty()) limiter_.give_out_later_.schedule();
}

}  // namespace lineward::upstream
