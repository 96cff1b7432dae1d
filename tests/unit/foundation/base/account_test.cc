#include "foundation/base/account.h"

#include <catch2/catch.hpp>
#include <memory>
#include <thread>
#include <vector>

#include "foundation/base/counted_set.h"
#include "foundation/base/counted_string.h"
#include "foundation/base/memory_charge.h"

using lineward::Account;
using lineward::AccountPtr;
using lineward::CountedMap;
using lineward::CountedSet;
using lineward::CountedString;
using lineward::CountedStringSet;
using lineward::MemoryCharge;

namespace {

struct Limits {
  explicit Limits(uint64_t bytes, uint32_t percent = 100) {
    Account::limit_callers(bytes);
    Account::limit_shares(percent);
  }
  ~Limits() {
    Account::limit_callers(0);
    Account::limit_shares(100);
  }
};

}  // namespace

TEST_CASE("a caller has one account, as long as any holder has it") {
  const size_t before = Account::known();
  AccountPtr a = Account::of("principal a");
  CHECK(Account::of("principal a") == a);
  CHECK(Account::of("principal b") != a);
  CHECK(Account::known() == before + 1);
  a.reset();
  CHECK(Account::known() == before);
}

TEST_CASE("what is held counts for the session, for its caller and in the sum, and moves with the account") {
  AccountPtr caller = Account::of("principal a");
  AccountPtr other = Account::of("principal b");
  AccountPtr session = Account::within(caller);
  const uint64_t before = MemoryCharge::total();
  {
    MemoryCharge held;
    held.set(10);
    held.charge(session);
    held.add(90);
    CHECK(session->held() == 100);
    CHECK(caller->held() == 100);
    CHECK(session->held_by_caller() == 100);
    CHECK(MemoryCharge::total() == before + 100);
    held.charge(other);
    CHECK(caller->held() == 0);
    CHECK(other->held() == 100);
  }
  CHECK(other->held() == 0);
  CHECK(MemoryCharge::total() == before);
  CHECK(Account::caller_of(session) == caller);
  CHECK(Account::caller_of(caller) == caller);
  CHECK(Account::caller_of(nullptr) == nullptr);
}

TEST_CASE("a caller has room for its share, a session for half of that") {
  Limits limits(1000);
  AccountPtr caller = Account::of("principal a");
  AccountPtr one = Account::within(caller), two = Account::within(caller);
  MemoryCharge a, b;
  a.charge(one);
  b.charge(two);
  CHECK(one->has_room(500));
  CHECK_FALSE(one->has_room(501));
  CHECK(caller->has_room(1000));
  a.set(500);
  b.set(400);
  CHECK(two->has_room(100));
  CHECK_FALSE(two->has_room(101));
  CHECK_FALSE(caller->has_room(101));
  Account::limit_callers(0);
  CHECK(one->has_room(1 << 20));
}

TEST_CASE("of a few places a caller may have all, of many its percentage") {
  Limits limits(0, 75);
  CHECK(Account::share_of(1) == 1);
  CHECK(Account::share_of(3) == 3);
  CHECK(Account::share_of(4) == 3);
  CHECK(Account::share_of(64) == 48);
  CHECK(Account::share_of(10000) == 7500);
  Account::limit_shares(100);
  CHECK(Account::share_of(64) == 64);
}

TEST_CASE("kept texts count themselves in and out") {
  AccountPtr caller = Account::of("principal a");
  {
    CountedString text(lineward::Held::sessions);
    text.keep("12345", caller);
    CHECK(caller->held() == 5);
    text.keep("123", caller);
    CHECK(caller->held() == 3);
    text.clear();
    CHECK(text.empty());
    CountedStringSet texts;
    CHECK(texts.insert("abc", caller));
    CHECK_FALSE(texts.insert("abc", caller));
    CHECK(texts.insert("de", caller));
    CHECK(caller->held() == 5 + 2 * CountedStringSet::kNode);
    CHECK(texts.erase("abc"));
    CHECK_FALSE(texts.erase("abc"));
    CHECK(texts.contains("de"));
    CHECK(caller->held() == 2 + CountedStringSet::kNode);
  }
  CHECK(caller->held() == 0);
}

TEST_CASE("a text that several have is counted once, their nodes each") {
  const uint64_t before = MemoryCharge::total();
  {
    CountedSet a;
    a.insert(lineward::shared_text(std::string(1000, 'u')));
    CountedSet b = a;
    CHECK(b == a);
    CHECK(MemoryCharge::total() == before + 1000 + 2 * lineward::kRefNode);
    CountedSet c = std::move(a);
    CHECK(MemoryCharge::total() == before + 1000 + 2 * lineward::kRefNode);
    CountedMap<int> map;
    ++map[*c.begin()];
    CHECK(map.find(std::string(1000, 'u'))->second == 1);
    CHECK(c.find(std::string(1000, 'u')) == *b.begin());
    b.erase(std::string(1000, 'u'));
    c.clear();
    CHECK(MemoryCharge::total() == before + 1000 + lineward::kRefNode + sizeof(int));
    CHECK(map.contains(std::string(1000, 'u')));
    map.erase(std::string(1000, 'u'));
    CHECK(map.empty());
  }
  CHECK(MemoryCharge::total() == before);
}

