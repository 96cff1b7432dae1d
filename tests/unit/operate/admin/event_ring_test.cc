#include "operate/admin/event_ring.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "foundation/log/redaction.h"
#include "operate/admin/redact_json.h"

using namespace lineward;
using namespace lineward::admin;

namespace {

constexpr size_t kAll = 1 << 20;

struct Feed {
  int woken = 0;
  EventRing feed{"run1", [this] { ++woken; }};

  std::string read(uint64_t& at, EventGroups groups = kAllGroups, size_t most = kAll) {
    return feed.read(at, groups, most);
  }
  void say(int number, EventGroup group = EventGroup::calls) {
    feed.publish(group, "call.begin", nlohmann::json{{"n", number}}.dump());
  }
};

size_t occurrences(std::string_view text, std::string_view what) {
  size_t out = 0;
  for (size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1))
    ++out;
  return out;
}

}  // namespace

TEST_CASE("a reader gets what came behind its cursor, once, in order") {
  Feed one;
  one.feed.want(kAllGroups);
  uint64_t at = one.feed.newest();
  CHECK(one.read(at).empty());
  one.say(1);
  one.say(2, EventGroup::servers);
  one.say(3);
  const std::string text = one.read(at);
  CHECK(text.find("\"n\":1") < text.find("\"n\":2"));
  CHECK(text.find("\"n\":2") < text.find("\"n\":3"));
  CHECK(text.find("event: call.begin\nid: run1-") == 0);
  CHECK(text.substr(text.size() - 2) == "\n\n");
  CHECK(one.read(at).empty());
}

TEST_CASE("a reader is woken once, until it has looked") {
  Feed one;
  one.feed.want(kAllGroups);
  one.say(1);
  one.say(2);
  CHECK(one.woken == 1);
  one.feed.rearm();
  one.say(3);
  CHECK(one.woken == 2);
  one.feed.close();
  one.feed.rearm();
  one.say(4);
  CHECK(one.woken == 2);
}

TEST_CASE("a cursor goes on where it was, and one of another process is none") {
  Feed one;
  one.feed.want(kAllGroups);
  uint64_t at = one.feed.newest();
  one.say(1);
  one.say(2);
  one.read(at);
  const std::string cursor = one.feed.cursor(at);
  one.say(3);
  auto again = one.feed.number_of(cursor);
  REQUIRE(again);
  const std::string text = one.read(*again);
  CHECK(occurrences(text, "event: ") == 1);
  CHECK(text.find("\"n\":3") != std::string::npos);
  for (const char* wrong : {"", "run1", "run1-", "run1-x", "run1-1x", "run2-1", "run1--1", "run1-99999999",
                            "run1-99999999999999999999999"}) {
    INFO(wrong);
    CHECK(!one.feed.number_of(wrong));
  }
}

TEST_CASE(
    "a reader that the ring has overtaken is notified once, and continues with the events that are left") {
  Feed one;
  one.feed.want(kAllGroups);
  uint64_t at = one.feed.newest();
  for (int i = 0; i < 5000; ++i)
    one.say(i);
  std::string text = one.read(at, kAllGroups, 1000);
  CHECK(text.find("event: lost\n") == 0);
  CHECK(text.find("overtaken") != std::string::npos);
  std::string all = text;
  while (!(text = one.read(at, kAllGroups, 1000)).empty())
    all += text;
  CHECK(occurrences(all, "event: lost") == 1);
  CHECK(occurrences(all, "event: call.begin") == 4096);
  CHECK(all.find("\"n\":4999}") != std::string::npos);
}

TEST_CASE("the ring is bounded in bytes too") {
  Feed one;
  one.feed.want(kAllGroups);
  uint64_t at = one.feed.newest();
  const std::string large = nlohmann::json(std::string(1 << 20, 'x')).dump();
  for (int i = 0; i < 10; ++i)
    one.feed.publish(EventGroup::calls, "call.begin", large);
  const std::string text = one.read(at, kAllGroups, 64 << 20);
  CHECK(occurrences(text, "event: call.begin") < 5);
  CHECK(occurrences(text, "event: call.begin") > 1);
  CHECK(occurrences(text, "event: lost") == 1);
}

TEST_CASE("groups are read and bounded apart") {
  Feed one;
  one.feed.want(kAllGroups);
  uint64_t calls = one.feed.newest(), servers = calls;
  one.say(-1, EventGroup::servers);
  for (int i = 0; i < 6000; ++i)
    one.say(i);
  const std::string text = one.read(servers, bit(EventGroup::servers));
  CHECK(occurrences(text, "event: ") == 1);
  CHECK(text.find("lost") == std::string::npos);
  CHECK(one.read(calls, bit(EventGroup::calls)).find("event: lost") == 0);
}

