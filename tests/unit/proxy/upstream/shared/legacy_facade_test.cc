#include "proxy/upstream/shared/legacy_facade.h"

#include "unit/proxy/upstream/stdio/stdio_world.h"

using namespace lineward;
using namespace lineward::upstream;

namespace {

struct Server final : ListenServer {
  mcp::LegacyServer told = mcp::read_initialize_result(
      R"({"protocolVersion":"2025-11-25","capabilities":{"logging":{},"tools":{"listChanged":true}},)"
      R"("serverInfo":{"name":"s","version":"1"}})");
  std::vector<std::string> asked;
  const mcp::LegacyServer& legacy_server() const override { return told; }
  bool is_ready() const override { return true; }
  void send_own(std::string_view method, std::string_view params, OwnAnswer) override {
    asked.push_back(std::string(method) + " " + std::string(params));
  }
};

struct Session final : core::ScopeCallbacks {
  int told = 0;
  core::ScopeCallbacks** ended_by = nullptr;  // its place, which the first message empties
  void on_scope_message(mcp::Message, std::optional<uint64_t>) override {
    ++told;
    if (ended_by != nullptr) *ended_by = nullptr;
  }
  void on_scope_reset() override {}
};

core::UpstreamRequest legacy(std::string text) {
  return request_of(mcp::Era::legacy, std::move(text));
}

}  // namespace

TEST_CASE("a server that Lineward has initialised is not asked for its identity") {
  config::Server server;
  server.name = "files";
  LegacyFacade facade(server);
  LowestLogLevel level;
  Server behind;
  auto again = legacy(R"({"jsonrpc":"2.0","id":7,"method":"initialize","params":{}})");
  auto answer = facade.answer(again, behind.told, R"({"protocolVersion":"2025-11-25"})", level);
  REQUIRE(answer);
  REQUIRE(*answer);
  CHECK((*answer)->text(mcp::Field::result_protocol_version) == "2025-11-25");
  auto nonsense = facade.answer(again, behind.told, "", level);
  REQUIRE(nonsense);
  CHECK_FALSE(*nonsense);  // what it said of itself is nothing

  CHECK(facade.answer(request_of(mcp::Era::modern, R"({"jsonrpc":"2.0","id":1,"method":"server/discover"})"),
                      behind.told, "{}", level));
  CHECK_FALSE(facade.answer(request_of(mcp::Era::modern, R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})"),
                            behind.told, "{}", level));
  CHECK_FALSE(
      facade.answer(legacy(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})"), behind.told, "{}", level));
}

TEST_CASE(
    "a server that several sessions use hears of a log level that is lower than all others, and of no "
    "other") {
  config::Server server;
  LegacyFacade facade(server);
  LowestLogLevel level;
  Server behind;
  auto set = [](const char* name) {
    return legacy(std::string(R"({"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":")") +
                  name + R"("}})");
  };
  CHECK_FALSE(facade.answer(set("error"), behind.told, "{}", level));
  level.is_set(set("error").message);
  CHECK(facade.answer(set("error"), behind.told, "{}", level));
  CHECK(facade.answer(set("emergency"), behind.told, "{}", level));
  CHECK_FALSE(facade.answer(set("debug"), behind.told, "{}", level));
  CHECK_FALSE(facade.answer(set("loud"), behind.told, "{}", level));  // it says itself what it thinks of that
}

