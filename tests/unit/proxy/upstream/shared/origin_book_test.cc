#include "proxy/upstream/shared/origin_book.h"

#include <catch2/catch.hpp>

namespace lineward::upstream {
namespace {

using std::chrono::milliseconds;
using namespace std::chrono_literals;

struct Book {
  explicit Book(size_t origins) {
    for (size_t i = 0; i < origins; ++i) {
      states.push_back(book.state("http://10.0.0." + std::to_string(i) + "/mcp", "o" + std::to_string(i)));
      all.push_back(states.back().get());
    }
  }
  milliseconds fail(size_t which, milliseconds now, uint32_t times = 1) {
    milliseconds out{0};
    for (uint32_t i = 0; i < times; ++i)
      out = book.failed(*states[which], all, limits, now);
    return out;
  }

  OriginBook book;
  config::Origins limits{.eject_after = 3, .eject_for = 10s, .max_eject_for = 35s};
  std::vector<OriginBook::StatePtr> states;
  std::vector<const OriginState*> all;
};

}  // namespace

TEST_CASE("an origin is ejected after some failures in a row") {
  Book book(3);
  CHECK(book.fail(0, 1s, 2) == 0s);
  book.states[0]->succeeded(1s);
  CHECK(book.fail(0, 1s, 2) == 0s);
  CHECK_FALSE(book.states[0]->is_out(1s));
  CHECK(book.fail(0, 1s) == 10s);
  CHECK(book.states[0]->is_out(1s));
  CHECK(book.states[0]->out_for(3s) == 8s);
  CHECK_FALSE(book.states[0]->is_out(11s));
  CHECK(book.states[0]->failures == 5);
  CHECK(book.states[0]->ejections == 1);

  SECTION("its full share comes back slowly") {
    CHECK(book.states[0]->since() == 11s);
  }
  SECTION("failures of calls that were sent before do not count again") {
    CHECK(book.fail(0, 2s, 10) == 0s);
    CHECK(book.states[0]->out_for(2s) == 9s);
  }
  SECTION("the first failure after that ejects it for twice as long, up to the longest time") {
    CHECK(book.fail(0, 12s) == 20s);
    CHECK(book.fail(0, 33s) == 35s);
    CHECK(book.fail(0, 69s) == 35s);
  }
  SECTION("it begins anew after it was in service for longer than it was out") {
    book.states[0]->succeeded(12s);
    CHECK(book.fail(0, 22s, 3) == 10s);
  }
  SECTION("its first answer is news, once") {
    CHECK_FALSE(book.states[0]->succeeded(2s));
    CHECK(book.states[0]->succeeded(12s));
    CHECK_FALSE(book.states[0]->succeeded(13s));
  }
}

TEST_CASE("no more than half of the origins are ejected") {
  SECTION("not the only one") {
    Book book(1);
    CHECK(book.fail(0, 1s, 100) == 0s);
  }
  SECTION("one of two") {
    Book book(2);
    CHECK(book.fail(0, 1s, 3) == 10s);
    CHECK(book.fail(1, 1s, 100) == 0s);
    CHECK(book.fail(1, 12s) == 10s);  // the first is back
  }
  SECTION("one of three") {
    Book book(3);
    CHECK(book.fail(0, 1s, 3) == 10s);
    CHECK(book.fail(1, 1s, 100) == 0s);
  }
}

TEST_CASE("origins are not ejected without a limit") {
  Book book(2);
  book.limits.eject_after = 0;
  CHECK(book.fail(0, 1s, 1000) == 0s);
}

TEST_CASE("origins with the same host and port have different names") {
  OriginBook book;
  const auto one = book.state("http://a:1/x", "a:1");
  const auto other = book.state("http://a:1/y", "a:1");
  CHECK(one->name == "a:1");
  CHECK(other->name == "a:1#2");
  CHECK(book.state("http://a:1/x", "a:1") == one);
  CHECK(book.names() == std::vector<std::string>{"a:1", "a:1#2"});
}

TEST_CASE("an operator drains an origin by its name") {
  const auto book = OriginBook::of("draining");
  auto state = book->state("http://a:1/x", "a:1");
  CHECK(book->named("b:1") == nullptr);
  REQUIRE(book->named("a:1") == state);
  state->drained = true;
  CHECK(OriginBook::find("draining") == book);
  CHECK(OriginBook::find("another") == nullptr);

  SECTION("it stays drained when no worker has it for a while") {
    state.reset();
    book->state("http://c:1/x", "c:1");
    CHECK(book->named("a:1") == nullptr);
    CHECK(book->state("http://a:1/x", "a:1")->drained);
  }
  SECTION("another one is forgotten") {
    state->drained = false;
    const std::weak_ptr<OriginState> gone = state;
    state.reset();
    book->state("http://c:1/x", "c:1");
    CHECK(gone.expired());
  }
}

}  // namespace lineward::upstream
