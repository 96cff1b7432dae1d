#include "foundation/json/json_outline.h"

#include <catch2/catch.hpp>
#include <memory>
#include <random>
#include <string>

#include "foundation/json/json_splice.h"

using namespace lineward::json;

namespace {

std::string text_of(size_t size, std::mt19937& dice) {
  std::string out = "\"";
  while (out.size() < size) {
    switch (dice() % 12) {
      case 0: out += "\\n"; break;
      case 1: out += "\\u00e9"; break;
      case 2: out += "\xc3\xa9"; break;
      case 3: out += "\xf0\x9f\x98\x80"; break;
      default: out.append(dice() % 40, static_cast<char>('a' + dice() % 26));
    }
  }
  return out + '"';
}

std::string value_of(std::mt19937& dice, int depth) {
  switch (dice() % (depth > 3 ? 4 : 7)) {
    case 0: return text_of(dice() % 20, dice);
    case 1: return dice() % 8 == 0 ? text_of(dice() % 20000, dice) : std::to_string(dice()) + ".5e3";
    case 2: return "null";
    case 3: return dice() % 2 == 0 ? "{}" : " [ ] ";
    case 4:
    case 5: {
      std::string out = "{";
      for (size_t i = 0, n = dice() % 9; i < n; ++i)
        out += (i == 0 ? "" : " , ") + text_of(dice() % 9, dice) + (i % 2 == 0 ? ":" : " : ") +
               value_of(dice, depth + 1);
      return out + "}";
    }
    default: {
      std::string out = "[";
      for (size_t i = 0, n = dice() % 12; i < n; ++i)
        out += (i == 0 ? "" : ",") + value_of(dice, depth + 1);
      return out + "\n]";
    }
  }
}

Outline outline_of(const std::string& text, size_t chunk) {
  Outline outline;
  std::string so_far;
  for (size_t at = 0; at < text.size(); at += chunk) {
    std::string moved = so_far + text.substr(at, chunk);  // at another place each time
    so_far.swap(moved);
    outline.more(so_far);
  }
  outline.close();
  return outline;
}

// Each noted end is the end of its value.
size_t check_noted(const std::string& text, const Outline& outline) {
  size_t noted = 0;
  for (uint32_t at = 0; at < text.size(); ++at) {
    const uint32_t end = outline.end_of(at);
    if (end == 0) continue;
    ++noted;
    Cursor cursor(std::string_view(text).substr(at), kDepthCeiling);
    Span value;
    const bool good = cursor.skip(value);
    CHECK(good);
    CHECK(value.begin == 0);
    CHECK(at + value.end == end);
    CHECK(end - at >= Outline::kWorth);
  }
  return noted;
}

std::string of(const std::string& inside) {
  return R"({"jsonrpc":"2.0","id":1,"result":)" + inside + "}";
}

}  // namespace

TEST_CASE("what is around a large value on the outer levels is known too, and nothing is read again") {
  const std::string long_text = '"' + std::string(3 * Outline::kWorth, 'x') + '"';
  const std::string content = R"([{"type":"text","text":)" + long_text + "}]";
  const std::string text = of(R"({"content":)" + content + "}");
  const Outline outline = outline_of(text, 100);
  const auto at = static_cast<uint32_t>(text.find(content));
  CHECK(outline.end_of(at) == at + content.size());
  CHECK(check_noted(text, outline) == 5);  // the text, its block, the content, the result and the message

  std::string deep = long_text;
  for (int i = 0; i < 20; ++i)
    deep = '[' + deep + ']';
  CHECK(check_noted(of(deep), outline_of(of(deep), 100)) == 1 + Outline::kOuterLevels);
}

TEST_CASE("an outline knows where large values end, however the text came") {
  std::mt19937 dice(7);
  size_t noted = 0;
  for (int i = 0; i < 200; ++i) {
    const std::string text = of(value_of(dice, 0));
    const size_t chunk = 1 + dice() % (i % 3 == 0 ? 20000 : 300);
    const Outline outline = outline_of(text, chunk);
    const size_t there = check_noted(text, outline);
    CHECK(there == check_noted(text, outline_of(text, text.size())));
    CHECK(there <= (1 + Outline::kOuterLevels) * text.size() / Outline::kWorth);
    noted += there;
  }
  CHECK(noted > 100);
}

TEST_CASE("what is large is noted once: not each inner level around it, and each of several") {
  const std::string large = "\"" + std::string(9000, 'x') + "\"";
  std::string deep = large;
  for (int i = 0; i < 100; ++i)
    deep = "[" + deep + "]";
  const Outline one = outline_of(deep, 1000);
  CHECK(one.end_of(100) == 100 + large.size());
  CHECK(one.end_of(Outline::kOuterLevels - 1) != 0);
  CHECK(one.end_of(Outline::kOuterLevels) == 0);
  const std::string two = "{\"a\":" + large + ",\"b\":[" + large + "]}";
  const Outline both = outline_of(two, 64);
  CHECK(both.end_of(5) == 5 + large.size());
  CHECK(both.end_of(static_cast<uint32_t>(two.size() - large.size() - 2)) == two.size() - 2);
  std::string many = "[0";
  for (int i = 0; i < 3000; ++i)
    many += ",{\"k\":" + std::to_string(i) + "}";
  const Outline list = outline_of(many + "]", 777);
  CHECK(list.end_of(0) == many.size() + 1);
}

