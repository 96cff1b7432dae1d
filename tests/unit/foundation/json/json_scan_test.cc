#include "foundation/json/json_scan.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <memory>

#include "foundation/json/json_grammar.h"
#include "unit/foundation/json/json_gen.h"

using namespace lineward;
using json::Cursor;
using json::Fault;
using json::Span;
using json::validate;
using test::JsonGen;

namespace {

// Validates a copy that ends where its allocation ends, so that the sanitizer sees a read beyond it.
Fault check(std::string_view text, int depth = json::kMaxDepth) {
  const auto exact = std::make_unique<char[]>(text.size());
  if (!text.empty()) std::memcpy(exact.get(), text.data(), text.size());
  return validate({exact.get(), text.size()}, depth);
}

bool scans(std::string_view text) {
  return check(text) == Fault::none;
}

}  // namespace

TEST_CASE("grammar: what is JSON") {
  for (const char* text : {"{}",
                           "[]",
                           " \t\r\n[ ] \n",
                           "0",
                           "-0",
                           "1.0",
                           "1e400",
                           "-1.5E-3",
                           "\"\"",
                           "true",
                           "false",
                           "null",
                           "[1,2 , 3]",
                           "{\"a\":{\"b\":[{}]}}",
                           "{\"\":0,\"\":0}",
                           "\"\\u0000\\ud800\\/\\b\\f\\n\\r\\t\\\\\\\"\"",
                           "\"\x7F\"",
                           "123456789012345678901234567890",
                           "\"\xF4\x8F\xBF\xBF\"",
                           "\"\xEF\xBF\xBF\"",
                           "\"\xED\x9F\xBF\""}) {
    CAPTURE(text);
    CHECK(check(text) == Fault::none);
  }
}

TEST_CASE("grammar: what is not JSON, and why") {
  for (const char* text : {"",
                           " ",
                           "{",
                           "[",
                           "\"",
                           "\"\\\"",
                           "\"\\",
                           "\"\\u12\"",
                           "\"\\x\"",
                           "\"\\u12G4\"",
                           "[1,]",
                           "[,1]",
                           "{,}",
                           "{\"a\":1,}",
                           "{\"a\"}",
                           "{\"a\":}",
                           "{a:1}",
                           "{'a':1}",
                           "{1:1}",
                           "-",
                           "+1",
                           ".5",
                           "1.",
                           "1e",
                           "1e+",
                           "[01]",
                           "[1 2]",
                           "[-01]",
                           "tru",
                           "nul",
                           "True",
                           "NaN",
                           "Infinity",
                           "[}",
                           "{]",
                           "[1}",
                           "{\"a\":1]",
                           "//",
                           "[1]/**/\xC2\xA0,",
                           "\"\n\"",
                           "\"\t\"",
                           "\"\x1F\"",
                           "\xEF\xBB\xBF{}",
                           "\xC2\xA0{}",
                           "\v1",
                           "\f1",
                           "{\"a\" \"b\"}",
                           "[1,\x80]"}) {
    CAPTURE(text);
    CHECK(check(text) != Fault::none);
  }
  CHECK(check(std::string_view("\"\0\"", 3)) == Fault::syntax);
  CHECK(check(std::string_view("{}\0", 3)) == Fault::trailing);
  for (const char* text : {"{} {}", "01", "nullx", "1 2", "\"a\"\"b\"", "{}}", "[]]"}) {
    CAPTURE(text);
    CHECK(check(text) == Fault::trailing);
  }
}

