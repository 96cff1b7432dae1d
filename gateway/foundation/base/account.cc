#include "foundation/base/account.h"

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "foundation/base/check.h"

namespace lineward {
namespace {

struct OfCaller {
  std::weak_ptr<Account> whole;
  std::vector<std::weak_ptr<Account>> parts;  // by worker; each keeps the whole
};

struct Known {
  std::mutex mutex;
  std::unordered_map<std::string, OfCaller> accounts;
};

// Never destroyed: accounts may outlive static destruction.
Known& known_accounts() {
  static Known* known = new Known;
  return *known;
}

void forget(Account* account) {
  {
    Known& known = known_accounts();
    std::lock_guard<std::mutex> lock(known.mutex);
    auto found = known.accounts.find(account->name());
    // A new account of this name may exist since the last reference to the old one was dropped.
    if (found != known.accounts.end() && found->second.whole.expired()) known.accounts.erase(found);
  }
  delete account;
}

struct Numbers {
  std::mutex mutex;
  std::bitset<Account::ServerNumber::kMost> used;
};

Numbers& server_numbers() {
  static Numbers* numbers = new Numbers;
  return *numbers;
}

constexpr size_t kInBlock = 64;

constexpr size_t kNoWorker = SIZE_MAX;
thread_local size_t worker_of_thread = kNoWorker;
std::atomic<size_t> parts_in_use = 1;

}  // namespace

// Blocks are made when a caller first calls one of their servers, and stay as long as the account.
struct Account::Calls {
  struct Block {
    std::array<std::atomic<uint32_t>, kInBlock> counts{};
  };
  std::array<std::atomic<Block*>, ServerNumber::kMost / kInBlock> blocks{};
};

namespace {

// Two threads may make one at once; the second uses the first one's.
template <class T>
T& made_once(std::atomic<T*>& at) {
  if (T* known = at.load(std::memory_order_acquire)) return *known;
  auto* made = new T();
  T* other = nullptr;
  if (at.compare_exchange_strong(other, made, std::memory_order_acq_rel)) return *made;
  delete made;
  return *other;
}

}  // namespace

Account::~Account() {
  if (kind_ == Kind::part) above_->add(held_.load(std::memory_order_relaxed));
  Calls* calls = calls_.load(std::memory_order_acquire);
  if (calls == nullptr) return;
  for (auto& block : calls->blocks)
    delete block.load(std::memory_order_acquire);
  delete calls;
}

std::atomic<uint32_t>& Account::calls_at(const ServerNumber& server) {
  LW_CHECK(server);
  Calls& calls = made_once(calls_);
  return made_once(calls.blocks[server.number_ / kInBlock]).counts[server.number_ % kInBlock];
}

Account::ServerNumber::ServerNumber() : number_(kMost) {
  Numbers& numbers = server_numbers();
  std::lock_guard<std::mutex> lock(numbers.mutex);
  for (size_t i = 0; i < kMost && number_ == kMost; ++i) {
    if (!numbers.used[i]) number_ = i;
  }
  if (number_ < kMost) numbers.used.set(number_);
}

Account::ServerNumber::~ServerNumber() {
  if (number_ == kMost) return;
  Numbers& numbers = server_numbers();
  std::lock_guard<std::mutex> lock(numbers.mutex);
  numbers.used.reset(number_);
}

void Account::limit_callers(uint64_t most) {
  most_of_caller().store(most, std::memory_order_relaxed);
  set_step();
}

void Account::use_parts(size_t worker, size_t workers) {
  worker_of_thread = worker;
  parts_in_use.store(std::max<size_t>(workers, 1), std::memory_order_relaxed);
  set_step();
}

void Account::set_step() {
  const uint64_t most = limit_of_callers();
  const uint64_t share = most / 100 / parts_in_use.load(std::memory_order_relaxed);
  const int64_t step = most == 0 || share > kStep ? kStep : static_cast<int64_t>(share);
  step_of_parts().store(step, std::memory_order_relaxed);
}

AccountPtr Account::of(const std::string& caller) {
  Known& known = known_accounts();
  std::lock_guard<std::mutex> lock(known.mutex);
  OfCaller& its = known.accounts[caller];
  AccountPtr whole = its.whole.lock();
  if (!whole) {
    whole.reset(new Account(caller, nullptr), forget);
    its.whole = whole;
  }
  if (worker_of_thread == kNoWorker) return whole;
  if (its.parts.size() <= worker_of_thread) its.parts.resize(worker_of_thread + 1);
  std::weak_ptr<Account>& at = its.parts[worker_of_thread];
  if (AccountPtr part = at.lock()) return part;
  AccountPtr part(new Account(caller, std::move(whole), Kind::part));
  at = part;
  return part;
}

size_t Account::known() {
  Known& known = known_accounts();
  std::lock_guard<std::mutex> lock(known.mutex);
  return known.accounts.size();
}

}  // namespace lineward
