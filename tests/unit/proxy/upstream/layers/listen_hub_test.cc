// Listens that share one of the server, and the notifications of each. For a lost one see
// listen_lost_test.cc.
#include "proxy/upstream/layers/listen_hub.h"

#include "unit/proxy/upstream/layers/layers_world.h"

using namespace lineward;
using namespace lineward::upstream;
using mcp::EndReason;
using mcp::Field;

namespace {

const std::string kTools = R"({"toolsListChanged":true})";

std::string acknowledged(const std::string& notifications) {
  return R"({"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":)" +
         notifications + R"(,"_meta":{"io.modelcontextprotocol/subscriptionId":1}}})";
}

std::string changed(const std::string& what) {
  return R"({"jsonrpc":"2.0","method":"notifications/)" + what +
         R"(/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}})";
}

struct World {
  World() { config.name = "s"; }
  ~World() {
    hub.reset();
    loop.close_deferred();
  }
  core::UpstreamRequest request(const std::string& notifications = kTools) {
    core::UpstreamRequest made;
    made.message = parse(
        R"({"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":")" +
        version + R"(","io.modelcontextprotocol/clientCapabilities":)" + capabilities +
        R"(},"notifications":)" + notifications + "}}");
    made.method = mcp::Method::subscriptions_listen;
    made.client_era = mcp::Era::modern;
    made.scope.principal = "p";
    made.tag = ++tag;
    return made;
  }
  core::UpstreamRequest request_of(const std::string& principal) {
    core::UpstreamRequest asked = request();
    asked.scope.principal = principal;
    return asked;
  }
  std::unique_ptr<core::Call> start(core::UpstreamRequest asked, Caller& caller) {
    auto call = hub->start(std::move(asked), caller);
    REQUIRE(call);
    loop.close_deferred();
    return std::move(*call);
  }
  std::unique_ptr<core::Call> start(Caller& caller) { return start(request(), caller); }
  // Does such a request share the listen of a usual one?
  bool shares(core::UpstreamRequest asked) {
    Caller one, other;
    auto usual = start(one);
    const size_t before = below.calls.size();
    auto its = start(std::move(asked), other);
    const bool shared = below.calls.size() == before;
    its->cancel("enough");
    usual->cancel("enough");
    loop.close_deferred();
    return shared;
  }

  net::Loop loop;
  config::Server config;
  Below below;
  std::string version = "2026-07-28", capabilities = "{}";
  uint64_t tag = 0;
  std::unique_ptr<ListenHub> hub =
      std::make_unique<ListenHub>(loop, std::make_unique<UpstreamBelow>(below), config);
};

}  // namespace

TEST_CASE("the same wishes of the same one in the server's eyes are one listen, others have their own") {
  World world;
  CHECK(world.shares(world.request()));
  CHECK(world.shares(world.request(R"({ "toolsListChanged" : true })")));
  CHECK_FALSE(world.shares(world.request(R"({"promptsListChanged":true})")));
  CHECK_FALSE(world.shares(world.request(R"({"toolsListChanged":true,"promptsListChanged":true})")));

  core::UpstreamRequest asked = world.request();
  asked.headers = {{"Authorization", "Bearer one"}};
  CHECK_FALSE(world.shares(std::move(asked)));
  asked = world.request();
  asked.headers = {{"traceparent", "00-1-1-01"}};  // does not identify the caller
  CHECK(world.shares(std::move(asked)));
  asked = world.request();
  asked.scope.affinity = "state";  // means nothing where the server keeps none for each
  CHECK(world.shares(std::move(asked)));
  asked = world.request();
  asked.of_gateway = true;  // it keeps no process
  CHECK_FALSE(world.shares(std::move(asked)));
  CHECK(world.shares(world.request_of("other")));
  world.capabilities = R"({"elicitation":{}})";
  asked = world.request();
  world.capabilities = "{}";
  CHECK(world.shares(std::move(asked)));
  world.version = "2027-01-01";
  asked = world.request();
  world.version = "2026-07-28";
  CHECK_FALSE(world.shares(std::move(asked)));
}

TEST_CASE("two tokens are two listens, and neither hears what the server tells the other") {
  World world;
  Caller one, two, again;
  auto with = [&](const char* token) {
    core::UpstreamRequest asked = world.request();
    asked.headers = {{"Authorization", token}};
    return asked;
  };
  auto first = world.start(with("Bearer one"), one);
  auto second = world.start(with("Bearer two"), two);
  auto third = world.start(with("Bearer one"), again);
  REQUIRE(world.below.calls.size() == 2);
  CHECK(world.hub->size() == 2);
  for (auto& call : world.below.calls)
    call->says(acknowledged(kTools));
  world.below.calls[0]->says(changed("tools"));
  CHECK(one.heard.size() == 2);
  CHECK(again.heard.size() == 2);
  CHECK(two.heard.size() == 1);
  second->cancel("enough");
  CHECK(world.below.calls[1]->cancelled);
  CHECK_FALSE(world.below.calls[0]->cancelled);
  first->cancel("enough");
  third->cancel("enough");
}

TEST_CASE("where the server keeps callers apart, or its era is not known, only the same caller shares") {
  World world;
  SECTION("a legacy server") {
    world.below.era = mcp::Era::legacy;
  }
  SECTION("an unknown one") {
    world.below.era = std::nullopt;
  }
  SECTION("isolation") {
    using config::Isolation;
    world.config.isolation = GENERATE(Isolation::principal, Isolation::session, Isolation::call);
  }
  CHECK(world.shares(world.request()));
  CHECK_FALSE(world.shares(world.request_of("other")));
  core::UpstreamRequest asked = world.request();
  asked.scope.session = "other";
  CHECK_FALSE(world.shares(std::move(asked)));
  world.capabilities = R"({"elicitation":{}})";
  asked = world.request();
  world.capabilities = "{}";
  CHECK_FALSE(world.shares(std::move(asked)));
}