TEST_CASE("UTF-8 agrees with its definition for every lead and second byte") {
  const auto legal = [](int lead, int second) {
    if (lead < 0xC2 || lead > 0xF4 || second < 0x80 || second > 0xBF) return false;
    if (lead == 0xE0) return second >= 0xA0;
    if (lead == 0xED) return second <= 0x9F;
    if (lead == 0xF0) return second >= 0x90;
    if (lead == 0xF4) return second <= 0x8F;
    return true;
  };
  for (int lead = 0x80; lead < 0x100; ++lead) {
    const size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    for (int second = 0; second < 0x100; ++second) {
      if (second == '"' || second == '\\') continue;
      std::string inner = {static_cast<char>(lead), static_cast<char>(second), '\x80', '\xBF'};
      inner.resize(length);
      INFO(lead << " " << second);
      REQUIRE((check('"' + inner + '"') == Fault::none) == legal(lead, second));
      REQUIRE_FALSE(scans('"' + inner.substr(0, length - 1) + '"'));
      REQUIRE_FALSE(scans('"' + inner.substr(0, length - 1)));
      inner.back() = 'a';
      REQUIRE_FALSE(scans('"' + inner + '"'));
    }
  }
  CHECK(check("\"\xFF\"") == Fault::utf8);
}

TEST_CASE("string scanning finds each special byte at each place") {
  for (size_t size = 0; size < 70; ++size) {
    const std::string plain(size, 'x');
    REQUIRE(scans('"' + plain + '"'));
    REQUIRE_FALSE(scans('"' + plain));
    for (size_t at = 0; at < size; ++at) {
      for (int byte = 0; byte < 256; ++byte) {
        std::string inner = plain;
        inner[at] = static_cast<char>(byte);
        const bool good = byte >= 0x20 && byte < 0x80 && byte != '"' && !(byte == '\\');
        if (byte == '"' && at + 1 == size) continue;
        INFO(size << " " << at << " " << byte);
        if (scans('"' + inner + '"') != good) FAIL();
      }
    }
  }
}

TEST_CASE("depth is limited, in bounded stack, however deep the text is") {
  const auto nest = [](int depth, const char* open, const char* close) {
    std::string out;
    for (int i = 0; i < depth; ++i)
      out += open;
    out += '1';
    for (int i = 0; i < depth; ++i)
      out += close;
    return out;
  };
  for (const int limit :
       {1, 2, 63, 64, 65, 128, 1000, json::kDepthCeiling, json::kDepthCeiling + 1, json::kWrappedDepth}) {
    CAPTURE(limit);
    CHECK(check(nest(limit, "[", "]"), limit) == Fault::none);
    CHECK(check(nest(limit, "{\"a\":", "}"), limit) == Fault::none);
    CHECK(check(nest(limit + 1, "[", "]"), limit) == Fault::depth);
    CHECK(check(nest(limit + 1, "{\"a\":", "}"), limit) == Fault::depth);
  }
  CHECK(check(nest(2000, "[", "]"), 5000) == Fault::depth);  // the ceiling
  CHECK(check(nest(100000, "[", "]")) == Fault::depth);
  CHECK(check(std::string(100000, '[')) == Fault::depth);
  CHECK(check("[]", 0) == Fault::depth);
  // Objects in arrays in objects close in the right order only.
  CHECK(scans(nest(64, "[{\"a\":", "}]")));
  CHECK_FALSE(scans(nest(64, "[{\"a\":", "]}")));
}

TEST_CASE("a zero byte behind the text stops what its end stops") {
  JsonGen gen(7);
  int good = 0, bad = 0;
  for (int i = 0; i < 3000; ++i) {
    gen.pretty = i % 2 == 0;
    std::string whole = gen.value(3);
    if (i % 3 == 0) whole = gen.mutate(whole);
    for (size_t size = i % 10 == 0 ? 0 : whole.size(); size <= whole.size(); ++size) {
      // Both end where their allocation ends.
      const auto bare = std::make_unique<char[]>(size), zeroed = std::make_unique<char[]>(size + 1);
      std::copy_n(whole.data(), size, bare.get());
      std::copy_n(whole.data(), size, zeroed.get());
      Cursor cursor(std::string_view(bare.get(), size));
      Span value;
      const bool passed = cursor.skip(value);
      json::Scanner<true> scan{zeroed.get(), zeroed.get() + size};
      const char first = scan.token();
      CAPTURE(whole, size);
      REQUIRE(scan.value(first, json::kMaxDepth) == passed);
      REQUIRE(scan.fault == cursor.fault());
      REQUIRE(scan.at == zeroed.get() + cursor.offset());
      ++(passed ? good : bad);
    }
  }
  CHECK(good > 1000);
  CHECK(bad > 1000);
}