TEST_CASE("an unwanted event is not sent, and is lost for an earlier reader") {
  Feed one;
  one.say(1);
  CHECK(one.woken == 0);
  one.feed.want(bit(EventGroup::calls));
  uint64_t before = one.feed.newest();
  one.say(2);
  one.feed.want(0);
  one.say(3);
  one.feed.want(bit(EventGroup::calls));
  uint64_t now = one.feed.newest();
  one.say(4);
  std::string text = one.read(now, bit(EventGroup::calls));
  CHECK(text.find("lost") == std::string::npos);
  CHECK(occurrences(text, "event: ") == 1);
  text = one.read(before, bit(EventGroup::calls));
  CHECK(text.find("event: lost") == 0);
  CHECK(text.find("\"n\":4") != std::string::npos);
}

TEST_CASE("lines of the log are kept, and make events of servers") {
  Feed one;
  one.feed.told(log::Level::info, "upstream.spawn", {{"upstream", "github"}, {"pid", 7}}, "T1");
  one.feed.told(log::Level::warn, "upstream.stderr",
                {{"upstream", "github"}, {"pid", 7}, {"line", "oh\x1b[31m no"}}, "T2");
  CHECK(one.woken == 0);
  auto said = one.feed.stderr_of("github");
  REQUIRE(said.size() == 1);
  CHECK(said[0].text == "oh?[31m no");
  CHECK(said[0].pid == 7);
  bool more = false;
  CHECK(one.feed.lines({}, more).size() == 2);
  EventRing::LogQuery bad;
  bad.least = log::Level::warn;
  REQUIRE(one.feed.lines(bad, more).size() == 1);
  CHECK(nlohmann::json::parse(one.feed.lines(bad, more)[0].json)["event"] == "upstream.stderr");
  EventRing::LogQuery behind;
  behind.after = one.feed.lines({}, more)[0].number;
  CHECK(one.feed.lines(behind, more).size() == 1);

  one.feed.want(kAllGroups);
  uint64_t at = one.feed.newest();
  one.feed.told(log::Level::info, "upstream.exit", {{"upstream", "github"}}, "T3");
  one.feed.told(log::Level::info, "plain", {}, "T4");
  const std::string text = one.read(at);
  CHECK(occurrences(text, "event: server.exit\n") == 1);
  CHECK(occurrences(text, "event: log\n") == 2);
}

TEST_CASE("a server's last lines are twenty, the log's are a thousand") {
  Feed one;
  for (int i = 0; i < 1500; ++i) {
    one.feed.told(log::Level::info, "upstream.stderr", {{"upstream", "a"}, {"line", std::to_string(i)}}, "T");
  }
  auto said = one.feed.stderr_of("a");
  REQUIRE(said.size() == 20);
  CHECK(said.front().text == "1480");
  bool more = false;
  EventRing::LogQuery query;
  query.limit = 5000;
  CHECK(one.feed.lines(query, more).size() == 1000);
  query.after = one.feed.lines(query, more)[0].number;
  query.limit = 10;
  CHECK(one.feed.lines(query, more).size() == 10);
  CHECK(more);
}

TEST_CASE("what the configuration holds as a secret is in no line and no event") {
  Feed one;
  redaction::use_secrets({"s3cr3t-value", "no", "abcdef123"});
  one.feed.told(log::Level::info, "upstream.stderr",
                {{"upstream", "a"}, {"line", "my s3cr3t-value and abcdef123, no more"}}, "T");
  CHECK(one.feed.stderr_of("a")[0].text == "my … and …, no more");
  bool more = false;
  CHECK(one.feed.lines({}, more)[0].json.find("s3cr3t") == std::string::npos);
  nlohmann::json body{{"s3cr3t-value", {"a s3cr3t-value", 7, {{"x", "abcdef123"}}}}};
  redact_json(body);
  CHECK(body.dump() == R"({"s3cr3t-value":["a …",7,{"x":"…"}]})");
}

TEST_CASE("lines of the log are those of a server, or of the path of several by which a call came to it") {
  Feed one;
  auto told = [&](const char* upstream, const char* route) {
    one.feed.told(log::Level::info, "call.end", {{"upstream", upstream}, {"route", route}}, "t");
  };
  told("a", "");
  told("a", "/mcp");
  told("b", "/mcp");
  told("/mcp", "");
  auto lines_of = [&](const char* asked) {
    EventRing::LogQuery query;
    query.upstream = asked;
    bool more = false;
    return one.feed.lines(query, more).size();
  };
  CHECK(lines_of("") == 4);
  CHECK(lines_of("a") == 2);
  CHECK(lines_of("b") == 1);
  CHECK(lines_of("/mcp") == 3);
  CHECK(lines_of("c") == 0);
}