TEST_CASE("an account counts its caller's calls at each numbered server, for any number of threads") {
  const AccountPtr a = Account::of("numbered a"), b = Account::of("numbered b");
  auto first = std::make_unique<Account::ServerNumber>();
  const Account::ServerNumber second;
  REQUIRE(*first);
  a->calls_at(*first) += 3;
  a->calls_at(second) += 1;
  b->calls_at(*first) += 2;
  CHECK(a->calls_at(*first) == 3);
  CHECK(a->calls_at(second) == 1);
  CHECK(b->calls_at(*first) == 2);
  CHECK(b->calls_at(second) == 0);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const AccountPtr same = Account::of("numbered c");
      for (int i = 0; i < 1000; ++i) {
        ++same->calls_at(second);
        --same->calls_at(second);
      }
    });
  }
  for (auto& thread : threads)
    thread.join();
  CHECK(Account::of("numbered c")->calls_at(second) == 0);
  // A number is used again when its server is gone.
  a->calls_at(*first) = 0;
  first.reset();
  const Account::ServerNumber third;
  CHECK(a->calls_at(third) == 0);
}

TEST_CASE("there are only so many numbers of servers") {
  std::vector<std::unique_ptr<Account::ServerNumber>> all;
  for (size_t i = 0; i < Account::ServerNumber::kMost; ++i) {
    all.push_back(std::make_unique<Account::ServerNumber>());
    CHECK(*all.back());
  }
  const Account::ServerNumber none;
  CHECK_FALSE(none);
  all.pop_back();
  const Account::ServerNumber last;
  CHECK(last);
}

namespace {

// Runs `what` as a worker of several: parts are a matter of the thread.
template <class What>
void as_worker(size_t worker, size_t workers, What what) {
  std::thread([&] {
    Account::use_parts(worker, workers);
    what();
  }).join();
}

}  // namespace

TEST_CASE("each worker has a part of a caller's account") {
  const size_t before = Account::known();
  AccountPtr whole = Account::of("principal a"), first, second;
  as_worker(0, 2, [&] {
    first = Account::of("principal a");
    CHECK(Account::of("principal a") == first);
  });
  as_worker(1, 2, [&] { second = Account::of("principal a"); });
  CHECK(first != second);
  CHECK(Account::caller_of(first) == whole);
  CHECK(Account::caller_of(Account::within(second)) == whole);
  CHECK(Account::known() == before + 1);
  whole.reset();
  first.reset();
  CHECK(Account::known() == before + 1);
  second.reset();
  CHECK(Account::known() == before);
}

TEST_CASE("a part passes its sum on in steps, and the rest when it ends") {
  Limits limits(100'000'000);
  AccountPtr whole = Account::of("principal a");
  as_worker(0, 2, [&] {
    AccountPtr part = Account::of("principal a");
    MemoryCharge held;
    held.charge(part);
    held.set(16 * 1024);
    CHECK(whole->held() == 0);
    CHECK(part->held() == 16 * 1024);
    CHECK(part->held_by_caller() == 16 * 1024);
    held.add(1);
    CHECK(whole->held() == 16 * 1024 + 1);
    CHECK(part->held() == 16 * 1024 + 1);
    held.set(1);
    CHECK(part->held() == 1);
  });
  CHECK(whole->held() == 0);
}

TEST_CASE("parts together are off by 1 % of the limit at most") {
  Limits limits(1000);
  AccountPtr whole = Account::of("principal a");
  as_worker(0, 2, [&] {
    AccountPtr part = Account::of("principal a"), session = Account::within(part);
    MemoryCharge of_part, of_session;
    of_part.charge(part);
    of_session.charge(session);
    of_part.set(5);
    CHECK(whole->held() == 0);
    CHECK_FALSE(part->has_room(996));
    CHECK(part->has_room(995));
    of_part.set(6);
    CHECK(whole->held() == 6);
    of_session.set(500);
    CHECK_FALSE(session->has_room(1));
    CHECK(part->has_room(494));
    CHECK_FALSE(part->has_room(495));
  });
}

TEST_CASE("what one worker took and another released is counted once") {
  AccountPtr whole = Account::of("principal a");
  std::vector<std::thread> threads;
  constexpr size_t kWorkers = 4, kRounds = 20'000;
  std::vector<std::unique_ptr<MemoryCharge>> left(kWorkers);
  for (size_t worker = 0; worker < kWorkers; ++worker) {
    left[worker] = std::make_unique<MemoryCharge>();
    threads.emplace_back([&, worker] {
      Account::use_parts(worker, kWorkers);
      AccountPtr part = Account::of("principal a");
      MemoryCharge held;
      held.charge(part);
      for (size_t i = 0; i < kRounds; ++i)
        held.set(i % 100'000);
      left[worker]->set(1000);
      left[worker]->charge(part);
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  for (auto& one : left)
    one.reset();
  CHECK(whole->held() == 0);
}
