#include "proxy/client/endpoint/session_directory.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "proxy/client/http/refusal.h"
#include "unit/proxy/client/http/far_client.h"

using namespace lineward;
using namespace lineward::client;

namespace {

const std::string kKey = "wuWnmEBfyR6N8Vv3eEtcwVVl1vJ9tO+Tq0xVnDk0cX4=";
const std::string kLegacy = "MCP-Protocol-Version: 2025-11-25\r\n";

// The exchanges, as far as sessions go.
struct Exchanges final : core::ExchangeApi {
  core::ExchangeId start(core::IncomingMessage&&, std::unique_ptr<core::ReplyStream>) override { return {}; }
  void client_left(core::ExchangeId, mcp::EndReason) override {}
  void cancel(core::ExchangeId, std::string_view) override {}
  void notified(core::IncomingMessage&&) override {}
  bool answered(const std::string&, mcp::Message, core::AnswerCame) override { return false; }
  void session_ended(const std::string& session) override { ended.push_back(session); }
  core::Adoption adopt_session(const std::string& session, const core::ScopeState& state) override {
    adopted.push_back(session + " " + state.server_session);
    return adopts;
  }
  std::optional<std::vector<std::string>> versions(const std::string&) const override { return std::nullopt; }
  std::optional<bool> keeps_sessions(const std::string&) const override { return keeps; }

  std::optional<bool> keeps = true;
  core::Adoption adopts = core::Adoption::done;
  std::vector<std::string> ended, adopted;
};

core::CallerPtr caller(const std::string& principal) {
  auto who = std::make_shared<core::Caller>();
  who->principal = principal;
  return who;
}

// A replica with one connection, on which requests of alice come.
struct Replica {
  explicit Replica(const std::string& name = {}) {
    if (name.empty()) return;
    auto keys = SealKeys::parse(kKey);
    REQUIRE(keys);
    links.replicas = std::make_shared<const Replicas>(*keys, name, std::chrono::seconds(3600));
  }
  static PathTable paths() {
    PathTable table;
    table.servers["/mcp"] = "s";
    table.servers["/strict"] = "strict";
    table.refuse_missing.insert("strict");
    return table;
  }
  // Passes a request with these headers to `look`.
  template <class Look>
  void ask(const std::string& headers, Look look, const std::string& path = "/mcp",
           const std::string& principal = "alice") {
    requests.look = [&](ClientConnection& connection) {
      connection.use_caller(principal.empty() ? nullptr : caller(principal));
      look(connection);
    };
    requests.ask(path, headers);
  }
  Session* find(const std::string& shown, const std::string& principal = "alice") {
    Session* found = nullptr;
    ask(
        "Mcp-Session-Id: " + shown + "\r\n", [&](auto& from) { found = sessions.find(from); }, "/mcp",
        principal);
    return found;
  }
  Session& open(const std::string& headers = {}, const std::string& principal = "alice") {
    Session* opened = nullptr;
    ask(
        headers,
        [&](auto& from) { opened = sessions.open(from, "s", client::SessionDirectory::Opener::client); },
        "/mcp", principal);
    REQUIRE(opened != nullptr);
    return *opened;
  }

  Requests requests{nullptr};
  Exchanges exchanges;
  PathRouter router{paths()};
  ReplicaLinks links;
  SessionDirectory sessions{requests.loop, requests.limits, router, exchanges, links};
};

}  // namespace

TEST_CASE("a session is found by its name and its principal, and a foreign one is like an unknown one") {
  Replica only;
  Session& session = only.open();
  CHECK(only.find(session.id) == &session);
  CHECK(session.named);
  CHECK(only.find(session.id, "bob") == nullptr);
  CHECK(only.find("unknown") == nullptr);
  CHECK(only.sessions.name_for_client(session.id) == session.id);
}

