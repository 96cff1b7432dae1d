#include "config/reader/document.h"
#include "config/reader/jsonc.h"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace lineward::config;

namespace {

Document yaml(std::string_view text) {
  return parse_document(text, Syntax::yaml);
}

std::string fault(std::string_view text, Syntax syntax = Syntax::yaml) {
  Document document = parse_document(text, syntax);
  if (document.diagnostics.empty()) return document.parsed ? "" : "silent";
  const Diagnostic& first = document.diagnostics[0];
  return first.code + " " + std::to_string(first.line) + ":" + std::to_string(first.column);
}

}  // namespace

TEST_CASE("nodes know their place and stay text") {
  Document document = yaml("a: no\nb:\n  c: \"x é\"\n  dé: [010, 1:30 , 'q']\n  e:\n");
  REQUIRE(document.parsed);
  const Node& root = document.root;
  CHECK(root.find("a")->value.text == "no");
  CHECK_FALSE(root.find("a")->value.quoted);
  const Node& b = root.find("b")->value;
  const Node& c = b.find("c")->value;
  CHECK(c.text == "x é");
  CHECK(c.quoted);
  CHECK((c.line == 3 && c.column == 6 && c.length == 5));
  const Member& d = *b.find("dé");
  CHECK((d.line == 4 && d.column == 3 && d.length == 2));
  REQUIRE(d.value.items.size() == 3);
  CHECK(d.value.items[0].text == "010");
  CHECK(d.value.items[1].text == "1:30");
  CHECK((d.value.items[2].column == 20 && d.value.items[2].length == 3));
  CHECK(b.find("e")->value.kind == NodeKind::null);
  CHECK((b.find("e")->value.line == 5 && b.find("e")->value.column == 4));
}

TEST_CASE("an empty document is no error") {
  for (const char* text : {"", "\n", "# nothing\n", "---\n", "\xEF\xBB\xBF# mark\n"}) {
    INFO(text);
    CHECK(fault(text).empty());
    CHECK(yaml(text).root.kind == NodeKind::null);
  }
}

TEST_CASE("what a configuration must not hold") {
  CHECK(fault("a: &x 1\n") == "no-alias 1:4");
  CHECK(fault("a: 1\nb: *a\n") == "no-alias 2:4");
  CHECK(fault("a: !!str 1\n") == "no-tag 1:4");
  CHECK(fault("a: 1\n---\nb: 1\n") == "second-document 2:1");
  CHECK(fault("a: 1\nb: 2\na: 3\n") == "duplicate-key 3:1");
  CHECK(fault("a: { b: 1, b: 2 }\n") == "duplicate-key 1:12");
  CHECK(fault("? [a]\n: 1\n") == "bad-key 1:3");
  CHECK(fault("a:\n\tb: 1\n") == "tab 2:1");
  CHECK(fault("a: \"x\n") == "syntax 1:5");
  CHECK(fault("a: 1\n b: 2\n") == "syntax 1:4");
  CHECK(fault("a: [1, 2\n").substr(0, 6) == "syntax");
  CHECK(fault("a: \xFF\n") == "not-utf8 1:4");
  CHECK(fault("é: \xC3\n") == "not-utf8 1:4");
  CHECK(fault("a: \xED\xA0\x80\n") == "not-utf8 1:4");
  CHECK(fault(std::string_view("a: 1\nb: \0x\n", 11)) == "control-character 2:4");
  CHECK(fault("a: \x1B[31m\n") == "control-character 1:4");
}

TEST_CASE("caps on depth and size") {
  std::string deep;
  for (int i = 0; i < 100; ++i)
    deep += std::string(static_cast<size_t>(i), ' ') + "a:\n";
  CHECK(fault(deep) == "too-deep 65:65");
  CHECK_FALSE(fault(std::string(300, '[')).empty());
  CHECK_FALSE(fault(std::string(200'000, '[')).empty());
  CHECK(fault("a: " + std::string(kMaxDocumentBytes, 'x')) == "too-large 1:1");
  CHECK(fault("a: " + std::string(kMaxDocumentBytes - 10, 'x')).empty());
}

TEST_CASE("JSON with comments and trailing commas keeps its positions") {
  std::string_view text =
      "{\n\t// é comment\n\t\"a\": [1, 2, /* x\n */ ],\n\t\"b//c\": \"d, /* no */ }\",\n\t\"k\": null,\n}\n";
  std::string stripped = without_json_comments(text);
  CHECK(std::count(stripped.begin(), stripped.end(), '\n') == std::count(text.begin(), text.end(), '\n'));
  Document document = parse_document(text, Syntax::json);
  REQUIRE(document.parsed);
  CHECK(document.root.find("a")->value.items.size() == 2);
  const Member& b = *document.root.find("b//c");
  CHECK(b.value.text == "d, /* no */ }");
  CHECK((b.line == 5 && b.column == 2 && b.length == 6));
  CHECK((b.value.line == 5 && b.value.column == 10));
  CHECK(document.root.find("k")->value.kind == NodeKind::null);
  CHECK(parse_document("{\"a\":\"\\ud83d\\ude00\\/\"}", Syntax::json).root.find("a")->value.text == "😀/");
}

TEST_CASE("broken JSON") {
  CHECK_FALSE(fault("{\"a\": 1", Syntax::json).empty());
  CHECK_FALSE(fault("{\"a\": \"x", Syntax::json).empty());
  CHECK_FALSE(fault("{\"a\": 1 /* open", Syntax::json).empty());
  CHECK_FALSE(fault("{\"a\": \"\\", Syntax::json).empty());
  CHECK_FALSE(fault("{\"a\": 1}}", Syntax::json).empty());
  CHECK(fault("// only a comment", Syntax::json).empty());
}

TEST_CASE("which syntax a name means") {
  CHECK(syntax_of("a.json", "") == Syntax::json);
  CHECK(syntax_of("a.jsonc", "") == Syntax::json);
  CHECK(syntax_of("a.yaml", "{") == Syntax::yaml);
  CHECK(syntax_of("-", " \n{}") == Syntax::json);
  CHECK(syntax_of("-", "a: 1") == Syntax::yaml);
}
