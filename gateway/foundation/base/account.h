// Bytes held for one caller or one of its sessions. They count here and in the process total
// (foundation/base/memory_charge.h), so that one caller cannot use all of listen.maxBufferedBytes.
//
// With several workers each worker has a part of the account of its callers, and its holders charge that
// part. The part passes its sum on in steps, so that workers do not change one variable for each message of
// one caller.
//
// Counts a caller's calls at servers that several workers serve, too.
//
// Any thread; shared by the holders of the caller's bytes.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace lineward {

class Account;
using AccountPtr = std::shared_ptr<Account>;

class Account {
 public:
  // The account of a caller, or this thread's part of it. All requests for one caller on one thread return
  // the same account while any reference to it exists.
  static AccountPtr of(const std::string& caller);
  // From now on of() returns parts on this thread. `workers`: the number of threads with parts; `worker` is
  // below it.
  static void use_parts(size_t worker, size_t workers);
  // An account within the caller's, for a session: its bytes count for the caller too.
  static AccountPtr within(AccountPtr above) { return std::make_shared<Account>(std::string(), above); }
  // Maximum bytes held for one caller; 0: no limit. A session of the caller may hold half of that.
  static void limit_callers(uint64_t most);
  static uint64_t limit_of_callers() { return most_of_caller().load(std::memory_order_relaxed); }
  // The number of shared places (sessions, processes, calls) that one caller may have. The rest is
  // rounded down, so that one caller may use all of a small number of places.
  static void limit_shares(uint32_t percent) {
    percent_of_caller().store(percent, std::memory_order_relaxed);
  }
  static size_t share_of(size_t places) {
    const size_t others = 100 - percent_of_caller().load(std::memory_order_relaxed);
    return places - places * others / 100;
  }
  // The caller's account, which all its parts share; never null unless `account` is.
  static const AccountPtr& caller_of(const AccountPtr& account) {
    return account && account->above_ ? caller_of(account->above_) : account;
  }

  // How many calls this caller has at the server with that number, on all workers.
  class ServerNumber;
  std::atomic<uint32_t>& calls_at(const ServerNumber& server);

  enum class Kind : uint8_t { whole, part };
  Account(std::string name, AccountPtr above, Kind kind = Kind::whole)
      : name_(std::move(name)), above_(std::move(above)), kind_(kind) {}
  ~Account();
  Account(const Account&) = delete;
  Account& operator=(const Account&) = delete;

  void add(int64_t change) {
    const int64_t now = held_.fetch_add(change, std::memory_order_relaxed) + change;
    if (kind_ == Kind::part) {
      const int64_t step = step_of_parts().load(std::memory_order_relaxed);
      if (now <= step && now >= -step) return;
      change = held_.exchange(0, std::memory_order_relaxed);
    }
    if (above_) above_->add(change);
  }
  // Bytes held by the caller that this account belongs to. Other workers' parts may be one step off, each.
  uint64_t held_by_caller() const {
    const int64_t held = sum_of_caller();
    return held > 0 ? static_cast<uint64_t>(held) : 0;
  }
  // Bytes held by this account; by the whole caller if it is a part.
  uint64_t held() const {
    if (kind_ == Kind::part) return held_by_caller();
    const int64_t held = held_.load(std::memory_order_relaxed);
    return held > 0 ? static_cast<uint64_t>(held) : 0;
  }
  // Whether `more` bytes fit the limits of this account and its caller.
  bool has_room(uint64_t more) const {
    const uint64_t most = limit_of_callers();
    if (most == 0) return true;
    const bool of_session = above_ && kind_ == Kind::whole;
    return held() + more <= (of_session ? most / 2 : most) && (!of_session || above_->has_room(more));
  }
  const std::string& name() const { return name_; }
  // Callers with an account now.
  static size_t known();

 private:
  static std::atomic<uint64_t>& most_of_caller() {
    static std::atomic<uint64_t> most = 0;
    return most;
  }

  static std::atomic<uint32_t>& percent_of_caller() {
    static std::atomic<uint32_t> percent = 100;
    return percent;
  }

  static void set_step();
  // A worker's part is never further off than this, nor all parts together by more than 1 % of the limit.
  static constexpr int64_t kStep = int64_t{16} * 1024;
  static std::atomic<int64_t>& step_of_parts() {
    static std::atomic<int64_t> step = kStep;
    return step;
  }

  int64_t sum_of_caller() const {
    const int64_t mine = held_.load(std::memory_order_relaxed);
    if (!above_) return mine;
    return above_->sum_of_caller() + (kind_ == Kind::part ? mine : 0);
  }

  const std::string name_;
  const AccountPtr above_;
  const Kind kind_;
  std::atomic<int64_t> held_ = 0;  // of a part: what it has not passed on yet
  struct Calls;
  std::atomic<Calls*> calls_ = nullptr;  // null: none at such a server yet
};

// The number of a server in the accounts of its callers, for as long as it has callers.
class Account::ServerNumber {
 public:
  static constexpr size_t kMost = 512;
  ServerNumber();
  ~ServerNumber();
  ServerNumber(const ServerNumber&) = delete;
  ServerNumber& operator=(const ServerNumber&) = delete;
  // False: all numbers are in use.
  explicit operator bool() const { return number_ < kMost; }

 private:
  friend class Account;
  size_t number_;
};

}  // namespace lineward