TEST_CASE("a new process is told the level and the subscriptions that the last one knew") {
  config::Server server;
  LegacyFacade facade(server);
  Server next;
  facade.replay(next);
  CHECK(next.asked.empty());
  facade.remember(
      legacy(R"({"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"error"}})"));
  facade.remember(
      legacy(R"({"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"file:///a"}})"));
  facade.remember(
      legacy(R"({"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":"file:///b"}})"));
  facade.remember(
      legacy(R"({"jsonrpc":"2.0","id":4,"method":"resources/unsubscribe","params":{"uri":"file:///a"}})"));
  CHECK(facade.has_subscriptions());
  facade.replay(next);
  CHECK(next.asked == std::vector<std::string>{R"(logging/setLevel {"level":"error"})",
                                               R"(resources/subscribe {"uri":"file:///b"})"});
  facade.forget_subscriptions();
  CHECK_FALSE(facade.has_subscriptions());
}

TEST_CASE("a session is told that its state is gone, unless it ends meanwhile") {
  config::Server server;
  server.name = "files";
  LegacyFacade facade(server);
  Server next;
  Session session;
  core::ScopeCallbacks* scope = nullptr;
  facade.tell_state_is_gone(next.told, scope);
  scope = &session;
  facade.tell_state_is_gone(next.told, scope);
  CHECK(session.told == 2);  // a warning, and that its tools may have changed
  session.told = 0;
  session.ended_by = &scope;
  facade.tell_state_is_gone(next.told, scope);
  CHECK(session.told == 1);
}

TEST_CASE("log lines are for clients with that level; the server's is the lowest of them") {
  auto wants = [](const char* level) {
    return request_of(mcp::Era::modern,
                      std::string(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x",)"
                                  R"("_meta":{"io.modelcontextprotocol/logLevel":")") +
                          level + R"("}}})");
  };
  auto line = parse(
      R"({"jsonrpc":"2.0","method":"notifications/message","params":{"level":"warning","data":"late"}})");
  CHECK(LegacyFacade::wants_log_line(wants("info"), line));
  CHECK_FALSE(LegacyFacade::wants_log_line(wants("error"), line));
  CHECK_FALSE(LegacyFacade::wants_log_line(
      request_of(mcp::Era::modern, R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})"), line));
  CHECK(LegacyFacade::wants_log_line(legacy(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})"), line));

  Server behind;
  LowestLogLevel level;
  CHECK(level.lower_for(wants("error"), behind.told) == R"({"level":"error"})");
  CHECK(level.lower_for(wants("error"), behind.told).empty());
  CHECK(level.lower_for(wants("debug"), behind.told) == R"({"level":"debug"})");
  CHECK(level.lower_for(wants("info"), behind.told).empty());
  behind.told.logging = false;
  LowestLogLevel never;
  CHECK(never.lower_for(wants("debug"), behind.told).empty());
}

TEST_CASE("each session of a shared server has a log level of its own, and says nothing of it unasked") {
  auto call = [](const char* wished, bool is_said) {
    auto request = legacy(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}})");
    request.log_wish = {wished, is_said};
    return request;
  };
  auto line = parse(R"({"jsonrpc":"2.0","method":"notifications/message","params":{"level":"notice"}})");
  CHECK(LegacyFacade::wants_log_line(call("", false), line));
  CHECK(LegacyFacade::wants_log_line(call("info", false), line));
  CHECK_FALSE(LegacyFacade::wants_log_line(call("error", true), line));
  auto odd = parse(R"({"jsonrpc":"2.0","method":"notifications/message","params":{"level":"loud"}})");
  CHECK(LegacyFacade::wants_log_line(call("error", true), odd));

  Server behind;
  LowestLogLevel level;
  CHECK(level.lower_for(call("info", false), behind.told).empty());
  CHECK(level.lower_for(call("error", true), behind.told) == R"({"level":"error"})");
  CHECK(level.lower_for(call("", false), behind.told).empty());
  CHECK(level.lower_for(call("info", false), behind.told) == R"({"level":"info"})");
  CHECK(level.lower_for(call("info", true), behind.told).empty());
}

TEST_CASE("questions that are no client's have answers of Lineward's own") {
  config::Server server;
  server.roots = {"file:///home/ada", "file:///\"srv\""};
  LegacyFacade facade(server);
  auto roots = parse(R"({"jsonrpc":"2.0","id":"r1","method":"roots/list"})");
  CHECK(
      facade.roots(roots) ==
      R"({"jsonrpc":"2.0","id":"r1","result":{"roots":[{"uri":"file:///home/ada"},{"uri":"file:///\"srv\""}]}})");
  auto refusal = parse(LegacyFacade::nobody_to_ask(roots, "process"));
  CHECK(refusal.kind() == mcp::MessageKind::error);
  CHECK(refusal.raw(mcp::Field::id) == R"("r1")");
}
