#include "proxy/upstream/http/reopen_pause.h"

#include <algorithm>
#include <utility>

namespace lineward::upstream {
namespace {

using std::chrono::milliseconds;

// A session that lived this long worked properly.
constexpr milliseconds kStable{10000};
// Lost sessions in a row before open listens are ended.
constexpr uint32_t kMaxLosses = 6;

}  // namespace

bool ReopenPause::lost(First first) {
  const bool at_once = first == First::at_once;
  losses_ = loop_.now() - opened_at_ > kStable ? 1 : losses_ + 1;
  const uint32_t doublings = losses_ - 1 - (at_once && losses_ > 1 ? 1 : 0);
  milliseconds wait = server_.restart.backoff * (1ll << std::min(doublings, 20u));
  if (at_once && losses_ == 1) wait = milliseconds(0);
  not_before_ = loop_.now() + std::min<milliseconds>(wait, server_.restart.max_backoff);
  return losses_ <= kMaxLosses;
}

bool ReopenPause::must_wait(std::function<void()> over) {
  if (loop_.now() >= not_before_) return false;
  if (!wake_.running()) wake_.start(not_before_ - loop_.now(), std::move(over));
  return true;
}

}  // namespace lineward::upstream
