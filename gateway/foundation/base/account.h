// Bytes held for one caller or one of its sessions. They count here and in the process total
// (foundation/base/memory_charge.h), so that one caller cannot use all of listen.maxBufferedBytes.
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
  // The account of a caller. All requests for one caller return the same account while any reference to it
  // exists.
  static AccountPtr of(const std::string& caller);
  // An account within the caller's, for a session: its bytes count for the caller too.
  static AccountPtr within(AccountPtr above) { return std::make_shared<Account>(std::string(), above); }
  // Maximum bytes held for one caller; 0: no limit. A session of the caller may hold half of that.
  static void limit_callers(uint64_t most) { most_of_caller().store(most, std::memory_order_relaxed); }
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
  // The caller's account; never null unless `account` is.
  static const AccountPtr& caller_of(const AccountPtr& account) {
    return account && account->above_ ? caller_of(account->above_) : account;
  }

  // How many calls this caller has at the server with that number, on all workers.
  class ServerNumber;
  std::atomic<uint32_t>& calls_at(const ServerNumber& server);

  Account(std::string name, AccountPtr above) : name_(std::move(name)), above_(std::move(above)) {}
  ~Account();
  Account(const Account&) = delete;
  Account& operator=(const Account&) = delete;

  void add(int64_t change) {
    held_.fetch_add(change, std::memory_order_relaxed);
    if (above_) above_->add(change);
  }
  uint64_t held() const {
    const int64_t held = held_.load(std::memory_order_relaxed);
    return held > 0 ? static_cast<uint64_t>(held) : 0;
  }
  // Bytes held by the caller that this account belongs to.
  uint64_t held_by_caller() const { return above_ ? above_->held_by_caller() : held(); }
  // Whether `more` bytes fit the limits of this account and its caller.
  bool has_room(uint64_t more) const {
    const uint64_t most = limit_of_callers();
    if (most == 0) return true;
    return held() + more <= (above_ ? most / 2 : most) && (!above_ || above_->has_room(more));
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

  const std::string name_;
  const AccountPtr above_;
  std::atomic<int64_t> held_ = 0;
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
