// The scanner against a public corpus and against other parsers.
#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "foundation/json/json_scan.h"
#include "unit/foundation/json/json_gen.h"
#if __has_include(<simdjson.h>)
#include <simdjson.h>
#define HAVE_SIMDJSON 1
#endif

using namespace lineward;
using test::JsonGen;

namespace {

bool accepts(std::string_view text) {
  return json::validate(text) == json::Fault::none;
}

// Forms for which the other parsers are stricter than RFC 8259: surrogate escapes become letters, long runs
// of digits and exponents are cut. Our own result for the text must not change by it.
std::string without_strict_classes(std::string text, size_t max_digits) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  for (size_t at = text.find("\\u"); at != std::string::npos; at = text.find("\\u", at + 1)) {
    if (at + 6 > text.size() || (text[at + 2] | 0x20) != 'd') continue;
    if (std::string_view("89abcdefABCDEF").find(text[at + 3]) == std::string_view::npos) continue;
    text.replace(at + 2, 2, "00");
  }
  std::string out;
  for (size_t i = 0; i < text.size();) {
    if (!digit(text[i])) {
      out += text[i++];
      continue;
    }
    size_t run = i;
    while (run < text.size() && digit(text[run]))
      ++run;
    size_t e = out.size();
    if (e > 0 && (out[e - 1] == '+' || out[e - 1] == '-')) --e;
    const bool exponent = e > 1 && (out[e - 1] | 0x20) == 'e' && digit(out[e - 2]);
    out += text.substr(i, std::min(run - i, exponent ? 2 : max_digits));
    i = run;
  }
  return out;
}

}  // namespace

TEST_CASE("JSONTestSuite") {
  const std::string suite = LINEWARD_SOURCE_DIR "/tests/data/jsontestsuite/";
  // Free to choose: wrong bytes and too much depth are refused, odd but legal text passes.
  const auto refused_by_choice = [](const std::string& file, const std::string& text) {
    for (const char* part : {"500_nested_arrays", "BOM", "utf16", "UTF-16"}) {
      if (file.find(part) != std::string::npos) return true;
    }
    for (const char* part : {"_invalid_utf", "UTF-8_invalid", "UTF8_surrogate", "iso_latin", "lone_utf8",
                             "not_in_unicode", "overlong", "truncated-utf", "invalid_codepoint"}) {
      if (file.find(part) == std::string::npos) continue;
      // The escaped variants are legal text.
      return std::any_of(text.begin(), text.end(),
                         [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
    }
    return false;
  };
  int accepted = 0, rejected = 0, chosen = 0;
  for (const auto& row : test::read_index(suite + "index.tsv")) {
    const std::string& file = row[0];
    const std::string text = test::read_file(suite + file);
    CAPTURE(file);
    REQUIRE(text.size() == std::stoul(row[3]));
    const bool good = accepts(text);
    if (row[1] == "accept") {
      CHECK(good);
      ++accepted;
    } else if (row[1] == "reject") {
      CHECK_FALSE(good);
      ++rejected;
    } else {
      CHECK(good != refused_by_choice(file, text));
      ++chosen;
    }
  }
  CHECK(accepted == 95);
  CHECK(rejected == 188);
  CHECK(chosen == 57);
}

TEST_CASE("agrees with other parsers on generated and damaged text") {
  JsonGen gen(20260728);
#ifdef HAVE_SIMDJSON
  simdjson::dom::parser parser;
#endif
  int good = 0, bad = 0;
  for (int i = 0; i < 30000; ++i) {
    gen.pretty = i % 2 == 0;
    std::string text = gen.space() + gen.value(4) + gen.space();
    if (i % 3 == 0) {
      if (!accepts(text)) FAIL(text);
    } else {
      text = gen.mutate(text);
    }
    const bool ours = accepts(text);
    ++(ours ? good : bad);
    const std::string tame = without_strict_classes(text, 200);
    if (accepts(tame) != ours) FAIL("tamed: " << text);
    // nlohmann takes a byte order mark, and a zero byte for the end.
    const bool lax = text.substr(0, 3) == "\xEF\xBB\xBF" || text.find('\0') != std::string::npos;
    if (!lax && nlohmann::json::accept(tame) != ours) FAIL("nlohmann: " << text);
#ifdef HAVE_SIMDJSON
    const std::string tamer = without_strict_classes(text, 15);
    if (accepts(tamer) != ours) FAIL("tamed: " << text);
    if ((parser.parse(tamer).error() == simdjson::SUCCESS) != ours) FAIL("simdjson: " << text);
#endif
  }
  CHECK(good > 10000);
  CHECK(bad > 10000);
}
