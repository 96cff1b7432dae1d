// The runner's pure parts: the parser's errors, raw JSON, comparisons. The rest is proven by selftest/*.wire.
#include <catch2/catch.hpp>

#include "interpreter.h"
#include "json_raw.h"
#include "strict_request.h"

using namespace lineward::wire;

namespace {

std::vector<ScriptError> errors_of(const std::string& body) {
  std::vector<ScriptError> errors;
  parse_script("x.wire", "wiretest \"t\"\n" + body, errors);
  return errors;
}

// The verdict of the strict reader on `bytes`: "ok BODY", "more", or the fault.
std::string strict(std::string bytes) {
  try {
    auto request = take_request(bytes);
    return request ? "ok " + request->body + bytes : "more";
  } catch (const UncleanRequest& why) {
    return why.what();
  }
}

std::string first_error(const std::string& body) {
  auto errors = errors_of(body);
  return errors.empty() ? "" : std::to_string(errors[0].line) + ": " + errors[0].text;
}

}  // namespace

TEST_CASE("the whole script is checked before it runs, with lines") {
  CHECK(first_error("client c1 {\n  rxresp\n  txrek GET /\n} -run") == "4: unknown verb 'txrek' here");
  CHECK(first_error("client c1 {\n  sendresult -to a {}\n}") == "3: unknown verb 'sendresult' here");
  CHECK(first_error("client c1 { txreq GET }") ==
        "2: usage: txreq METHOD PATH [-hdr \"K: V\"]… [-body TEXT]");
  CHECK(first_error("client c1 { loop 2 {\n rxresp -fast\n} }") == "3: rxresp has no option '-fast'");
  CHECK(first_error("client c1 {\n send \"${g1.addr}\"\n}") == "3: nothing is called 'g1' in ${g1.addr}");
  CHECK(first_error("client c1 {\n send \"abc\n}") == "3: a quoted word does not end on its line");
  CHECK(first_error("client c1 {\n rxresp") == "2: the { or [ that begins here is never closed");
  CHECK(first_error("timeout 20") == "2: timeout needs a unit and is at most 55s: 20s, 500ms");
  CHECK(first_error("client c1 { rxresp }\nclient c1 { rxresp }") == "3: 'c1' is defined twice");
  CHECK(errors_of("client c1 { nothing }\nclient c2 { never }").size() == 2);
  CHECK(first_error("client c1 { rxresp ; rxresp } -run # { \" comment") == "");
}

TEST_CASE("brace words keep their bytes") {
  std::vector<ScriptError> errors;
  auto script =
      parse_script("x", "wiretest \"t\"\nset a {\"k\" :  \"}{#\", \"n\":[1.0]}\nset b \"\\x41\\n\"", errors);
  REQUIRE(errors.empty());
  CHECK(script.commands[1].args[1].text == "{\"k\" :  \"}{#\", \"n\":[1.0]}");
  CHECK(script.commands[2].args[1].text == "A\n");
}

TEST_CASE("raw JSON is found by path") {
  const std::string json = R"( {"a":{"b.c":[1.0,{"d":"x\"y"}]},"id":1e3,"id":2} )";
  CHECK(find_raw(json, *parse_path("id")) == "1e3");
  CHECK(find_raw(json, *parse_path("a[\"b.c\"][0]")) == "1.0");
  CHECK(find_raw(json, *parse_path("a[\"b.c\"][1].d")) == R"("x\"y")");
  CHECK(!find_raw(json, {"nothing"}));
  CHECK(!find_raw("{\"a\":", {"a"}));
  CHECK(!parse_path("a..b"));
  CHECK(!parse_path("a[\"b"));
}

TEST_CASE("members are spliced in front") {
  CHECK(splice_meta("{}", "\"a\":1") == R"({"_meta":{"a":1}})");
  CHECK(splice_meta(R"({"x":1})", "\"a\":1") == R"({"_meta":{"a":1},"x":1})");
  CHECK(splice_meta(R"({"x":1,"_meta":{"b":2}})", "\"a\":1") == R"({"x":1,"_meta":{"a":1,"b":2}})");
  CHECK(one_line("{ \"a\":\n      1 }") == "{ \"a\": 1 }");
}

TEST_CASE("expect compares JSON by meaning and bytes as bytes") {
  Value number{"1.0", true}, bytes{"1.0", false}, text{"\"1\"", true};
  CHECK(!compare(number, "==", "1", false));
  CHECK(compare(bytes, "==", "1", true));
  CHECK(!compare(bytes, "==", "1.0", true));
  CHECK(compare(text, "==", "1", false));
  CHECK(!compare(text, "==", "1", true));
  CHECK(!compare(Value{"{\"b\":1,\"a\":2}", true}, "==", "{\"a\":2,\"b\":1}", false));
  CHECK(!compare(std::nullopt, "absent", "", false));
  CHECK(compare(std::nullopt, "==", "1", false) == "nothing of that name");
  CHECK(!compare(Value{"12", true}, ">", "7", false));
  CHECK(!compare(text, "~", "^1$", true));
}

TEST_CASE("YAML loses the common indentation only") {
  CHECK(dedent("{\n    a: 1\n    b:\n      c: 2\n  }") == "a: 1\nb:\n  c: 2\n");
}

TEST_CASE("the strict reader takes clean requests, however they are cut") {
  const std::string post = "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc";
  CHECK(strict(post) == "ok abc");
  CHECK(strict(post + "GET") == "ok abcGET");
  for (size_t cut = 0; cut < post.size(); ++cut)
    CHECK(strict(post.substr(0, cut)) == "more");
  CHECK(strict("GET /mcp HTTP/1.1\r\nHost: a\r\n\r\n") == "ok ");
  const std::string chunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  CHECK(strict(chunked + "a\r\n0123456789\r\n0\r\n\r\n") == "ok 0123456789");
  CHECK(strict(chunked + "1;x=y\r\na\r\n0\r\n\r\n") == "not a plain chunk size: 1;x=y");
  CHECK(strict(chunked + "0\r\nX-A: b\r\n\r\n") == "trailers after the last chunk");
}

TEST_CASE("the strict reader refuses what two readers could take differently") {
  auto head = [](const std::string& fields) { return strict("POST / HTTP/1.1\r\n" + fields + "\r\n"); };
  CHECK(head("Host: a\r\n") == "a POST without a length");
  CHECK(head("Content-Length: 0\r\n") == "no Host");
  CHECK(head("Host: a\r\nHost: a\r\n") == "a repeated header: host");
  CHECK(head("Host: a\r\nContent-Length: +1\r\n") == "Content-Length: +1");
  CHECK(head("Host: a\r\nTransfer-Encoding: gzip, chunked\r\n") == "Transfer-Encoding: gzip, chunked");
  CHECK(head("Host : a\r\n") == "not a header: Host : a");
  CHECK(head("Host: a\r\nConnection: Upgrade\r\n") == "Connection: Upgrade");
  CHECK(head("Host: a\rb\r\n") == "a bare CR in the head");
  CHECK(strict("GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n") == "not a request target: http://a/");
  CHECK(strict("GET / HTTP/1.0\r\n\r\n") == "not HTTP/1.1: GET / HTTP/1.0");
  CHECK(strict("GET / HTTP/1.1\nHost: a\n\n") == "a bare LF in the head");
}

TEST_CASE("every verb of the table has a place and a text") {
  for (const auto& row : verb_table()) {
    INFO(row.name);
    CHECK(row.sides != 0);
    CHECK(!row.help.empty());
    CHECK(row.min_args <= row.max_args);
  }
}