TEST_CASE("legacy sessions at many servers share a listen only if they have no process of their own") {
  World world;
  bool shares = false;
  SECTION("the server serves them itself") {
    world.config.isolation = GENERATE(config::Isolation::automatic, config::Isolation::session);
  }
  SECTION("they are translated") {
    world.below.translates = true;
    shares = true;
  }
  SECTION("all callers have one process") {
    world.config.isolation = config::Isolation::shared;
    shares = true;
  }
  core::UpstreamRequest asked = world.request();
  asked.scope.bridged_session = "one";
  CHECK(world.shares(std::move(asked)) == shares);
  Caller first, second;
  asked = world.request();
  asked.scope.bridged_session = "one";
  auto one = world.start(std::move(asked), first);
  const size_t before = world.below.calls.size();
  asked = world.request();
  asked.scope.bridged_session = "two";
  auto other = world.start(std::move(asked), second);
  CHECK((world.below.calls.size() == before) == shares);
  one->cancel("enough");
  other->cancel("enough");
}

TEST_CASE("a listen that was opened before the era was known is shared once it is modern") {
  World world;
  world.below.era = std::nullopt;
  Caller one, two;
  auto first = world.start(one);
  world.below.era = mcp::Era::modern;
  auto second = world.start(two);
  CHECK(world.below.calls.size() == 1);
  CHECK(world.hub->size() == 1);
  world.below.last().says(acknowledged(kTools));
  CHECK(two.heard.size() == 1);
  first->cancel("enough");
  second->cancel("enough");
  CHECK(world.hub->size() == 0);
  CHECK(world.below.last().cancelled == "enough");
}

TEST_CASE("the last one leaving cancels the listen, and the next one opens another") {
  World world;
  Caller one, two, three;
  auto first = world.start(one), second = world.start(two);
  first->cancel("away");
  CHECK_FALSE(world.below.last().cancelled);
  CHECK(world.hub->size() == 1);
  second->cancel("away too");
  CHECK(world.below.last().cancelled == "away too");
  CHECK(world.hub->size() == 0);
  auto third = world.start(three);
  CHECK(world.below.calls.size() == 2);
  third->cancel("enough");
}

TEST_CASE("what is no listen of a modern client with wishes passes by") {
  World world;
  Caller caller;
  core::UpstreamRequest asked = world.request();
  SECTION("a legacy client") {
    asked.client_era = mcp::Era::legacy;
  }
  SECTION("another method") {
    asked.method = mcp::Method::tools_call;
  }
  SECTION("no wishes") {
    asked.message = parse(R"({"jsonrpc":"2.0","id":1,"method":"subscriptions/listen"})");
  }
  auto call = world.start(std::move(asked), caller);
  CHECK(world.hub->size() == 0);
  CHECK(world.below.last().owner == &caller);
  call->cancel("enough");
}

TEST_CASE("a listen that cannot even be begun leaves nothing behind") {
  World world;
  Caller caller;
  world.below.refuses = core::Failure{EndReason::circuit_open, "left alone"};
  auto call = world.hub->start(world.request(), caller);
  REQUIRE_FALSE(call);
  CHECK(call.error().reason == EndReason::circuit_open);
  CHECK(world.hub->size() == 0);
  world.below.refuses.reset();
  world.start(caller)->cancel("enough");
}

TEST_CASE(
    "an answer before the acknowledgement ends the listen for all clients, with the server's own words") {
  World world;
  Caller one, two;
  auto first = world.start(one), second = world.start(two);
  const std::string error = R"({"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}})";
  world.below.last().answers(error);
  CHECK(one.heard == std::vector{error});
  CHECK(two.heard == std::vector{error});
  CHECK_FALSE(first->live());
  CHECK(world.hub->size() == 0);
}

TEST_CASE("no listen gets more than it requested and was granted") {
  World world;
  Caller caller;
  auto call = world.start(world.request(R"({"toolsListChanged":true,"promptsListChanged":true})"), caller);
  world.below.last().says(acknowledged(R"({"toolsListChanged":true,"resourcesListChanged":true})"));
  REQUIRE(caller.heard.size() == 1);
  CHECK(parse(caller.heard[0]).raw(Field::params_notifications) == kTools);
  world.below.last().says(changed("resources"));
  world.below.last().says(changed("prompts"));
  CHECK(caller.heard.size() == 1);
  world.below.last().says(changed("tools"));
  CHECK(caller.heard.size() == 2);
  call->cancel("enough");
}

TEST_CASE("a watcher gets every notification, and each acknowledgement but the first") {
  World world;
  std::vector<std::string> seen;
  world.hub->watch([&](const mcp::Message& notification) { seen.emplace_back(notification.method()); });
  Caller caller;
  auto call = world.start(caller);
  world.below.last().says(acknowledged(kTools));
  CHECK(seen.empty());
  world.below.last().says(changed("tools"));
  world.below.last().says(changed("prompts"));  // granted to no listen
  world.below.last().says(acknowledged(kTools));
  CHECK(seen == std::vector<std::string>{"notifications/tools/list_changed",
                                         "notifications/prompts/list_changed",
                                         "notifications/subscriptions/acknowledged"});
  call->cancel("enough");
}
