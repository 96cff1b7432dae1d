#include "proxy/upstream/layers/remembered_changes.h"

#include "proxy/upstream/layers/watched_listen.h"

namespace lineward::upstream {
namespace {

using std::chrono::milliseconds;

constexpr size_t kMaxOwed = 256;  // callers
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
  // Without a session all clients of this caller are meant, and only one of them has gone.
  if (!scope.session.empty() || !scope.bridged_session.empty()) owed_.erase(asker_of(scope));
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

void RememberedChanges::owe(const std::string& asker, uint8_t bits) {
  if (bits == 0 || stopping_) return;
  std::erase_if(owed_, [now = loop_.now()](const auto& one) { return one.second.until < now; });
  if (owed_.size() >= kMaxOwed && owed_.count(asker) == 0) return;
  Owed& owed = owed_[asker];
  owed.lists |= bits;
  owed.until = loop_.now() + kOwedFor;
}

uint8_t RememberedChanges::owed_to(const std::string& asker, uint8_t wanted) const {
  auto found = owed_.find(asker);
  const bool is_owed = found != owed_.end() && loop_.now() <= found->second.until;
  return is_owed ? static_cast<uint8_t>(found->second.lists & wanted) : uint8_t{0};
}

}  // namespace lineward::upstream
