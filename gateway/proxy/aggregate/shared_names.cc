#include "proxy/aggregate/shared_names.h"

#include "proxy/aggregate/name_map.h"

#include <algorithm>
#include <utility>

namespace lineward::aggregate {
namespace {

// Origins are names of the configuration.
size_t bytes_of(const NameClaim& claim) {
  if (claim.kind == NameKind::origin) return 0;
  return sizeof claim + claim.shown.size() + claim.server.size() + claim.original.size();
}

size_t bytes_of(const SeenUri& seen) {
  return sizeof seen + seen.uri.size() + seen.server.size();
}

// While a worker stands still, the others look no more often whether all have the claims.
constexpr size_t kLookEvery = 256;

}  // namespace

// With the lock.
void SharedNames::drop_taken() {
  uint64_t taken = dropped_ + claims_.size();
  for (const NameSync* one : workers_)
    taken = std::min(taken, one->claims_);
  for (; dropped_ < taken; ++dropped_) {
    bytes_ -= bytes_of(claims_.front());
    claims_.pop_front();
  }
}

NameSync::NameSync(std::shared_ptr<SharedNames> shared, NameMap& names)
    : shared_(std::move(shared)), names_(names) {
  if (!shared_) return;
  const std::lock_guard<std::mutex> lock(shared_->mutex_);
  claims_ = shared_->dropped_;
  shared_->workers_.push_back(this);
}

NameSync::~NameSync() {
  if (!shared_) return;
  const std::lock_guard<std::mutex> lock(shared_->mutex_);
  std::erase(shared_->workers_, this);
}

void NameSync::take_over() {
  const std::lock_guard<std::mutex> lock(shared_->mutex_);
  take_news();
}

// With the lock.
void NameSync::take_news() {
  SharedNames& shared = *shared_;
  for (; claims_ < shared.dropped_ + shared.claims_.size(); ++claims_)
    names_.take(shared.claims_[claims_ - shared.dropped_]);
  if (seen_ < shared.forgotten_) {
    names_.forget_seen();
    seen_ = shared.forgotten_;
  }
  for (; seen_ < shared.forgotten_ + shared.seen_.size(); ++seen_)
    names_.take(shared.seen_[seen_ - shared.forgotten_]);
  additions_ = shared.additions_.load(std::memory_order_relaxed);
  if (!shared.claims_.empty()) shared.drop_taken();
}

NameSync::Adding::Adding(NameSync* sync) : sync_(sync != nullptr && sync->shared_ ? sync : nullptr) {
  if (sync_ == nullptr || sync_->adding_++ > 0) return;
  sync_->shared_->mutex_.lock();
  sync_->take_news();
}

NameSync::Adding::~Adding() {
  if (sync_ != nullptr && --sync_->adding_ == 0) sync_->shared_->mutex_.unlock();
}

void NameSync::Adding::added(NameClaim claim) {
  if (sync_ == nullptr) return;
  SharedNames& shared = *sync_->shared_;
  shared.bytes_ += bytes_of(claim);
  shared.claims_.push_back(std::move(claim));
  sync_->claims_ = shared.dropped_ + shared.claims_.size();
  if (shared.claims_.size() % kLookEvery == 0) shared.drop_taken();
  sync_->additions_ = shared.additions_.fetch_add(1, std::memory_order_release) + 1;
}

void NameSync::Adding::added(SeenUri seen) {
  if (sync_ == nullptr) return;
  SharedNames& shared = *sync_->shared_;
  shared.bytes_ += bytes_of(seen);
  shared.seen_.push_back(std::move(seen));
  if (shared.seen_.size() > shared.most_seen_) {
    shared.bytes_ -= bytes_of(shared.seen_.front());
    shared.seen_.pop_front();
    ++shared.forgotten_;
  }
  sync_->seen_ = shared.forgotten_ + shared.seen_.size();
  sync_->additions_ = shared.additions_.fetch_add(1, std::memory_order_release) + 1;
}

}  // namespace lineward::aggregate
