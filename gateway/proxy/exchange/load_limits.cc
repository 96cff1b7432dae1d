#include "proxy/exchange/load_limits.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/load_levels.h"
#include "foundation/base/memory_charge.h"
#include "proxy/metrics/stats.h"

namespace lineward::exchange {
namespace {

using metrics::Limit;
using metrics::Overload;

// Overload is usually short: retry after a second.
constexpr int64_t kLookAgainMs = 1000;

core::Failure refused(Overload what, Limit limit, std::string text) {
  ++metrics::stats().overload[static_cast<size_t>(what)];
  metrics::limit_reached(limit);
  core::Failure failure{mcp::EndReason::queue_full, std::move(text)};
  failure.retry_after_ms = kLookAgainMs;
  failure.headers = {{"Retry-After", "1"}};
  return failure;
}

}  // namespace

std::shared_ptr<InFlight::Count> InFlight::of(const std::string& principal) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (by_principal_.size() >= look_for_gone_at_) {
    std::erase_if(by_principal_, [](const auto& entry) { return entry.second.expired(); });
    look_for_gone_at_ = 2 * by_principal_.size() + 64;
  }
  std::weak_ptr<Count>& known = by_principal_[principal];
  if (auto count = known.lock()) return count;
  auto made = std::make_shared<Count>(0);
  known = made;
  return made;
}

size_t InFlight::known() {
  std::lock_guard<std::mutex> lock(mutex_);
  return by_principal_.size();
}

bool LoadLimits::came(const std::string& principal) {
  if (limits_.max_in_flight_per_principal == 0) return false;
  Principal& its = by_principal_[principal];
  if (!its.on_all) its.on_all = all_->of(principal);
  ++its.here;
  ++*its.on_all;
  return true;
}

void LoadLimits::went(const std::string& principal) {
  auto found = by_principal_.find(principal);
  if (found == by_principal_.end()) return;
  --*found->second.on_all;
  if (--found->second.here == 0 && by_principal_.size() > kMostKept) by_principal_.erase(found);
}

std::optional<core::Failure> LoadLimits::refusal(const std::string& principal, bool stream, bool keeps,
                                                 uint64_t held, const Account* account) const {
  const uint64_t others = MemoryCharge::total() - std::min(held, MemoryCharge::total());
  const config::Load load = config::load_of(others, limits_);
  const bool room = stream ? load < config::Load::no_streams : config::has_room(load, held, limits_);
  if (!room) {
    return refused(stream ? Overload::streams : Overload::requests, Limit::buffered_bytes,
                   fmt::format("the gateway holds {} bytes of at most {}, and takes no more {} for now "
                               "(listen.maxBufferedBytes)",
                               others, limits_.max_buffered_bytes, stream ? "streams" : "requests"));
  }
  if (account != nullptr) {
    const uint64_t most = Account::limit_of_callers();
    const uint64_t its_others = account->held_by_caller() - std::min(held, account->held_by_caller());
    if (most > 0 && its_others >= (keeps || !config::is_small(held, most) ? most / 100 * 95 : most)) {
      return refused(
          Overload::principal, Limit::buffered_bytes_per_principal,
          fmt::format("the gateway holds {} bytes for this caller, of at most {}, and takes no more "
                      "{} for now (listen.maxBufferedBytesPerPrincipal)",
                      its_others, most, stream ? "streams" : "requests"));
    }
  }
  if (!stream && limits_.max_in_flight > 0 &&
      all_->requests.load(std::memory_order_relaxed) > limits_.max_in_flight) {
    return refused(
        Overload::in_flight, Limit::in_flight,
        fmt::format("{} requests are under way already (listen.maxInFlight)", limits_.max_in_flight));
  }
  if (!stream && limits_.max_in_flight_per_principal > 0) {
    auto found = by_principal_.find(principal);
    if (found != by_principal_.end() && *found->second.on_all > limits_.max_in_flight_per_principal) {
      return refused(Overload::principal, Limit::in_flight_per_principal,
                     fmt::format("{} requests of this principal are under way already "
                                 "(listen.maxInFlightPerPrincipal)",
                                 limits_.max_in_flight_per_principal));
    }
  }
  return std::nullopt;
}

}  // namespace lineward::exchange
