#include "foundation/net/mailbox.h"

#include <catch2/catch.hpp>
#include <memory>
#include <thread>
#include <vector>

using lineward::net::Loop;
using lineward::net::Mailbox;

TEST_CASE("work posted from other threads is done on the loop's, once each, in each one's order") {
  constexpr int kThreads = 4, kEach = 2000;
  Loop loop;
  auto mailbox = *Mailbox::create(loop);
  std::vector<int> last(kThreads, -1);
  int done = 0;
  bool ordered = true;
  const auto here = std::this_thread::get_id();
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        mailbox->post([&, t, i, owned = std::make_unique<int>(i)] {
          ordered = ordered && std::this_thread::get_id() == here && last[static_cast<size_t>(t)] == i - 1 &&
                    *owned == i;
          last[static_cast<size_t>(t)] = i;
          if (++done == kThreads * kEach) loop.stop();
        });
      }
    });
  }
  loop.run();
  for (auto& thread : threads)
    thread.join();
  CHECK(ordered);
  CHECK(done == kThreads * kEach);
  mailbox->close();
  loop.close_all();
}

TEST_CASE("what a closed mailbox gets is destroyed, and so is what it held") {
  Loop loop;
  auto mailbox = *Mailbox::create(loop);
  auto held = std::make_shared<int>(1);
  int ran = 0;
  CHECK(mailbox->post([held, &ran] { ++ran; }));
  CHECK(held.use_count() == 2);
  mailbox->close();
  CHECK(held.use_count() == 1);
  CHECK_FALSE(mailbox->post([held, &ran] { ++ran; }));
  CHECK(held.use_count() == 1);
  loop.close_all();
  CHECK(ran == 0);
}
