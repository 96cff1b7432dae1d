#include "upstream/legacy_listens.h"

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
  const mcp::Message& listen_request() const override { return request; }
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
    CHECK(listens.notify(update));
    CHECK(b.heard.size() == 2);
    CHECK(a.heard.size() == 1);
    CHECK(server.asked == Asked{kSubscribe});
    listens.close(b);
    CHECK(server.asked == Asked{kSubscribe, kUnsubscribe});
    CHECK_FALSE(listens.notify(update));
  }
  SECTION("one that leaves before its subscribe is answered takes nothing from the next") {
    listens.open(a, server);
    listens.close(a);
    CHECK(server.asked == Asked{kSubscribe});  // nothing that could overtake it
    listens.open(b, server);
    server.answer();
    CHECK(server.asked == Asked{kSubscribe});
    CHECK(b.granted());
    CHECK(listens.notify(update));
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
    CHECK_FALSE(listens.notify(update));
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
    listens.restore(next);
    CHECK(next.asked == Asked{kSubscribe});
    REQUIRE(a.heard.size() == 3);  // acknowledged once; then what may have changed
    CHECK(a.heard[1].find("tools/list_changed") != std::string::npos);
    CHECK(a.heard[2].find("resources/updated") != std::string::npos);
    next.answer();
    CHECK(a.heard.size() == 3);
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
