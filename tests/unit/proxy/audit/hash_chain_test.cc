#include "proxy/audit/hash_chain.h"

#include <catch2/catch.hpp>
#include <vector>

#include "proxy/audit/entry.h"

using namespace lineward;
using namespace lineward::audit;

TEST_CASE("a record is one line that names its number, the hash before it and its own") {
  HashChain chain;
  const std::string body = spell(Kind::call, 1700000000123, std::vector<log::Field>{{"call", "c1"}}).body;
  const std::string line = chain.seal(body);
  REQUIRE(line.back() == '\n');
  const std::string text = line.substr(0, line.size() - 1);
  CHECK(text.rfind(R"({"seq":1,"time":"2023-11-14T22:13:20.123Z","type":"call","call":"c1","prev":"0000)",
                   0) == 0);
  auto record = read_record(text);
  REQUIRE(record);
  CHECK(record->seq == 1);
  CHECK(record->type == "call");
  CHECK(record->prev == kNoHash);
  CHECK(record->whole);
  CHECK(record->hash == chain.hash());
  // As docs/audit.md says how to compute it by hand.
  CHECK(sha256_hex(text.substr(0, text.find(",\"hash\":"))) == chain.hash());
  const std::string next = chain.seal(body);
  CHECK(read_record(std::string_view(next).substr(0, next.size() - 1))->prev == record->hash);
}

TEST_CASE("every byte of a record counts") {
  HashChain chain;
  const std::string line = chain.seal(
      spell(Kind::refusal, 1700000000000, std::vector<log::Field>{{"why", "no \"token\""}, {"status", 401}})
          .body);
  const std::string text = line.substr(0, line.size() - 1);
  for (size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    auto record = read_record(changed);
    INFO(changed);
    CHECK((!record || !record->whole || record->prev != kNoHash || record->seq != 1));
  }
  for (size_t size = 0; size < text.size(); ++size)
    CHECK_FALSE(read_record(std::string_view(text).substr(0, size)));
}

TEST_CASE("texts of a record are one printable line, bounded, and empty ones are left out") {
  const std::string body = spell(Kind::call, 0,
                                 std::vector<log::Field>{{"target", "a\nb\x1b[2J\xff\"\\"},
                                                         {"server", ""},
                                                         {"n", int64_t{-5}},
                                                         {"why", std::string_view("\xc3\xa4", 2)}})
                               .body;
  CHECK(body.find('\n') == std::string::npos);
  CHECK(body.find('\x1b') == std::string::npos);
  CHECK(body.find("server") == std::string::npos);
  CHECK(body.find("\"n\":-5") != std::string::npos);
  CHECK(body.find("\"why\":\"\\u00e4\"") != std::string::npos);

  const std::string long_text(10 * kMaxText, 'x');
  const std::string cut_body = spell(Kind::call, 0, std::vector<log::Field>{{"target", long_text}}).body;
  CHECK(cut_body.size() < kMaxText + 100);
  CHECK(cut_body.find("...\"") != std::string::npos);
  const std::string much(2 * kMaxArguments, 'x');
  CHECK(spell(Kind::call, 0, std::vector<log::Field>{{"arguments", much}}).body.size() < kMaxArguments + 100);
  CHECK(cut("äääääääää", 8) == "ää...");
  CHECK(cut("short", 8) == "short");
}

TEST_CASE("packed entries come out in their order") {
  std::string packed;
  pack(packed, Kind::call, 1, std::vector<log::Field>{{"call", "c1"}});
  pack(packed, Kind::reload, 2, std::vector<log::Field>{});
  std::string_view rest = packed;
  CHECK(spell_next(rest).kind == Kind::call);
  auto second = spell_next(rest);
  CHECK(second.body == R"("time":"1970-01-01T00:00:00.002Z","type":"reload")");
  CHECK(rest.empty());
}
