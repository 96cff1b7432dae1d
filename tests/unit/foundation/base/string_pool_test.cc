#include "foundation/base/string_pool.h"

#include <array>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <thread>

namespace {

// However this is built: some are kept.
using Texts = lineward::StringPoolOf<2>;

}  // namespace

TEST_CASE("the room of a text that is given back is the next one's") {
  std::string text = Texts::take(10);
  CHECK(text.empty());
  CHECK(text.capacity() >= Texts::kUsual);
  text = std::string(Texts::kUsual - 1, 'x').append(text);
  text.reserve(Texts::kUsual);
  const char* where = text.data();
  Texts::give(std::move(text));
  std::string next = Texts::take(Texts::kUsual);
  CHECK(next.empty());
  CHECK(next.data() == where);
  CHECK(Texts::take(1).data() != where);
}

TEST_CASE("what is given back is empty, kept or not") {
  for (size_t size :
       {size_t{0}, size_t{5}, Texts::kUsual, Texts::kMaxBytes, Texts::kMaxBytes + 1, size_t{1} << 20}) {
    std::string text(size, 'x');
    Texts::give(std::move(text));
    CHECK(text.empty());  // NOLINT(bugprone-use-after-move): give() says so
    CHECK(text.capacity() < Texts::kUsual);
  }
}

TEST_CASE("as many are kept as there is place for, and none that is too small or too large") {
  std::string small(100, 'x'), large(Texts::kMaxBytes + 1, 'x');
  Texts::give(std::move(small));
  Texts::give(std::move(large));
  std::string one = Texts::take(1), two = Texts::take(1), three = Texts::take(1);
  for (const std::string* text : {&one, &two, &three}) {
    CHECK(text->capacity() >= Texts::kUsual);
    CHECK(text->capacity() <= Texts::kMaxBytes);
  }
  const char* places[] = {one.data(), two.data(), three.data()};
  Texts::give(std::move(one));
  Texts::give(std::move(two));
  Texts::give(std::move(three));  // freed
  std::string last = Texts::take(1), before = Texts::take(1);
  CHECK(last.data() == places[1]);
  CHECK(before.data() == places[0]);
}

TEST_CASE("a text that is too small for what comes gets room") {
  std::string text;
  Texts::renew(text, 5);
  const size_t small = text.capacity();
  Texts::renew(text, Texts::kMaxBytes * 2);
  CHECK(text.capacity() >= Texts::kMaxBytes * 2);
  CHECK(small < Texts::kUsual);
}

TEST_CASE("a thread leaves none of its texts behind") {
  std::thread other([] { Texts::give(std::string(Texts::kUsual, 'x')); });
  other.join();  // the leak check sees what it kept
}

TEST_CASE("what a thread keeps is neither taken nor added to once the thread has given it up") {
  struct Block : lineward::Pooled<Block, 2> {
    std::array<char, 64> bytes{};
  };
  struct Late {
    std::string* seen;
    ~Late() {
      std::string text = Texts::take(10);
      text += "late";
      *seen = text;
      Texts::give(std::move(text));
      const auto block = std::make_unique<Block>();
      block->bytes.fill('x');
    }
  };
  std::string seen;
  std::thread([&seen] {
    thread_local Late late{&seen};  // made before what is kept, so it dies after it
    (void)late.seen;
    std::string one = Texts::take(1), other = Texts::take(1);
    Texts::give(std::move(one));
    Texts::give(std::move(other));
    auto first = std::make_unique<Block>(), second = std::make_unique<Block>();
  }).join();
  CHECK(seen == "late");
}
