#include "proxy/upstream/shared/legacy_listens.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

using namespace lineward;
using namespace lineward::upstream;

namespace {

mcp::Message parse(std::string text) {
  auto message = mcp::Message::parse(std::move(text));
  REQUIRE(message);
  return std::move(*message);
}

struct Call final : ListenCall {
  mcp::Message request;
  std::vector<std::string> heard;
  std::string failed;
  explicit Call(const std::string& uri)
      : request(parse(R"({"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":)"
                      R"({"toolsListChanged":true,"resourceSubscriptions":[")" +
                      uri + R"("]}}})")) {}
  bool of_session = false;
  const mcp::Message& listen_request() const override { return request; }
  bool is_of_session() const override { return of_session; }
  void phase(core::CallPhase) override {}
  void message(mcp::Message message) override { heard.push_back(message.bytes()); }
  void fail(const core::Failure& failure) override { failed = failure.text; }
  bool granted() const {
    return !heard.empty() && heard[0].find("resourceSubscriptions") != std::string::npos;
  }
};

// Keeps what it is asked until the test answers it.
struct Server final : ListenServer {
  mcp::LegacyServer told = mcp::read_initialize_result(
      R"({"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},)"
      R"("resources":{"subscribe":true}},"serverInfo":{"name":"s","version":"1"}})");
  std::vector<std::string> asked;
  std::vector<OwnAnswer> open;
  bool ready = true;
  const mcp::LegacyServer& legacy_server() const override { return told; }
  bool is_ready() const override { return ready; }
  void send_own(std::string_view method, std::string_view params, OwnAnswer answered) override {
    asked.push_back(std::string(method.substr(10)) + " " + std::string(params));
    open.push_back(std::move(answered));
  }
  void answer(bool granted = true) {
    REQUIRE_FALSE(open.empty());
    OwnAnswer one = std::move(open.front());
    open.erase(open.begin());
    one(parse(granted ? R"({"jsonrpc":"2.0","id":1,"result":{}})"
                      : R"({"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"no"}})"));
  }
};

const std::string kSubscribe = R"(subscribe {"uri":"file:///a"})";
const std::string kUnsubscribe = R"(unsubscribe {"uri":"file:///a"})";
using Asked = std::vector<std::string>;
constexpr std::chrono::milliseconds kNow{1000};

}  // namespace

TEST_CASE("listens on a legacy server") {
  Server server;
  LegacyListens listens;
  Call a("file:///a"), b("file:///a");
  mcp::Message update =
      parse(R"({"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a"}})");

  SECTION("two of the same URI are one subscription, and its end comes with the last") {
    listens.open(a, server);
    listens.open(b, server);
    CHECK(a.heard.empty());
    server.answer();
    CHECK(a.granted());
    CHECK(b.granted());
    listens.close(a);
    CHECK(listens.notify(server, update, kNow));
    CHECK(b.heard.size() == 2);
    CHECK(a.heard.size() == 1);
    CHECK(server.asked == Asked{kSubscribe});
    listens.close(b);
    CHECK(server.asked == Asked{kSubscribe, kUnsubscribe});
    CHECK_FALSE(listens.notify(server, update, kNow));
  }
  SECTION("those of a session need a server while they want to hear of a URI, all others always") {
    Call lists("file:///a");
    lists.request = parse(
        R"({"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true}}})");
    lists.of_session = a.of_session = true;
    listens.open(lists, server);
    CHECK(lists.heard.size() == 1);
    CHECK_FALSE(listens.need_server());
    listens.open(a, server);
    CHECK(listens.need_server());
    listens.close(a);
    CHECK_FALSE(listens.need_server());
    CHECK_FALSE(listens.empty());
    lists.of_session = false;
    listens.close(lists);
    listens.open(lists, server);
    CHECK(listens.need_server());
    listens.close(lists);
    CHECK_FALSE(listens.need_server());
  }
  SECTION("one that leaves before its subscribe is answered takes nothing from the next") {
    listens.open(a, server);
    listens.close(a);
    CHECK(server.asked == Asked{kSubscribe});  // nothing that could overtake it
    listens.open(b, server);
    server.answer();
    CHECK(server.asked == Asked{kSubscribe});
    CHECK(b.granted());
    CHECK(listens.notify(server, update, kNow));
  }
  SECTION("one that leaves before its subscribe is answered is unsubscribed when it is") {
    listens.open(a, server);
    listens.close(a);
    server.answer();
    CHECK(server.asked == Asked{kSubscribe, kUnsubscribe});
    server.answer();
    listens.open(b, server);
    CHECK(server.asked == Asked{kSubscribe, kUnsubscribe, kSubscribe});
  }
  SECTION("one that comes while the unsubscribe is under way is subscribed after it") {
    listens.open(a, server);
    server.answer();
    listens.close(a);
    listens.open(b, server);
    CHECK(server.asked == Asked{kSubscribe, kUnsubscribe});
    CHECK(b.heard.empty());
    server.answer();
    CHECK(server.asked == Asked{kSubscribe, kUnsubscribe, kSubscribe});
    server.answer();
    CHECK(b.granted());
  }
  SECTION("what is refused is not acknowledged, never unsubscribed, and asked again by the next") {
    listens.open(a, server);
    server.answer(false);
    REQUIRE(a.heard.size() == 1);
    CHECK_FALSE(a.granted());
    CHECK_FALSE(listens.notify(server, update, kNow));
    listens.close(a);
    CHECK(server.asked == Asked{kSubscribe});
    listens.open(b, server);
    CHECK(server.asked == Asked{kSubscribe, kSubscribe});
  }
  SECTION(
      "a server that takes another's place is subscribed again, late answers of the first change nothing") {
    listens.open(a, server);
    server.answer();
    listens.open(b, server);
    listens.close(b);
    listens.lost(&server);
    CHECK_FALSE(listens.served());
    Server next;
    listens.join(next);
    CHECK(next.asked == Asked{kSubscribe});
    CHECK(a.heard.size() == 1);  // what is told before it is subscribed could be out of date by then
    next.answer();
    REQUIRE(a.heard.size() == 3);  // acknowledged once; then what may have changed
    CHECK(a.heard[1].find("tools/list_changed") != std::string::npos);
    CHECK(a.heard[2].find("resources/updated") != std::string::npos);
    listens.close(a);
    CHECK(next.asked == Asked{kSubscribe, kUnsubscribe});
  }
  SECTION("all fail together") {
    listens.open(a, server);
    listens.open(b, server);
    listens.lost(&server);
    listens.fail_all({mcp::EndReason::upstream_exited, "it is over"});
    CHECK(a.failed == "it is over");
    CHECK(b.failed == "it is over");
    CHECK(listens.empty());
  }
}

