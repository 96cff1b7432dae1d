#include "proxy/upstream/layers/remembered_changes.h"

#include <algorithm>

#include "proxy/upstream/layers/watched_listen.h"

namespace lineward::upstream {
namespace {

using std::chrono::milliseconds;

constexpr size_t kMaxOwed = 256;  // callers
constexpr size_t kMaxTimes = 64;
// A client that was answered from memory may open its listen later.
constexpr milliseconds kOwedFor{10ll * 60 * 1000};

}  // namespace

Result<std::unique_ptr<core::Call>, core::Failure> RememberedChanges::start(core::UpstreamRequest&& request,
                                                                            core::CallCallbacks& owner) {
  if (request.method != mcp::Method::subscriptions_listen || stopping_)
    return inner_->start(std::move(request), owner);
  auto listen = std::make_unique<WatchedListen>(*this, std::move(request), owner);
  if (auto failure = listen->begin()) {
    listen->cancel("was not begun");
    return Unexpected<core::Failure>{std::move(*failure)};
  }
  return Result<std::unique_ptr<core::Call>, core::Failure>(std::move(listen));
}

void RememberedChanges::close_scope(const core::Scope& scope) {
  inner_->close_scope(scope);
  owed_.erase(asker_of(scope));
}

size_t RememberedChanges::tell(const std::string& asker, uint8_t bit) {
  size_t told = 0;
  for (WatchedListen* listen : listens_) {
    if (listen->asker() != asker || !listen->wants(bit)) continue;
    listen->changed(bit);
    ++told;
  }
  return told;
}

void RememberedChanges::owe(const std::string& asker, uint8_t bits, size_t times) {
  if (bits == 0 || times == 0 || stopping_) return;
  std::erase_if(owed_, [now = loop_.now()](const auto& one) { return one.second.until < now; });
  if (owed_.size() >= kMaxOwed && owed_.count(asker) == 0) return;
  Owed& owed = owed_[asker];
  owed.until = loop_.now() + kOwedFor;
  for (const uint8_t bit : {WatchedListen::kTools, WatchedListen::kPrompts, WatchedListen::kResources}) {
    if ((bits & bit) != 0) owed.times[bit] = std::min(owed.times[bit] + times, kMaxTimes);
  }
}

uint8_t RememberedChanges::take(const std::string& asker, uint8_t wanted) {
  auto found = owed_.find(asker);
  if (found == owed_.end() || found->second.until < loop_.now()) return 0;
  uint8_t taken = 0;
  std::map<uint8_t, size_t>& times = found->second.times;
  for (auto one = times.begin(); one != times.end();) {
    auto next = std::next(one);
    if ((one->first & wanted) != 0) {
      taken |= one->first;
      if (--one->second == 0) times.erase(one);
    }
    one = next;
  }
  if (times.empty()) owed_.erase(found);
  return taken;
}

}  // namespace lineward::upstream