TEST_CASE("nothing behind a fault is noted, and nothing that has not ended") {
  const std::string large = "\"" + std::string(9000, 'x') + "\"";
  for (const std::string& text :
       {"[1,," + large + "]", "[tru," + large + "]", "{\"a\" " + large + "}", "[" + large,
        "[\"\x01\"," + large + "]", "[\"" + std::string(9000, 'x') + "\xff\"," + "1]",
        "[\"" + std::string(9000, 'x'), "[\"\\x\"," + large + "]", "{" + large + "}",
        "[" + std::string(9000, '1')}) {
    for (size_t chunk : {1u, 7u, 100u, 100000u}) {
      const Outline outline = outline_of(text, chunk);
      INFO(text.substr(0, 20) << " by " << chunk);
      CHECK(outline.end_of(0) == 0);
      if (text.substr(0, 2) != "[\"" || text.size() < 9003) CHECK(check_noted(text, outline) <= 1);
    }
  }
  CHECK(outline_of("[1,," + large + "]", 10).empty());
  CHECK(outline_of("[" + large + "," + std::string(200, '['), 50).end_of(1) == large.size() + 1);
}

TEST_CASE("levels are counted as a parser of the text counts them") {
  const std::string large = "\"" + std::string(9000, 'x') + "\"";
  const auto nested = [&](int levels) { return std::string(levels, '[') + large + std::string(levels, ']'); };
  CHECK_FALSE(outline_of(nested(kMaxDepth), 100).empty());
  CHECK(outline_of(nested(kMaxDepth + 1), 100).empty());
}

TEST_CASE("an outline serves one text after the other") {
  Outline outline;
  outline.more("[\"" + std::string(9000, 'x') + "\",");
  outline.clear();
  CHECK(outline.empty());
  outline.more("{}");
  outline.close();
  CHECK(outline.empty());
}

TEST_CASE("what is left of an outline after a change is true of the changed text") {
  std::mt19937 dice(11);
  size_t kept = 0;
  for (int i = 0; i < 200; ++i) {
    std::string inside = "[0";
    for (size_t n = 1 + dice() % 6; n > 0; --n)
      inside += ",{\"a\":" + value_of(dice, 2) + ",\"b\":" + text_of(dice() % 9000, dice) + "}";
    const std::string text = of(inside + "]");
    auto outline = std::make_shared<Outline>(kMaxDepth, 100);
    outline->more(text);
    outline->close();
    // Members go, come and change anywhere.
    Splice splice(text, outline);
    Span value;
    const auto result = static_cast<uint32_t>(text.find("\"result\":") + 9);
    const std::string_view array = std::string_view(text).substr(result, text.size() - 1 - result);
    Cursor elements(array, kDepthCeiling);
    REQUIRE(elements.enter_array());
    while (elements.next_element()) {
      REQUIRE(elements.skip(value));
      const Span element{value.begin + result, value.end + result};
      if (text[element.begin] != '{') continue;
      switch (dice() % 5) {
        case 0: splice.replace(element, dice() % 2 == 0 ? "7" : text_of(300, dice)); break;
        case 1: splice.add_member(element, "new", text_of(dice() % 300, dice)); break;
        case 2: splice.insert(element.begin, "8,"); break;
        case 3: splice.insert(element.end, ",9"); break;
        default: break;
      }
    }
    const Text changed = splice.apply_outlined();
    REQUIRE(validate(changed.bytes, kDepthCeiling) == Fault::none);
    for (uint32_t at = 0; at < changed.bytes.size(); ++at) {
      const uint32_t end = changed.outline->end_of(at);
      if (end == 0) continue;
      ++kept;
      Cursor one(std::string_view(changed.bytes).substr(at), kDepthCeiling);
      REQUIRE(one.skip(value));
      CHECK(at + value.end == end);
    }
  }
  CHECK(kept > 100);
}

TEST_CASE("a walk has to look at all but long strings") {
  const std::string large = "\"" + std::string(9000, 'x') + "\"";
  const std::string text = "[{\"t\":" + large + "},{\"t\":\"short\"}," + large + "]";
  const Outline outline = outline_of(text, 100);
  const Span whole{0, static_cast<uint32_t>(text.size())};
  CHECK(outline.bytes_beside_strings(text, whole) == text.size() - 2 * large.size());
  CHECK(outline.bytes_beside_strings(text, {0, 3}) == 3);
}

TEST_CASE("what arrives has an outline from some size on") {
  ArrivingOutline arriving;
  std::string text = "[\"" + std::string(10000, 'x') + "\"]";
  arriving.more(text);
  CHECK(arriving.take() == nullptr);
  text = "[\"" + std::string(ArrivingOutline::kFrom, 'x') + "\"]";
  arriving.more(text);
  const OutlinePtr outline = arriving.take();
  REQUIRE(outline != nullptr);
  CHECK(outline->end_of(1) == text.size() - 1);
  CHECK(arriving.take() == nullptr);
}
