#include "proxy/upstream/http/reopen_pause.h"

#include <utility>

#include "foundation/base/backoff.h"

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
  not_before_ = loop_.now();
  if (!at_once || losses_ > 1)
    not_before_ += Backoff::exact({server_.restart.backoff, server_.restart.max_backoff}, doublings);
  return losses_ <= kMaxLosses;
}

bool ReopenPause::must_wait(std::function<void()> over) {
  if (loop_.now() >= not_before_) return false;
  if (!wake_.running()) wake_.start(not_before_ - loop_.now(), std::move(over));
  return true;
}

}  // namespace lineward::upstream
