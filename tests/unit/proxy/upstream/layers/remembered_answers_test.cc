#include "proxy/upstream/layers/remembered_answers.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "foundation/base/sha256.h"
#include "unit/protocol/mcp/parse.h"

using namespace lineward;
using namespace lineward::upstream;
using mcp::parse;

namespace {

const std::string kPrint(64, 'f');
constexpr uint64_t kMost = 64 * 1024;

std::string key(char digit) {
  return std::string(64, digit);
}

mcp::Message answer(const std::string& members) {
  return parse(R"({"jsonrpc":"2.0","id":0,"result":{)" + members + "}}");
}

}  // namespace

TEST_CASE("what is remembered reads back byte for byte", "[layers]") {
  RememberedAnswers written;
  const std::string members = "\"tools\" : [ { \"n\":1.0,\n\"a\\u0062\":\"x\" } ]";
  REQUIRE(written.keep(key('1'), answer(members), kMost));
  REQUIRE(written.keep(key('2'), parse(R"({"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"no"}})"),
                       kMost));
  EraVerdict era;
  era.known = true;
  era.era = mcp::Era::modern;
  era.versions = {"2026-07-28"};
  era.server = "s \"1\"";
  era.tells.tools = true;
  CHECK(written.keep_era(era));
  CHECK_FALSE(written.keep_era(era));
  CHECK_FALSE(written.keep_server(R"({"name":"s","version":"1"})"));

  RememberedAnswers read;
  REQUIRE(read.read(written.text(kPrint), kPrint, kMost));
  REQUIRE(read.find(key('1')) != nullptr);
  // The line break between two tokens is a space in the file.
  CHECK(read.find(key('1'))->bytes() ==
        R"({"jsonrpc":"2.0","id":0,"result":{"tools" : [ { "n":1.0, "a\u0062":"x" } ]}})");
  CHECK(read.find(key('2'))->kind() == mcp::MessageKind::error);
  CHECK(read.era().known);
  CHECK(read.era().era == mcp::Era::modern);
  CHECK(read.era().versions == std::vector<std::string>{"2026-07-28"});
  CHECK(read.era().server == "s \"1\"");
  CHECK(read.era().tells.tools);
  CHECK_FALSE(read.era().tells.prompts);
  CHECK(read.text(kPrint) == written.text(kPrint));
  CHECK_FALSE(read.keep_server(R"({"name":"s", "version":"1"})"));
  CHECK(read.keep_server(R"({"name":"s","version":"2"})"));
}

TEST_CASE("a text that is not whole is ignored as a whole", "[layers]") {
  RememberedAnswers written;
  REQUIRE(written.keep(key('1'), answer(R"("tools":[])"), kMost));
  REQUIRE(written.keep(key('2'), answer(R"("prompts":[])"), kMost));
  const std::string good = written.text(kPrint);
  auto refuses = [](const std::string& text) {
    RememberedAnswers read;
    const bool refused = !read.read(text, kPrint, kMost);
    CHECK(read.size() == 0);
    CHECK_FALSE(read.era().known);
    return refused;
  };
  for (size_t length = 0; length < good.size(); ++length) {
    INFO(length);
    REQUIRE(refuses(good.substr(0, length)));
  }
  for (size_t at = 0; at < good.size(); ++at) {
    std::string changed = good;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    INFO(at);
    REQUIRE(refuses(changed));
  }
  CHECK(refuses(good + "\n"));
  CHECK(refuses(good + good));
  RememberedAnswers other;
  CHECK_FALSE(other.read(good, std::string(64, 'e'), kMost));
}

TEST_CASE("a text with a right digest and hostile answers is ignored", "[layers]") {
  // As another program with the same rights could write it.
  auto made = [](const std::string& era, const std::string& entries) {
    RememberedAnswers empty;
    std::string text = empty.text(kPrint);
    const size_t first = text.find('\n') + 1, second = text.find('\n', first) + 1;
    std::string head =
        text.substr(0, first) + (era.empty() ? text.substr(first, second - first) : era + "\n");
    return head + entries;
  };
  auto reads = [&](const std::string& body) {
    RememberedAnswers read;
    return bool(read.read(body + "end " + sha256_hex(body) + "\n", kPrint, kMost));
  };
  const std::string good = key('1') + "\n" + R"({"jsonrpc":"2.0","id":0,"result":{}})" + "\n";
  CHECK(reads(made("", good)));
  CHECK_FALSE(reads(
      made("", key('1') + "\n" + R"({"jsonrpc":"2.0","id":0,"result":{"a":1,"a":2},"result":{}})" + "\n")));
  CHECK_FALSE(reads(made("", key('1') + "\n" + R"({"jsonrpc":"2.0","method":"notifications/x"})" + "\n")));
  CHECK_FALSE(reads(made("", key('1') + "\n" + R"({"jsonrpc":"2.0","id":0,"result":)" +
                                 std::string(20000, '[') + std::string(20000, ']') + "}\n")));
  CHECK_FALSE(reads(made("", "short\n{}\n")));
  CHECK_FALSE(reads(made("", key('G') + "\n" + R"({"jsonrpc":"2.0","id":0,"result":{}})" + "\n")));
  std::string many;
  for (size_t i = 0; i <= RememberedAnswers::kMaxEntries; ++i)
    many += good;
  CHECK_FALSE(reads(made("", many)));
  CHECK_FALSE(reads(made("[]", good)));
  CHECK_FALSE(
      reads(made(R"({"jsonrpc":"2.0","id":0,"result":{"server":")" + std::string(600, 'x') + "\"}}", good)));
  // A modern server without a version that Lineward speaks is not known.
  RememberedAnswers read;
  const std::string body = made(
      R"({"jsonrpc":"2.0","id":0,"result":{"known":true,"modern":true,"versions":["1999-01-01"]}})", good);
  REQUIRE(read.read(body + "end " + sha256_hex(body) + "\n", kPrint, kMost));
  CHECK_FALSE(read.era().known);
}

TEST_CASE("the answer that was used least recently makes room", "[layers]") {
  RememberedAnswers answers;
  const mcp::Message large = answer("\"x\":\"" + std::string(3000, 'x') + "\"");
  constexpr uint64_t kRoomForTwo = 10000;
  CHECK(answers.keep(key('1'), large, kRoomForTwo));
  CHECK(answers.keep(key('2'), large, kRoomForTwo));
  CHECK(answers.find(key('1')) != nullptr);
  CHECK(answers.keep(key('3'), large, kRoomForTwo));
  CHECK(answers.find(key('1')) != nullptr);
  CHECK(answers.find(key('2')) == nullptr);
  CHECK(answers.text(kPrint).size() <= kRoomForTwo);
  CHECK_FALSE(answers.keep(key('3'), answer("\"x\":\"" + std::string(9000, 'x') + "\""), kRoomForTwo));
  CHECK(answers.find(key('3')) == nullptr);
  for (int i = 0; i < 400; ++i)
    answers.keep(fmt::format("{:064x}", i), answer(""), 1 << 20);
  CHECK(answers.size() == RememberedAnswers::kMaxEntries);
}

TEST_CASE("another version of the server leaves only answers of this life", "[layers]") {
  RememberedAnswers last, now;
  last.keep(key('1'), answer(""), kMost);
  last.keep(key('2'), answer(""), kMost);
  REQUIRE(now.read(last.text(kPrint), kPrint, kMost));
  now.keep(key('2'), answer(R"("a":1)"), kMost);
  now.forget_last_life();
  CHECK(now.find(key('1')) == nullptr);
  CHECK(now.find(key('2')) != nullptr);
}
