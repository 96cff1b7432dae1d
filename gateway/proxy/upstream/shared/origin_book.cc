#include "proxy/upstream/shared/origin_book.h"

#include <fmt/format.h>

#include <algorithm>

#include "foundation/base/backoff.h"

namespace lineward::upstream {
namespace {

using std::chrono::milliseconds;
using Lock = std::lock_guard<std::mutex>;

// Drained origins that no configuration has are remembered up to this number.
constexpr size_t kMaxStates = 256;

// The books of all servers, by name. A book goes with its last user.
class Shelf {
 public:
  std::shared_ptr<OriginBook> get(const std::string& server, bool make) {
    const Lock lock(mutex_);
    auto found = books_.find(server);
    std::shared_ptr<OriginBook> book = found == books_.end() ? nullptr : found->second.lock();
    if (book || !make) return book;
    std::erase_if(books_, [](const auto& entry) { return entry.second.expired(); });
    book = std::make_shared<OriginBook>();
    books_[server] = book;
    return book;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<OriginBook>> books_;
};

Shelf& shelf() {
  static Shelf all;
  return all;
}

}  // namespace

bool OriginState::succeeded(milliseconds now) {
  if (in_a_row_.load(std::memory_order_relaxed) != 0) in_a_row_.store(0, std::memory_order_relaxed);
  if (!was_out_.load(std::memory_order_relaxed) || is_out(now)) return false;
  return was_out_.exchange(false);
}

std::shared_ptr<OriginBook> OriginBook::of(const std::string& server) {
  return shelf().get(server, true);
}

std::shared_ptr<OriginBook> OriginBook::find(const std::string& server) {
  return shelf().get(server, false);
}

OriginBook::StatePtr OriginBook::state(const std::string& key, const std::string& name) {
  const Lock lock(mutex_);
  auto found = states_.find(key);
  if (found != states_.end()) return found->second;
  forget_unused();
  const auto is_taken = [this](const std::string& wanted) {
    return std::any_of(states_.begin(), states_.end(),
                       [&](const auto& entry) { return entry.second->name == wanted; });
  };
  std::string unique = name;
  for (size_t n = 2; is_taken(unique); ++n)
    unique = fmt::format("{}#{}", name, n);
  return states_[key] = std::make_shared<OriginState>(std::move(unique));
}

void OriginBook::forget_unused() {
  const bool is_large = states_.size() >= kMaxStates;
  std::erase_if(states_, [&](const auto& entry) {
    return entry.second.use_count() == 1 && (is_large || !entry.second->drained);
  });
}

OriginBook::StatePtr OriginBook::named(const std::string& name) const {
  const Lock lock(mutex_);
  auto found = std::find_if(states_.begin(), states_.end(), [&](const auto& entry) {
    return entry.second->name == name && entry.second.use_count() > 1;
  });
  return found == states_.end() ? nullptr : found->second;
}

std::vector<std::string> OriginBook::names() const {
  const Lock lock(mutex_);
  std::vector<std::string> out;
  for (const auto& [key, state] : states_) {
    if (state.use_count() > 1) out.push_back(state->name);
  }
  return out;
}

milliseconds OriginBook::failed(OriginState& which, const std::vector<const OriginState*>& of,
                                const config::Origins& limits, milliseconds now) {
  ++which.failures;
  const uint32_t in_a_row = ++which.in_a_row_;
  if (limits.eject_after == 0 || in_a_row < limits.eject_after || which.is_out(now)) return milliseconds(0);
  const Lock lock(mutex_);
  if (which.is_out(now)) return milliseconds(0);
  const auto out = std::count_if(of.begin(), of.end(), [&](const auto* one) { return one->is_out(now); });
  if (static_cast<size_t>(out) + 1 > of.size() / 2) return milliseconds(0);
  // An origin that was in service for longer than it was out begins anew.
  const milliseconds back{which.out_until_.load()};
  if (now - back > which.last_out_) which.times_out_ = 0;
  which.last_out_ = Backoff::exact({limits.eject_for, std::max(limits.eject_for, limits.max_eject_for)},
                                   which.times_out_++);
  const milliseconds until = now + which.last_out_;
  which.out_until_ = until.count();
  which.since_ = until.count();
  which.was_out_ = true;
  ++which.ejections;
  which.in_a_row_ = limits.eject_after - 1;  // the first failure after that ejects it again
  return which.last_out_;
}

}  // namespace lineward::upstream