TEST_CASE("listens on several processes of a legacy server") {
  Server one, two, three;
  LegacyListens listens;
  Call a("file:///a");
  mcp::Message update =
      parse(R"({"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a"}})");

  SECTION("each is subscribed, also one that comes later, and unsubscribed where it was granted") {
    listens.join(one);
    listens.join(two);
    listens.open(a, one);
    CHECK(one.asked == Asked{kSubscribe});
    CHECK(two.asked == Asked{kSubscribe});
    two.answer();
    CHECK(a.granted());  // one that is at work holds up no other
    listens.join(three);
    CHECK(three.asked == Asked{kSubscribe});
    three.answer(false);
    listens.close(a);
    CHECK(two.asked == Asked{kSubscribe, kUnsubscribe});
    CHECK(three.asked == Asked{kSubscribe});
    CHECK(one.asked == Asked{kSubscribe});
    one.answer();
    CHECK(one.asked == Asked{kSubscribe, kUnsubscribe});
  }
  SECTION("a wish is refused when all have refused it, and one that is gone is not waited for") {
    listens.join(one);
    listens.join(two);
    listens.join(three);
    listens.open(a, one);
    one.answer(false);
    two.answer(false);
    CHECK(a.heard.empty());
    listens.lost(&three);
    REQUIRE(a.heard.size() == 1);
    CHECK_FALSE(a.granted());
  }
  SECTION("the loss of one of several is no news, that of the last one is, once another is there") {
    listens.open(a, one);
    listens.join(two);
    one.answer();
    two.answer();
    listens.lost(&one);
    CHECK(a.heard.size() == 1);
    CHECK(listens.served());
    listens.lost(&two);
    listens.join(three);
    CHECK(a.heard.size() == 1);
    three.answer();
    CHECK(a.heard.size() == 3);
    listens.lost(&three);
    listens.join(one);
    one.open.erase(one.open.begin(), one.open.end() - 1);  // those of its first life
    one.answer();
    CHECK(a.heard.size() == 5);
  }
  SECTION("what several tell alike comes once; more of it, later, or after a question it is news") {
    listens.open(a, one);
    listens.join(two);
    one.answer();
    size_t before = a.heard.size();
    CHECK(listens.notify(one, update, kNow));
    CHECK(listens.notify(two, update, kNow));
    CHECK(a.heard.size() == before + 1);
    CHECK(listens.notify(two, update, kNow));  // its second
    CHECK(listens.notify(one, update, kNow));
    CHECK(a.heard.size() == before + 2);
    listens.notify(one, update, kNow);
    listens.asked();
    listens.notify(two, update, kNow);
    CHECK(a.heard.size() == before + 4);
    listens.notify(one, update, kNow + std::chrono::seconds(5));
    CHECK(a.heard.size() == before + 5);
    mcp::Message other = parse(
        R"({"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a","n":1}})");
    listens.notify(two, other, kNow + std::chrono::seconds(5));
    CHECK(a.heard.size() == before + 6);
  }
}

TEST_CASE("a server has a bounded number of subscriptions to answer at a time") {
  Server server;
  LegacyListens listens;
  std::string uris = "u0";
  for (int i = 1; i < 100; ++i)
    uris += "\",\"u" + std::to_string(i);
  Call a(uris), b("u99");
  listens.open(a, server);
  CHECK(server.asked.size() == 32);
  SECTION("all are asked in the end, and the listen is acknowledged after the last one") {
    for (int i = 0; i < 100; ++i) {
      CHECK(a.heard.empty());
      CHECK(server.open.size() == std::min<size_t>(32, 100 - static_cast<size_t>(i)));
      server.answer();
    }
    CHECK(server.asked.size() == 100);
    CHECK(a.granted());
  }
  SECTION(
      "an unwanted subscription is not requested, and one that is still to be left stays if it is wanted "
      "again") {
    listens.close(a);
    for (int i = 0; i < 32; ++i)
      server.answer();
    CHECK(server.asked.size() == 64);  // each of the 32 is left again
    CHECK(server.asked.back().rfind("unsubscribe", 0) == 0);
    listens.open(b, server);
    CHECK(server.open.size() == 32);
    while (!server.open.empty())
      server.answer();
    CHECK(server.asked.size() == 65);
    CHECK(b.granted());
  }
}