TEST_CASE("containers close in the right order at any depth") {
  JsonGen gen(8);
  for (int i = 0; i < 2000; ++i) {
    std::string text, closing;
    for (uint32_t depth = 1 + gen.below(300); depth > 0; --depth) {
      const bool object = gen.chance(2);
      text += object ? "{\"a\":" : "[";
      closing += object ? '}' : ']';
      if (gen.chance(8)) text += object ? "[{}],\"b\":" : "{\"c\":[]},";
    }
    std::reverse(closing.begin(), closing.end());
    REQUIRE(check(text + "0" + closing, 512) == Fault::none);
    char& one = closing[gen.below(static_cast<uint32_t>(closing.size()))];
    one = one == ']' ? '}' : ']';
    REQUIRE(check(text + "0" + closing, 512) == Fault::syntax);
  }
}

TEST_CASE("Cursor walks nested objects and arrays and gives exact ranges") {
  const std::string text = R"( {"a" : [1, {"b":2},[ ]] , "c\n": {"d":{}} ,"e":{} } )";
  Cursor cursor(text);
  Span key, value;
  bool escaped = false;
  CHECK_FALSE(cursor.at_array());
  REQUIRE(cursor.at_object());
  REQUIRE(cursor.enter_object());
  REQUIRE(cursor.next_key(key, escaped));
  CHECK(key.in(text) == "a");
  CHECK_FALSE(escaped);
  REQUIRE(cursor.at_array());
  REQUIRE(cursor.enter_array());
  REQUIRE(cursor.next_element());
  REQUIRE(cursor.skip(value));
  CHECK(value.in(text) == "1");
  REQUIRE(cursor.next_element());
  REQUIRE(cursor.skip(value));
  CHECK(value.in(text) == "{\"b\":2}");
  REQUIRE(cursor.next_element());
  REQUIRE(cursor.enter_array());
  CHECK_FALSE(cursor.next_element());
  CHECK(cursor.done());
  CHECK_FALSE(cursor.next_element());
  CHECK(cursor.done());
  REQUIRE(cursor.next_key(key, escaped));
  CHECK_FALSE(cursor.done());
  CHECK(key.in(text) == "c\\n");
  CHECK(escaped);
  REQUIRE(cursor.enter_object());
  REQUIRE(cursor.next_key(key, escaped));
  REQUIRE(cursor.skip(value));
  CHECK_FALSE(cursor.next_key(key, escaped));
  REQUIRE(cursor.next_key(key, escaped));
  CHECK(key.in(text) == "e");
  REQUIRE(cursor.enter_object());
  CHECK_FALSE(cursor.next_key(key, escaped));
  CHECK(cursor.done());
  CHECK_FALSE(cursor.next_key(key, escaped));
  CHECK(cursor.done());
  CHECK(cursor.finish());
  CHECK(cursor.offset() == text.size());
  CHECK(cursor.fault() == Fault::none);
}

