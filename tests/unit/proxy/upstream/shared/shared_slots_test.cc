#include "proxy/upstream/shared/shared_slots.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

using namespace lineward;
using lineward::upstream::SharedSlots;

namespace {

// The part of a worker. Its calls begin as soon as they may, and end when the test ends them.
struct Calls {
  Calls(net::Loop& loop, const std::shared_ptr<SharedSlots>& slots, uint32_t its_most)
      : most(its_most),
        mailbox(*net::Mailbox::create(loop)),
        part(std::make_unique<SharedSlots::Part>(slots, mailbox, [this] { pump(); })) {}
  ~Calls() { mailbox->close(); }

  void pump() {
    while (wanted > 0 && part->take(most)) {
      --wanted;
      ++running;
    }
    if (wanted == 0) part->stop_waiting();
  }
  void want(int more) {
    wanted += more;
    pump();
  }
  void end_one() {
    --running;
    part->give();
  }

  uint32_t most;
  int wanted = 0, running = 0;
  std::shared_ptr<net::Mailbox> mailbox;
  std::unique_ptr<SharedSlots::Part> part;
};

void turn(net::Loop& loop) {
  net::Timer timer(loop);
  timer.start(std::chrono::milliseconds(1), [&] { loop.stop(); });
  loop.run();
}

}  // namespace

TEST_CASE("workers that wait for a place get those that become free, in turn") {
  net::Loop loop;
  auto slots = std::make_shared<SharedSlots>();
  {
    Calls a(loop, slots, 2), b(loop, slots, 2), c(loop, slots, 2);
    a.want(3);
    b.want(2);
    c.want(1);
    CHECK(a.running == 2);
    CHECK(b.running + c.running == 0);
    CHECK(slots->taken() == 2);
    a.end_one();  // it is the first in line itself
    CHECK(a.running == 2);
    a.end_one();
    turn(loop);
    CHECK(a.running == 1);
    CHECK(b.running == 1);
    // The other one waits for long.
    for (int i = 0; i < 3; ++i)
      turn(loop);
    b.end_one();
    turn(loop);
    CHECK(c.running == 1);
    CHECK(b.running == 0);
    c.end_one();
    turn(loop);
    CHECK(b.running == 1);
    b.end_one();
    a.end_one();
    CHECK(slots->taken() == 0);
  }
  loop.close_all();
}

TEST_CASE("a place that was handed over goes on if its worker does not want it any more, or is gone") {
  net::Loop loop;
  auto slots = std::make_shared<SharedSlots>();
  {
    Calls a(loop, slots, 1), b(loop, slots, 1), c(loop, slots, 1);
    auto gone = std::make_unique<Calls>(loop, slots, 1);
    a.want(1);
    gone->want(1);
    b.want(1);
    c.want(1);
    b.wanted = 0;  // its caller has cancelled
    a.end_one();   // on its way to `gone`
    gone->part.reset();
    turn(loop);
    turn(loop);
    CHECK(c.running == 1);
    CHECK(slots->taken() == 1);
    gone.reset();
    c.want(1);
    c.part.reset();  // with a running call: the next part gives its place back
    c.part = std::make_unique<SharedSlots::Part>(slots, c.mailbox, [] {});
    c.part->give();
    CHECK(slots->taken() == 0);
  }
  loop.close_all();
}

TEST_CASE("more places become usable when the limit grows, and what cannot be refused goes beyond it") {
  net::Loop loop;
  auto slots = std::make_shared<SharedSlots>();
  {
    Calls a(loop, slots, 1);
    a.want(2);
    CHECK(a.running == 1);
    a.most = 2;
    a.pump();
    CHECK(a.running == 2);
    a.part->take_anyway();
    CHECK(slots->taken() == 3);
    a.part->give();
    a.end_one();
    a.end_one();
    CHECK(slots->taken() == 0);
  }
  loop.close_all();
}

TEST_CASE("beyond the limit a free place is not given away, though calls wait for it") {
  net::Loop loop;
  auto slots = std::make_shared<SharedSlots>();
  {
    Calls a(loop, slots, 2), b(loop, slots, 2);
    a.want(5);
    b.want(5);
    a.part->take_anyway();  // a parked call goes on
    CHECK(slots->taken() == 3);
    a.end_one();
    turn(loop);
    CHECK(slots->taken() == 2);
    CHECK(a.wanted + b.wanted == 8);
    // A reload lowers the limit.
    a.most = b.most = 1;
    a.part->limit(1);
    a.end_one();
    turn(loop);
    CHECK(slots->taken() == 1);
    CHECK(a.wanted + b.wanted == 8);
    a.part->give();  // of the call that was parked
    turn(loop);
    CHECK(slots->taken() == 1);
    CHECK(a.wanted + b.wanted == 7);
    a.wanted = b.wanted = 0;
    a.pump();
    b.pump();
    for (Calls* each : {&a, &b}) {
      while (each->running > 0)
        each->end_one();
    }
    CHECK(slots->taken() == 0);
  }
  loop.close_all();
}

TEST_CASE("several threads never have more places than there are, and none waits for ever") {
  constexpr int kThreads = 4, kEach = 3000;
  constexpr uint32_t kMost = 3;
  auto slots = std::make_shared<SharedSlots>();
  std::atomic<int> running{0}, worst{0}, served{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      net::Loop loop;
      auto mailbox = *net::Mailbox::create(loop);
      int left = kEach, open = 0;
      std::unique_ptr<SharedSlots::Part> part;
      // Two at once from each thread; each lasts until the next turn.
      std::function<void()> pump = [&] {
        while (left > 0 && open < 2 && part->take(kMost)) {
          const int now = ++running;
          for (int seen = worst; now > seen && !worst.compare_exchange_weak(seen, now);) {
          }
          --left;
          ++open;
          mailbox->post([&] {
            --running;
            --open;
            ++served;
            part->give();
            pump();
          });
        }
        if (left == 0 || open == 2) part->stop_waiting();
        if (left == 0 && open == 0) loop.stop();
      };
      part = std::make_unique<SharedSlots::Part>(slots, mailbox, [&] { pump(); });
      mailbox->post([&] { pump(); });
      loop.run();
      part.reset();
      mailbox->close();
      loop.close_all();
    });
  }
  for (auto& thread : threads)
    thread.join();
  CHECK(served == kThreads * kEach);
  CHECK(worst <= static_cast<int>(kMost));
  CHECK(slots->taken() == 0);
}
