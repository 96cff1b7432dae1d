// Counts the calls of each caller at one server (docs/limits.md, "Shares"): the queue is shared, and one
// caller must not fill it. A call holds its place until it is over, except while it is parked. If all workers
// serve the server, the counts are those of all workers.
//
// Also orders waiting calls: callers take turns, and the calls of one caller keep their order. A call's turn
// is a number. It is one more than its caller's last turn, or than the last served turn if that is later
// (start-time fair queueing). Queues in this order are fair between callers, across all groups of a server.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include "config/config.h"
#include "foundation/base/account.h"
#include "foundation/base/slab_allocator.h"
#include "proxy/core/upstream.h"
#include "proxy/metrics/limits.h"
#include "proxy/upstream/shared/shared_server.h"

namespace lineward::upstream {

class CallerShares {
 public:
  // `version` null: this worker serves the server alone.
  explicit CallerShares(std::shared_ptr<SharedVersion> version = nullptr) : version_(std::move(version)) {}

  class Place {
   public:
    Place() = default;
    ~Place() { leave(); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    void take(CallerShares& shares, const AccountPtr& account) {
      leave();
      if (!account && !shares.version_) return;  // no share: the gateway's only caller
      account_ = Account::caller_of(account);
      shares_ = &shares;
      count(true);
    }
    void leave() {
      count(false);
      shares_ = nullptr;
    }
    // A parked call takes no place, and gets the same one back after it.
    void parked(bool now) { count(!now); }

   private:
    void count(bool now) {
      if (shares_ == nullptr || std::exchange(counted_, now) == now) return;
      if (shares_->version_) shares_->count_for_all(account_.get(), now);
      if (!account_) return;
      if (now) {
        ++shares_->calls_[account_.get()].calls;
        return;
      }
      auto found = shares_->calls_.find(account_.get());
      if (found != shares_->calls_.end() && --found->second.calls == 0) shares_->calls_.erase(found);
    }

    CallerShares* shares_ = nullptr;
    AccountPtr account_;
    bool counted_ = false;
  };

  // Why this request's caller gets no further place; nullopt: it is below its share.
  std::optional<core::Failure> refusal(const core::UpstreamRequest& request,
                                       const config::Server& server) const {
    if (!request.account() || request.method == mcp::Method::subscriptions_listen) return std::nullopt;
    const size_t most = Account::share_of(size_t{server.limits.max_in_flight} + server.limits.max_queue);
    if (calls_of(*Account::caller_of(request.account())) < most) return std::nullopt;
    metrics::limit_reached(metrics::Limit::max_principal_percent);
    return core::Failure{
        mcp::EndReason::queue_full,
        fmt::format(
            "{} calls of this caller wait for {} or are under way, its share of limits.maxInFlight and "
            "limits.maxQueue (listen.maxPrincipalPercent)",
            most, server.name)};
  }

  // The turn of one more call of this caller, which has its place already, or needs none.
  uint64_t next_turn(const AccountPtr& account) {
    if (!account) return last_of_nobody_ = std::max(last_of_nobody_, served_) + 1;
    auto found = calls_.find(Account::caller_of(account).get());
    if (found == calls_.end()) return served_ + 1;
    return found->second.last_turn = std::max(found->second.last_turn, served_) + 1;
  }
  // A call of this turn is being sent to the server.
  void served(uint64_t turn) { served_ = std::max(served_, turn); }
  // The calls with a place on all workers; nullopt: this worker serves the server alone.
  std::optional<uint64_t> calls_of_all() const {
    return version_ ? std::optional(version_->calls.load(std::memory_order_relaxed)) : std::nullopt;
  }

 private:
  // `caller` null: it has no share.
  void count_for_all(Account* caller, bool now) const {
    const int change = now ? 1 : -1;
    version_->calls += static_cast<uint64_t>(change);
    if (caller != nullptr && version_->number)
      caller->calls_at(version_->number) += static_cast<uint32_t>(change);
  }
  size_t calls_of(Account& caller) const {
    if (version_ && version_->number) return caller.calls_at(version_->number);
    auto found = calls_.find(&caller);
    return found == calls_.end() ? 0 : found->second.calls;
  }

  struct Caller {
    size_t calls = 0;
    uint64_t last_turn = 0;
  };
  const std::shared_ptr<SharedVersion> version_;
  using Nodes = SlabAllocator<std::pair<const Account* const, Caller>>;
  Slabs nodes_;  // a caller with one call at a time is added and removed with each
  std::unordered_map<const Account*, Caller, std::hash<const Account*>, std::equal_to<const Account*>, Nodes>
      calls_{Nodes(nodes_)};
  uint64_t last_of_nobody_ = 0;
  uint64_t served_ = 0;
};

// The turn of one call. Taken once; served() is called when the call is sent to the server.
class CallTurn {
 public:
  void take(CallerShares& shares, const AccountPtr& account) {
    shares_ = &shares;
    number_ = shares.next_turn(account);
  }
  void served() {
    if (shares_ != nullptr) shares_->served(number_);
  }
  friend bool operator<(const CallTurn& a, const CallTurn& b) { return a.number_ < b.number_; }
  uint64_t number() const { return number_; }

 private:
  CallerShares* shares_ = nullptr;
  uint64_t number_ = 0;
};

// Inserts the call into a queue, behind calls with an earlier turn.
template <class Call>
void join_by_turn(std::deque<Call*>& queue, Call& call) {
  auto later = [](const auto& turn, const Call* other) { return turn < other->turn; };
  queue.insert(std::upper_bound(queue.begin(), queue.end(), call.turn, later), &call);
}

}  // namespace lineward::upstream
