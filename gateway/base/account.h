// For whom bytes are held: what is held for a caller or for one of its sessions is counted for them as well
// as in the sum of all (base/held_bytes.h), so that no one caller has all of listen.maxBufferedBytes.
//
// Any thread; shared by whoever holds something for the caller.
#pragma once

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
  // Of a caller: the same one for all who ask for it, as long as anybody has it.
  static AccountPtr of(const std::string& caller);
  // Of something of a caller's, a session: counts for the caller too.
  static AccountPtr within(AccountPtr above) { return std::make_shared<Account>(std::string(), above); }
  // What may be held for one caller; 0: no limit. Half of that for one of its sessions.
  static void limit_callers(uint64_t most) { most_of_caller().store(most, std::memory_order_relaxed); }
  static uint64_t limit_of_callers() { return most_of_caller().load(std::memory_order_relaxed); }
  // Of so many places that are for all (sessions, processes, calls) what one caller may have. Never less than
  // that is with the rest rounded down: of a few places all.
  static void limit_shares(uint32_t percent) {
    percent_of_caller().store(percent, std::memory_order_relaxed);
  }
  static size_t share_of(size_t places) {
    const size_t others = 100 - percent_of_caller().load(std::memory_order_relaxed);
    return places - places * others / 100;
  }
  // The caller whose it is; never null for one that is not.
  static const AccountPtr& caller_of(const AccountPtr& account) {
    return account && account->above_ ? caller_of(account->above_) : account;
  }

  Account(std::string name, AccountPtr above) : name_(std::move(name)), above_(std::move(above)) {}
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
  // Of the caller whose it is.
  uint64_t held_by_caller() const { return above_ ? above_->held_by_caller() : held(); }
  // May so much more be kept for it, here and for its caller?
  bool has_room(uint64_t more) const {
    const uint64_t most = limit_of_callers();
    if (most == 0) return true;
    return held() + more <= (above_ ? most / 2 : most) && (!above_ || above_->has_room(more));
  }
  const std::string& name() const { return name_; }
  // Callers that are known now.
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
};

}  // namespace lineward
