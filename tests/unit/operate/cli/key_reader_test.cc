#include "operate/cli/key_reader.h"

#include <catch2/catch.hpp>
#include <vector>

using namespace lineward::cli;

namespace {

constexpr auto kMore = KeyReader::Patience::more_may_come;
constexpr auto kNone = KeyReader::Patience::none;

std::vector<Key> keys_of(KeyReader& reader, KeyReader::Patience patience) {
  std::vector<Key> out;
  while (auto press = reader.next(patience))
    out.push_back(press->key);
  return out;
}

}  // namespace

TEST_CASE("keys as terminals send them") {
  KeyReader reader;
  reader.add("\033[A\033OB\033[5~\033[6~\033[H\033OF\r\x7f");
  CHECK(keys_of(reader, kMore) == std::vector<Key>{Key::up, Key::down, Key::page_up, Key::page_down,
                                                   Key::home, Key::end, Key::enter, Key::backspace});
}

TEST_CASE("a sequence that is cut anywhere is one key") {
  KeyReader reader;
  for (const char* piece : {"\033", "[", "5"}) {
    reader.add(piece);
    CHECK(keys_of(reader, kMore).empty());
    CHECK(reader.waits());
  }
  reader.add("~");
  CHECK(keys_of(reader, kMore) == std::vector<Key>{Key::page_up});
  CHECK_FALSE(reader.waits());
}

TEST_CASE("an escape that nothing follows is the key") {
  KeyReader reader;
  reader.add("\033");
  CHECK(keys_of(reader, kMore).empty());
  CHECK(keys_of(reader, kNone) == std::vector<Key>{Key::escape});
  reader.add("\033x");
  auto first = reader.next(kMore);
  REQUIRE(first);
  CHECK(first->key == Key::escape);
  auto second = reader.next(kMore);
  REQUIRE(second);
  CHECK(second->text == "x");
}

TEST_CASE("letters of several bytes are one key; what we do not know is passed over") {
  KeyReader reader;
  reader.add("\xc3");
  CHECK(keys_of(reader, kMore).empty());
  reader.add("\xb6\033[15~\x01\033[1;5Cq");
  auto press = reader.next(kMore);
  REQUIRE(press);
  CHECK(press->text == "ö");
  press = reader.next(kMore);
  REQUIRE(press);
  CHECK(press->text == "q");
}

TEST_CASE("whatever comes is bounded") {
  KeyReader reader;
  reader.add("\033[" + std::string(100000, '1'));
  CHECK(keys_of(reader, kNone) == std::vector<Key>{Key::escape});
  reader.add(std::string(100000, 'x'));
  CHECK(keys_of(reader, kNone).size() <= 4096);
}
