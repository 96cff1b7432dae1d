#include "foundation/base/account.h"

#include <bitset>
#include <mutex>
#include <unordered_map>

#include "foundation/base/check.h"

namespace lineward {
namespace {

struct Known {
  std::mutex mutex;
  std::unordered_map<std::string, std::weak_ptr<Account>> accounts;
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
    if (found != known.accounts.end() && found->second.expired()) known.accounts.erase(found);
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

AccountPtr Account::of(const std::string& caller) {
  Known& known = known_accounts();
  std::lock_guard<std::mutex> lock(known.mutex);
  std::weak_ptr<Account>& slot = known.accounts[caller];
  if (AccountPtr account = slot.lock()) return account;
  AccountPtr account(new Account(caller, nullptr), forget);
  slot = account;
  return account;
}

size_t Account::known() {
  Known& known = known_accounts();
  std::lock_guard<std::mutex> lock(known.mutex);
  return known.accounts.size();
}

}  // namespace lineward
