#include "foundation/base/account.h"

#include <mutex>
#include <unordered_map>

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

}  // namespace

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
