#include "foundation/net/lifetime.h"

#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "foundation/net/loop.h"

using lineward::net::Lifetime;
using lineward::net::Loop;

namespace {

// Calls a listener that may end it, and checks afterwards.
struct Teller {
  std::string tell(const std::function<void()>& listener) {
    const auto watch = lifetime.watch();
    listener();
    return watch.gone() ? "gone" : "there";
  }
  Lifetime lifetime;
};

// Notes when it is freed.
struct Noted {
  Noted(std::string& to, std::string what) : notes(to), name(std::move(what)) {}
  ~Noted() { notes += name + " freed "; }
  std::string& notes;
  std::string name;
};

}  // namespace

TEST_CASE("a watch tells whether the object has gone, also long afterwards") {
  auto lifetime = std::make_unique<Lifetime>();
  const Lifetime::Watch first = lifetime->watch();
  const Lifetime::Watch second = lifetime->watch();
  Lifetime::Watch copy = first;
  CHECK_FALSE(first.gone());
  CHECK_FALSE(second.gone());
  CHECK_FALSE(copy.gone());
  lifetime.reset();
  CHECK(first.gone());
  CHECK(second.gone());
  CHECK(copy.gone());
  Lifetime other;
  copy = other.watch();
  CHECK_FALSE(copy.gone());
  CHECK(first.gone());
  Lifetime::Watch& same = copy;
  copy = same;
  CHECK_FALSE(copy.gone());
}

TEST_CASE("a watch of nothing says gone") {
  Lifetime::Watch none;
  CHECK(none.gone());
  Lifetime lifetime;
  Lifetime::Watch from = lifetime.watch();
  const Lifetime::Watch to = std::move(from);
  CHECK(from.gone());  // NOLINT(bugprone-use-after-move): it is said to be so
  CHECK_FALSE(to.gone());
  none = to;
  CHECK_FALSE(none.gone());
}

TEST_CASE("a function asks whether it was ended by what it called") {
  auto teller = std::make_unique<Teller>();
  CHECK(teller->tell([] {}) == "there");
  CHECK(teller->tell([&] { teller.reset(); }) == "gone");
}

TEST_CASE("a guarded callback does nothing once the object has gone") {
  int sum = 0;
  std::optional<Lifetime> lifetime;
  lifetime.emplace();
  std::function<void(int, std::unique_ptr<int>)> guarded =
      lifetime->guard([&sum](int a, std::unique_ptr<int> b) { sum += a + *b; });
  const auto copy = guarded;
  guarded(1, std::make_unique<int>(2));
  copy(3, std::make_unique<int>(4));
  CHECK(sum == 10);
  lifetime.reset();
  guarded(100, std::make_unique<int>(100));
  copy(100, std::make_unique<int>(100));
  CHECK(sum == 10);
}

TEST_CASE("a guarded callback may end the object that it belongs to") {
  auto lifetime = std::make_unique<Lifetime>();
  int calls = 0;
  std::function<void()> guarded = lifetime->guard([&] {
    ++calls;
    lifetime.reset();
  });
  guarded();
  guarded();
  CHECK(calls == 1);
}

TEST_CASE("what a guarded callback holds is freed with the callback") {
  std::string notes;
  auto lifetime = std::make_unique<Lifetime>();
  std::function<void()> guarded = lifetime->guard([held = std::make_shared<Noted>(notes, "held")] {});
  lifetime.reset();
  CHECK(notes.empty());
  guarded = nullptr;
  CHECK(notes == "held freed ");
}

TEST_CASE("an object that ended itself has gone for later callers too, one that was renewed has not") {
  Lifetime lifetime;
  const Lifetime::Watch before = lifetime.watch();
  lifetime.renew();
  CHECK(before.gone());
  const Lifetime::Watch after = lifetime.watch();
  CHECK_FALSE(after.gone());
  lifetime.end();
  CHECK(after.gone());
  CHECK(lifetime.watch().gone());
  lifetime.end();
  CHECK(lifetime.watch().gone());
}

TEST_CASE("deferred work of an object that has gone is left out") {
  Loop loop;
  std::string done;
  auto gone = std::make_unique<Lifetime>();
  Lifetime there;
  loop.defer(*gone, [&] { done += "gone "; });
  loop.defer(there, [&] { done += "there "; });
  loop.defer([&] { done += "nobody's "; });
  gone.reset();
  CHECK(done.empty());
  loop.close_deferred();
  CHECK(done == "there nobody's ");
  loop.close_all();
}

TEST_CASE("work that is deferred in the same turn may end the object of the next") {
  Loop loop;
  std::string done;
  auto second = std::make_unique<Lifetime>();
  Lifetime first;
  loop.defer(first, [&] {
    done += "first ";
    second.reset();
  });
  loop.defer(*second, [&] { done += "second "; });
  loop.close_deferred();
  CHECK(done == "first ");
  loop.close_all();
}

TEST_CASE("what is retired is freed after the work of the same turn, in the order in which it came") {
  Loop loop;
  std::string notes;
  loop.retire(std::make_unique<Noted>(notes, "one"));
  auto shared = std::make_shared<Noted>(notes, "shared");
  loop.retire(shared);
  loop.retire(std::make_shared<Noted>(notes, "two"));
  loop.retire(std::unique_ptr<Noted>());
  loop.retire(std::shared_ptr<Noted>());
  loop.defer([&] { notes += "work "; });
  CHECK(notes.empty());
  loop.close_deferred();
  CHECK(notes == "work one freed two freed ");
  shared.reset();
  CHECK(notes == "work one freed two freed shared freed ");
  loop.close_all();
}
