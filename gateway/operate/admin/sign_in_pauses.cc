#include "operate/admin/sign_in_pauses.h"

#include <algorithm>

#include "foundation/base/backoff.h"
#include "foundation/base/peer_address.h"

namespace lineward::admin {

using std::chrono::milliseconds;

milliseconds SignInPauses::left(std::string_view peer, milliseconds now) const {
  return left_of(address_of_peer(peer), now);
}

void SignInPauses::failed(std::string_view peer, milliseconds now) {
  failed_of(address_of_peer(peer), now);
}

milliseconds SignInPauses::left_of(const std::string& name, milliseconds now) const {
  auto found = addresses_.find(name);
  return found == addresses_.end() ? milliseconds(0) : std::max(found->second.until - now, milliseconds(0));
}

void SignInPauses::failed_of(std::string address, milliseconds now) {
  auto found = addresses_.find(address);
  if (found == addresses_.end()) {
    if (addresses_.size() >= kMost) {
      addresses_.erase(oldest_first_.front());
      oldest_first_.pop_front();
    }
    oldest_first_.push_back(address);
    found =
        addresses_.emplace(std::move(address), Address{0, milliseconds(0), std::prev(oldest_first_.end())})
            .first;
  }
  Address& one = found->second;
  // An address without failures for long starts again.
  if (one.failures >= kFree && now - one.until > 10 * kLongest) one.failures = 0;
  if (++one.failures < kFree) return;
  one.until = now + Backoff::exact({kFirst, kLongest}, one.failures - kFree);
}

void SignInPauses::succeeded(std::string_view peer) {
  auto found = addresses_.find(address_of_peer(peer));
  if (found == addresses_.end()) return;
  oldest_first_.erase(found->second.order);
  addresses_.erase(found);
}

}  // namespace lineward::admin
