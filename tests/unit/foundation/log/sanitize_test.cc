#include "foundation/log/sanitize.h"

#include <catch2/catch.hpp>
#include <string>

#include "foundation/json/json_scan.h"

using lineward::Letters;
using lineward::logged;
using lineward::sanitize;
namespace json = lineward::json;

TEST_CASE("what cannot be seen, and what is no UTF-8, is shown as such") {
  CHECK(sanitize("plain ä ☃ 漢字 🙂") == "plain ä ☃ 漢字 🙂");
  for (const char* hidden : {"\x01", "\n", "\x7f", "\xc2\x85", "\xc2\xad", "\xd8\x9c", "\xe2\x80\x8b",
                             "\xe2\x80\x8f", "\xe2\x80\xa8", "\xe2\x80\xae", "\xe2\x81\xa6", "\xef\xbb\xbf",
                             "\xef\xbf\xbe", "\xf3\xa0\x81\x81", "\xff", "\xc3", "\x80"}) {
    INFO(hidden);
    CHECK(sanitize(std::string("a") + hidden + "b") == "a?b");
  }
  // Overlong forms, surrogates, and what lies beyond the last character: byte by byte.
  CHECK(sanitize("\xc0\x80") == "??");
  CHECK(sanitize("\xe0\x80\x80") == "???");
  CHECK(sanitize("\xed\xa0\x80") == "???");
  CHECK(sanitize("\xf4\x90\x80\x80") == "????");
  CHECK(sanitize("\xe2\x82") == "??");
}

TEST_CASE("a cut falls between characters, and shows") {
  CHECK(sanitize("äääää", 5) == "ää…");
  CHECK(sanitize("🙂🙂", 7) == "🙂…");
  CHECK(sanitize("abc", 3) == "abc");
  CHECK(sanitize("", 3).empty());
}

TEST_CASE("a value in a log is one word or a JSON string, and hides nothing") {
  CHECK(logged("word-1", false) == "word-1");
  CHECK(logged("word-1", true) == "\"word-1\"");
  CHECK(logged("two words", false) == "\"two words\"");
  CHECK(logged("", false) == "\"\"");
  CHECK(logged("ä☃🙂", false) == "\"ä☃🙂\"");
  CHECK(logged("ä☃🙂", false, Letters::ascii) == R"("\u00e4\u2603\ud83d\ude42")");
  CHECK(logged("a\nb\x1b[1m\x7f\xc2\x9b", false) == R"("a\nb\u001b[1m\u007f\u009b")");
  CHECK(logged("\xe2\x80\xae\xe2\x80\x8b\xe2\x80\xa8\xf3\xa0\x81\x81", false) ==
        R"("\u202e\u200b\u2028\udb40\udc41")");
  CHECK(logged("a\xff", false, Letters::ascii) == R"("a\ufffd")");
}

TEST_CASE("a text of visible ASCII is the same string of JSON, with and without other letters around it") {
  std::string all;
  for (char c = 0x21; c < 0x7f; ++c) {
    all += c;
    CHECK(logged(std::string(20, c), true) == json::quote(std::string(20, c)));
  }
  CHECK(logged(all, true) == json::quote(all));
  CHECK(logged(all + "\u00e4" + all, true) == json::quote(all + "\u00e4" + all));
  CHECK(logged("a b", true, Letters::ascii) == "\"a b\"");
  CHECK(logged("", true) == "\"\"");
}

TEST_CASE("lines stay lines") {
  using lineward::terminal_text;
  CHECK(terminal_text("a\x1b[1m\nb\r\n") == "a?[1m\nb?\n");
  CHECK(terminal_text("no end") == "no end");
  CHECK(terminal_text("").empty());
  using lineward::Colours;
  CHECK(terminal_text("\x1b[1;31ma\x1b[0m\n\x1b[2Jb\x1b]0;m\x1b[1", Colours::ours) ==
        "\x1b[1;31ma\x1b[0m\n?[2Jb?]0;m?[1");
}
