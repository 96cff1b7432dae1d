#include "foundation/base/seal_keys.h"

#include <catch2/catch.hpp>
#include <set>

#include "foundation/base/base64url.h"

using namespace lineward;

namespace {

const std::string kOne = "wuWnmEBfyR6N8Vv3eEtcwVVl1vJ9tO+Tq0xVnDk0cX4=";
const std::string kTwo = "4hRGl7oXq5dN9o4y3u0yJmB0l1mS5b2W6jvYVg0h2yQ=";

std::shared_ptr<const SealKeys> keys(const std::string& text) {
  auto made = SealKeys::parse(text);
  REQUIRE(made);
  return *made;
}

}  // namespace

TEST_CASE("what is sealed is opened again, and two seals of one text differ") {
  auto one = keys(kOne);
  std::set<std::string> seen;
  for (size_t size : {0, 1, 15, 16, 17, 1000, 100000}) {
    std::string plain(size, 'x');
    std::string sealed = one->seal("context", plain);
    CHECK(sealed.size() == size + SealKeys::kOverhead);
    CHECK(one->open("context", sealed) == plain);
    CHECK(sealed != one->seal("context", plain));
  }
}

TEST_CASE("a seal with any bit changed, cut, added, or in another context is not opened") {
  auto one = keys(kOne);
  std::string sealed = one->seal("context", "some text");
  for (size_t at = 0; at < sealed.size() * 8; ++at) {
    std::string changed = sealed;
    changed[at / 8] = static_cast<char>(changed[at / 8] ^ 1 << at % 8);
    CHECK_FALSE(one->open("context", changed));
  }
  for (size_t length = 0; length < sealed.size(); ++length)
    CHECK_FALSE(one->open("context", sealed.substr(0, length)));
  CHECK_FALSE(one->open("context", sealed + "x"));
  CHECK_FALSE(one->open("contexT", sealed));
  CHECK_FALSE(one->open("", sealed));
}

TEST_CASE("the first key seals, all keys open") {
  auto before = keys(kOne), both = keys(kTwo + "\n" + kOne), after = keys(kTwo);
  std::string old = before->seal("c", "text"), recent = both->seal("c", "text");
  CHECK(both->open("c", old) == "text");
  CHECK(after->open("c", recent) == "text");
  CHECK_FALSE(after->open("c", old));
  CHECK_FALSE(before->open("c", recent));
  CHECK(both->is_mac("text", before->mac("text")));
  CHECK(both->mac("text") == after->mac("text"));
  CHECK_FALSE(after->is_mac("text", before->mac("text")));
  CHECK(both->is_mac("text", both->mac("text").substr(0, 16)));
  CHECK_FALSE(both->is_mac("text", both->mac("text").substr(0, 15)));
  CHECK_FALSE(both->is_mac("text", ""));
}

TEST_CASE("a file of keys has lines, comments and blanks; what is wrong is told by its line") {
  CHECK(keys("# made today\n\n  " + kOne + " \r\n\n#\n" + kTwo)->size() == 2);
  CHECK(keys(kOne)->mac("x") == keys("  " + kOne + "\r\n")->mac("x"));
  auto fault = [](const std::string& text) {
    auto made = SealKeys::parse(text);
    return made ? std::string() : made.error().text;
  };
  CHECK(fault("") == "it holds no key");
  CHECK(fault("# nothing\n") == "it holds no key");
  CHECK(fault(kOne + "\nhunter2\n") == "the key in line 2 has 7 characters; it takes 32 or more");
  std::string many;
  for (int i = 0; i < 17; ++i)
    many += kOne + "\n";
  CHECK(fault(many) == "it holds more than 16 keys");
}

TEST_CASE("base64url has one spelling for each sequence of bytes") {
  for (size_t size = 0; size < 70; ++size) {
    std::string text;
    for (size_t i = 0; i < size; ++i)
      text += static_cast<char>(i * 37 + size);
    CHECK(from_base64url(to_base64url(text)) == text);
  }
  CHECK(to_base64url("\xff\xef\xfe") == "_-_-");
  CHECK(to_base64url("f") == "Zg");
  CHECK(from_base64url("Zg") == "f");
  CHECK_FALSE(from_base64url("Zh"));
  CHECK_FALSE(from_base64url("Zg=="));
  CHECK_FALSE(from_base64url("Zg\n"));
  CHECK_FALSE(from_base64url("Zm9v+A"));
  CHECK_FALSE(from_base64url("Z"));
}

TEST_CASE("parts are joined so that no two lists of them read the same") {
  CHECK(joined_parts({"a", "bc"}) != joined_parts({"ab", "c"}));
  CHECK(joined_parts({"a", ""}) != joined_parts({"a"}));
  CHECK(joined_parts({"1:a"}) != joined_parts({"", "a"}));
}