TEST_CASE("Cursor: a fault stays and says where") {
  Cursor cursor("{\"a\":tru}");
  Span key, value;
  bool escaped = false;
  REQUIRE(cursor.enter_object());
  REQUIRE(cursor.next_key(key, escaped));
  CHECK_FALSE(cursor.skip(value));
  CHECK(cursor.offset() == 5);
  CHECK(cursor.fault() == Fault::syntax);
  CHECK_FALSE(cursor.next_key(key, escaped));
  CHECK_FALSE(cursor.done());
  CHECK_FALSE(cursor.enter_object());
  CHECK_FALSE(cursor.at_object());
  CHECK_FALSE(cursor.finish());

  for (const char* text :
       {"{\"a\":1,}", "{\"a\":1 \"b\":2}", "{,\"a\":1}", "{\"a\":1", "{\"a\" 1}", "{", "x", ""}) {
    CAPTURE(text);
    Cursor walk(text);
    bool good = walk.enter_object();
    while (good && walk.next_key(key, escaped))
      good = walk.skip(value);
    CHECK_FALSE((good && walk.done()));
    CHECK(walk.fault() != Fault::none);
  }
  Cursor deep("{\"a\":{\"b\":{}}}", 2);
  REQUIRE(deep.enter_object());
  REQUIRE(deep.next_key(key, escaped));
  CHECK_FALSE(deep.skip(value));
  CHECK(deep.fault() == Fault::depth);
}

TEST_CASE("unescape, key_equals, quote") {
  CHECK(json::unescape("") == "");
  CHECK(json::unescape("a\\n\\t\\r\\b\\f\\/\\\\\\\"b") == "a\n\t\r\b\f/\\\"b");
  CHECK(json::unescape("\\u0041\\u00e9\\u20AC\\ud83d\\uDE00") == "A\u00e9\u20AC\U0001F600");
  CHECK(json::unescape("\\u0000x") == std::string("\0x", 2));
  CHECK(json::unescape("\\ud800") == "\uFFFD");
  CHECK(json::unescape("\\udc00\\ud800\\ud83d\\ude00\\ud800x") == "\uFFFD\uFFFD\U0001F600\uFFFDx");
  CHECK(json::unescape_exact("\\ud800") == "\xED\xA0\x80");
  CHECK(json::unescape_exact("\\ud800") != json::unescape_exact("\\ud801"));
  for (const char* broken : {"\\", "\\u", "\\u12", "a\\uZZZZ", "\\ud800\\", "\\ud800\\u"}) {
    CHECK(json::unescape(broken).size() < 12);  // not valid, but stays in range
  }

  CHECK(json::key_equals("method", false, "method"));
  CHECK(json::key_equals("\\u006dethod", true, "method"));
  CHECK(json::key_equals("\\u006D\\u0065thod", true, "method"));
  CHECK_FALSE(json::key_equals("\\u004dethod", true, "method"));
  CHECK_FALSE(json::key_equals("method\\u0000", true, "method"));
  CHECK_FALSE(json::key_equals("Method", false, "method"));
  CHECK_FALSE(json::key_equals("param\xC5\xBF", false, "params"));
  CHECK_FALSE(json::key_equals("param\\u017f", true, "params"));
  CHECK_FALSE(json::key_equals("\\ud800", true, "\uFFFD"));

  CHECK(json::quote("") == "\"\"");
  CHECK(json::quote("a\"b\\c\n\r\t\x01\x1F\x7F") == "\"a\\\"b\\\\c\\n\\r\\t\\u0001\\u001f\x7F\"");
  CHECK(json::quote(std::string_view("\0", 1)) == "\"\\u0000\"");
  CHECK(json::quote("\u00e9\U0001F600") == "\"\u00e9\U0001F600\"");
  CHECK(json::quote("a\xFF\xC3") == "\"a\uFFFD\uFFFD\"");
  JsonGen gen(1);
  for (int i = 0; i < 2000; ++i) {
    std::string bytes;
    for (uint32_t n = gen.below(40); n > 0; --n)
      bytes += static_cast<char>(gen.below(256));
    const std::string quoted = json::quote(bytes);
    REQUIRE(scans(quoted));
    const std::string again = json::unescape(std::string_view(quoted).substr(1, quoted.size() - 2));
    REQUIRE(json::quote(again) == quoted);
  }
}