TEST_CASE("a request without a session has that of the principal, unless the server's clients must name it") {
  Replica only;
  Session& session = only.open();
  Session* found = nullptr;
  auto unnamed = [&](auto& from) { found = only.sessions.find_unnamed(from, "s"); };
  only.ask(kLegacy, unnamed);
  CHECK(found == &session);
  only.ask("MCP-Protocol-Version: 2026-07-28\r\n", unnamed);  // no legacy client's
  CHECK(found == nullptr);
  only.ask("Mcp-Session-Id: other\r\n", unnamed);
  CHECK(found == nullptr);
  only.ask(kLegacy, unnamed, "/mcp", "bob");
  CHECK(found == nullptr);
  only.ask(kLegacy, [&](auto& from) {
    CHECK(only.sessions.may_open(from, "s"));
    CHECK_FALSE(only.sessions.may_open(from, "strict"));
    CHECK(only.sessions.find_unnamed(from, "strict") == nullptr);
  });
}

TEST_CASE("a proxy's connection does not identify the caller") {
  Replica only;
  const std::string proxied = kLegacy + "Via: 1.1 proxy\r\n";
  Session& session = only.open(kLegacy, "");
  Session* found = nullptr;
  auto unnamed = [&](auto& from) { found = only.sessions.find_unnamed(from, "s"); };
  only.ask(kLegacy, unnamed, "/mcp", "");
  CHECK(found == &session);
  only.ask(proxied, unnamed, "/mcp", "");
  CHECK(found == nullptr);
  only.ask(
      proxied, [&](auto& from) { CHECK_FALSE(only.sessions.may_open(from, "s")); }, "/mcp", "");
}

TEST_CASE("a server that keeps no sessions has none that its clients could name") {
  Replica only;
  Session& session = only.open();
  only.exchanges.keeps = false;
  CHECK(only.sessions.name_for_client(session.id).empty());
  CHECK(session.ends_when_idle);
  only.ask(kLegacy, [&](auto& from) { CHECK(only.sessions.goes_without(from, "s")); });
  only.ask("Mcp-Session-Id: a\r\n", [&](auto& from) { CHECK_FALSE(only.sessions.goes_without(from, "s")); });
  only.exchanges.keeps.reset();  // not known yet
  only.ask(kLegacy, [&](auto& from) { CHECK_FALSE(only.sessions.goes_without(from, "s")); });
}

TEST_CASE("a session that is shared is made anew at another replica, for its principal alone") {
  Replica first("first"), second("second");
  Session& session = first.open();
  session.share({"of-the-server", "2025-11-25"});
  const std::string shown = first.sessions.name_for_client(session.id);
  CHECK(shown != session.id);
  CHECK(second.find(shown, "bob") == nullptr);
  Session* adopted = second.find(shown);
  REQUIRE(adopted != nullptr);
  CHECK(adopted->id == session.id);
  CHECK(second.exchanges.adopted == std::vector<std::string>{session.id + " of-the-server"});
  CHECK(second.find(shown) == adopted);
  CHECK(second.exchanges.adopted.size() == 1);

  Replica third("third");
  third.exchanges.adopts = core::Adoption::refused;
  CHECK(third.find(shown) == nullptr);
  CHECK(third.sessions.why_none().status == 404);
  CHECK(third.sessions.table().size() == 0);
}

TEST_CASE("a session that cannot be shared is tied to its replica") {
  Replica first("first"), second("second");
  Session& session = first.open();
  const std::string shown = first.sessions.name_for_client(session.id);
  CHECK(session.tied);
  CHECK(first.find(shown) == &session);
  CHECK(second.find(shown) == nullptr);
  CHECK(second.exchanges.adopted.empty());
}

TEST_CASE("one session too many is not opened, and its client is told by which limit") {
  Replica only;
  only.requests.limits.max_sessions = 1;
  Session& session = only.open();
  session.exchanges = 1;  // it is not idle
  Session* more = &session;
  only.ask({}, [&](auto& from) {
    more = only.sessions.open(from, "s", client::SessionDirectory::Opener::client);
  });
  CHECK(more == nullptr);
  CHECK(only.requests.client.received().find("listen.maxSessions") == std::string::npos);
  const auto asked = mcp::Message::parse(R"({"jsonrpc":"2.0","id":7,"method":"initialize"})");
  REQUIRE(asked);
  const HttpError told = too_many_sessions(*asked, "s");
  CHECK(told.status == 200);
  CHECK(told.reason == mcp::EndReason::queue_full);
  CHECK(told.method == "initialize");
  CHECK(told.body.find(R"("id":7)") != std::string::npos);
  CHECK(told.body.find("listen.maxSessions") != std::string::npos);
}
