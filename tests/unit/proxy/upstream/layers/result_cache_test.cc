#include "proxy/upstream/layers/result_cache.h"

#include "unit/proxy/upstream/layers/layers_world.h"

using namespace lineward;
using namespace lineward::upstream;
using mcp::EndReason;
using mcp::Field;
using std::chrono::milliseconds;

namespace {

constexpr const char* kListChanged = R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})";

std::string result(const std::string& members = R"("ttlMs":60000,"cacheScope":"private","tools":[])") {
  return R"({"jsonrpc":"2.0","id":1,"result":{"resultType":"complete",)" + members + "}}";
}

std::string updated(const std::string& uri) {
  return R"({"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":")" + uri + R"("}})";
}

struct World {
  World() {
    config.name = "cached";
    config.cache.enabled = true;
  }
  ~World() {
    cache.reset();
    loop.close_deferred();
  }
  core::UpstreamRequest request(const std::string& method = "tools/list", const std::string& params = {},
                                const std::string& meta = {}) {
    core::UpstreamRequest made;
    made.message = parse(
        R"({"jsonrpc":"2.0","id":1,"method":")" + method +
        R"(","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{})" +
        meta + "}" + params + "}}");
    made.method = mcp::method_of(method);
    made.client_era = mcp::Era::modern;
    made.scope.principal = "p";
    return made;
  }
  core::UpstreamRequest read(const std::string& uri) {
    return request("resources/read", R"(,"uri":")" + uri + "\"");
  }
  std::unique_ptr<core::Call> start(core::UpstreamRequest asked, Caller& caller) {
    auto call = cache->start(std::move(asked), caller);
    REQUIRE(call);
    loop.close_deferred();
    return std::move(*call);
  }
  // Calls of the server, without Lineward's own listens.
  size_t asked() const {
    size_t count = 0;
    for (const auto& call : below.calls)
      count += call->request.of_gateway ? 0 : 1;
    return count;
  }
  // The server is asked, and answers so.
  void fill(core::UpstreamRequest asked_for, const std::string& answer = result()) {
    Caller caller;
    const size_t before = asked();
    auto call = start(std::move(asked_for), caller);
    REQUIRE(asked() == before + 1);
    below.last().answers(answer);
    CHECK(caller.heard == std::vector{answer});
    loop.close_deferred();
  }
  // Is it answered without the server? The server does not answer.
  bool remembers(core::UpstreamRequest asked_for) {
    Caller caller;
    const size_t before = asked();
    auto call = start(std::move(asked_for), caller);
    const bool kept = asked() == before;
    CHECK(caller.heard.size() == (kept ? 1 : 0));
    call->cancel("enough");
    loop.close_deferred();
    return kept;
  }
  void says(const std::string& notification) { cache->changed(parse(notification)); }
  void wait(milliseconds time) {
    net::Timer timer(loop);
    timer.start(time, [&] { loop.defer([&] { loop.stop(); }); });
    loop.run();
  }

  net::Loop loop;
  config::Server config;
  Below below;
  std::unique_ptr<ResultCache> cache =
      std::make_unique<ResultCache>(loop, std::make_unique<UpstreamBelow>(below), config);
};

}  // namespace

TEST_CASE("what may be kept is answered from memory, with what is left of its time, under any id") {
  World world;
  world.fill(world.request());
  world.wait(milliseconds(20));
  Caller caller;
  core::UpstreamRequest asked = world.request();
  auto call = world.start(std::move(asked), caller);
  REQUIRE(caller.heard.size() == 1);
  const int64_t left = std::stoll(std::string(parse(caller.heard[0]).raw(Field::result_ttl_ms)));
  CHECK(left < 60000);
  CHECK(left > 30000);
  CHECK_FALSE(call->live());
  CHECK_FALSE(call->call_facts().is_from_server);
  CHECK(world.asked() == 1);
}

TEST_CASE("an answer from memory comes after what runs, and not to a caller that has left") {
  World world;
  world.fill(world.request());
  Caller caller;
  auto call = world.cache->start(world.request(), caller);
  REQUIRE(call);
  CHECK(caller.heard.empty());
  (*call)->cancel("away");
  world.loop.close_deferred();
  CHECK(caller.heard.empty());
}

TEST_CASE("an answer from memory outlives its call, which its caller may end while it is told") {
  struct Leaver final : core::CallCallbacks {
    void on_call_phase(core::CallPhase) override {}
    void on_call_message(mcp::Message&& message) override {
      call.reset();
      heard = message.bytes();
    }
    void on_call_failed(const core::Failure&) override {}
    std::unique_ptr<core::Call> call;
    std::string heard;
  };
  World world;
  world.fill(world.request());
  Leaver caller;
  auto call = world.cache->start(world.request(), caller);
  REQUIRE(call);
  caller.call = std::move(*call);
  world.loop.close_deferred();
  CHECK(parse(caller.heard).kind() == mcp::MessageKind::result);
}

TEST_CASE("a result is kept for its caller and its request") {
  World world;
  world.fill(world.request("resources/read", R"(,"uri":"file:///a")"));
  CHECK(world.remembers(world.read("file:///a")));
  CHECK(world.remembers(world.request("resources/read", R"( , "uri" : "file:///a" )")));
  CHECK_FALSE(world.remembers(world.read("file:///b")));
  CHECK_FALSE(world.remembers(world.request("prompts/list")));
  core::UpstreamRequest asked = world.read("file:///a");
  asked.scope.principal = "other";
  CHECK_FALSE(world.remembers(std::move(asked)));
  asked = world.read("file:///a");
  asked.scope.session = "other";
  CHECK_FALSE(world.remembers(std::move(asked)));
  asked = world.read("file:///a");
  asked.headers = {{"Authorization", "Bearer other"}};
  CHECK_FALSE(world.remembers(std::move(asked)));
  asked = world.read("file:///a");
  asked.headers = {{"traceparent", "00-1-1-01"}};
  CHECK(world.remembers(std::move(asked)));
  asked = world.read("file:///a");
  asked.scope.affinity = "state";
  CHECK(world.remembers(std::move(asked)));
  world.config.isolation = config::Isolation::session;
  asked = world.read("file:///a");
  asked.scope.affinity = "state";
  CHECK_FALSE(world.remembers(std::move(asked)));
}

TEST_CASE("legacy sessions at many servers share answers only if they have no process of their own") {
  World world;
  world.below.translates = GENERATE(true, false);
  auto of = [&](const std::string& session, core::UpstreamRequest made) {
    made.scope.bridged_session = session;
    return made;
  };
  world.fill(of("one", world.request()));
  CHECK(world.remembers(of("one", world.request())));
  CHECK(world.remembers(of("two", world.request())) == world.below.translates);
  CHECK(world.remembers(world.request()) == world.below.translates);
  // A read may have questions for that session's client.
  Caller caller;
  auto call = world.start(of("one", world.read("file:///a")), caller);
  CHECK((world.below.last().owner != &caller) == world.below.translates);
  call->cancel("enough");
}

TEST_CASE("revision and capabilities are part of what was asked") {
  World world;
  world.fill(world.request());
  auto asked_with = [&](const std::string& version, const std::string& capabilities) {
    core::UpstreamRequest asked = world.request();
    asked.message = parse(
        R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":")" +
        version + R"(","io.modelcontextprotocol/clientCapabilities":)" + capabilities + "}}}");
    return asked;
  };
  CHECK(world.remembers(asked_with("2026-07-28", "{}")));
  CHECK_FALSE(world.remembers(asked_with("2027-01-01", "{}")));
  CHECK_FALSE(world.remembers(asked_with("2026-07-28", R"({"elicitation":{}})")));
}

TEST_CASE("what a server does not allow, or is no whole answer, is not kept") {
  World world;
  for (const char* members : {R"("tools":[])", R"("ttlMs":0,"tools":[])", R"("ttlMs":-5,"tools":[])",
                              R"("ttlMs":"60000")", R"("ttlMs":1e9)", R"("ttlMs":1.5)"}) {
    INFO(members);
    world.fill(world.request(), result(members));
    CHECK_FALSE(world.remembers(world.request()));
  }
  world.fill(world.read("file:///a"),
             R"({"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","ttlMs":60000}})");
  CHECK_FALSE(world.remembers(world.read("file:///a")));
  world.fill(world.request(), R"({"jsonrpc":"2.0","id":1,"error":{"code":0,"message":"x"},"ttlMs":60000})");
  CHECK_FALSE(world.remembers(world.request()));
}

TEST_CASE("requests that are one caller's business, and other methods, pass by") {
  World world;
  core::UpstreamRequest asked = world.request();
  SECTION("progress") {
    asked = world.request("tools/list", "", R"(,"progressToken":1)");
  }
  SECTION("log lines") {
    asked = world.request("tools/list", "", R"(,"io.modelcontextprotocol/logLevel":"debug")");
  }
  SECTION("answers to questions") {
    asked = world.request("resources/read", R"(,"uri":"a","inputResponses":{},"requestState":"x")");
  }
  SECTION("a legacy client") {
    asked.client_era = mcp::Era::legacy;
  }
  SECTION("a call") {
    asked = world.request("tools/call", R"(,"name":"n")");
  }
  SECTION("a legacy server that may ask meanwhile") {
    world.below.era = mcp::Era::legacy;
    asked = world.read("file:///a");
  }
  SECTION("the cache is off") {
    world.config.cache.enabled = false;
  }
  SECTION("parameters that are too long for a key") {
    asked = world.read(std::string(70000, 'x'));
  }
  Caller caller;
  auto call = world.start(std::move(asked), caller);
  CHECK(world.below.last().owner == &caller);
  call->cancel("enough");
}

TEST_CASE("time passes: a result is kept so long and no longer") {
  World world;
  world.fill(world.request(), result(R"("ttlMs":30,"tools":[])"));
  CHECK(world.remembers(world.request()));
  world.wait(milliseconds(40));
  CHECK_FALSE(world.remembers(world.request()));
}

TEST_CASE("callers share the call while the server is asked, the last one leaving cancels it") {
  World world;
  Caller one, two, three;
  auto first = world.start(world.request(), one), second = world.start(world.request(), two);
  CHECK(world.asked() == 1);
  SECTION("the answer is for all") {
    world.below.last().answers(result());
    CHECK(one.heard == std::vector{result()});
    CHECK(two.heard == std::vector{result()});
    world.loop.close_deferred();
    CHECK(world.remembers(world.request()));
  }
  SECTION("so is the failure, and the next one asks anew") {
    world.below.last().fails({EndReason::upstream_exited, "it has gone"});
    CHECK(one.failed);
    CHECK(two.failed);
    world.loop.close_deferred();
    CHECK_FALSE(world.remembers(world.request()));
  }
  SECTION("no caller waits any more") {
    first->cancel("away");
    CHECK_FALSE(world.below.last().cancelled);
    second->cancel("away too");
    CHECK(world.below.last().cancelled == "away too");
    auto third = world.start(world.request(), three);
    CHECK(world.asked() == 2);
    third->cancel("enough");
  }
}

TEST_CASE("an answer under way during a change is for earlier callers, and is not kept") {
  World world;
  Caller before, after;
  auto first = world.start(world.request(), before);
  auto of_first = world.below.calls.back();
  world.says(kListChanged);
  SECTION("it comes while no other caller has asked") {
    of_first->answers(result(R"("ttlMs":60000,"tools":["old"])"));
    CHECK(before.heard.size() == 1);
    world.loop.close_deferred();
    CHECK_FALSE(world.remembers(world.request()));
  }
  SECTION("it comes after that of a later caller") {
    auto second = world.start(world.request(), after);
    CHECK(world.asked() == 2);
    world.below.last().answers(result(R"("ttlMs":60000,"tools":["new"])"));
    CHECK(before.heard.empty());
    of_first->answers(result(R"("ttlMs":60000,"tools":["old"])"));
    CHECK(before.heard.size() == 1);
    world.loop.close_deferred();
    Caller later;
    auto call = world.start(world.request(), later);
    REQUIRE(later.heard.size() == 1);
    CHECK(later.heard[0].find("new") != std::string::npos);
  }
  SECTION("the earlier caller leaves") {
    auto second = world.start(world.request(), after);
    first->cancel("away");
    CHECK(of_first->cancelled == "away");
    CHECK_FALSE(world.below.last().cancelled);
    second->cancel("enough");
  }
}

TEST_CASE("a change is forgotten of what it is about, and of nothing else") {
  World world;
  world.fill(world.request());
  world.fill(world.request("prompts/list"));
  world.fill(world.request("resources/list"));
  world.fill(world.request("resources/templates/list"));
  world.fill(world.request("server/discover"));
  world.fill(world.read("file:///a"));
  world.fill(world.read("file:///b"));
  auto kept = [&] {
    std::string out;
    for (const char* method :
         {"tools/list", "prompts/list", "resources/list", "resources/templates/list", "server/discover"})
      out += world.remembers(world.request(method)) ? '1' : '0';
    for (const char* uri : {"file:///a", "file:///b"})
      out += world.remembers(world.read(uri)) ? '1' : '0';
    return out;
  };
  CHECK(kept() == "1111111");
  world.says(updated("file:///a"));
  CHECK(kept() == "1111101");
  world.says(updated("file:///"));
  CHECK(kept() == "1111101");
  world.says(kListChanged);
  CHECK(kept() == "0111101");
  world.says(R"({"jsonrpc":"2.0","method":"notifications/resources/list_changed"})");
  CHECK(kept() == "0100101");
  world.says(R"({"jsonrpc":"2.0","method":"notifications/message"})");
  CHECK(kept() == "0100101");
  // A listen that was opened again: what was missed is not known.
  world.says(R"({"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged"})");
  CHECK(kept() == "0000100");
}

TEST_CASE("what is kept is bounded in bytes: what was used longest ago goes first") {
  World world;
  auto large = [](size_t size) {
    return result(R"("ttlMs":60000,"contents":")" + std::string(size, 'x') + "\"");
  };
  world.config.cache.max_bytes = 10000;
  world.fill(world.read("a"), large(3000));
  world.fill(world.read("b"), large(3000));
  CHECK(world.remembers(world.read("a")));
  world.fill(world.read("c"), large(3000));
  CHECK_FALSE(world.remembers(world.read("b")));
  CHECK(world.remembers(world.read("a")));
  CHECK(world.remembers(world.read("c")));
  world.fill(world.read("d"), large(20000));  // over the bound: it displaces no other result
  CHECK_FALSE(world.remembers(world.read("d")));
  CHECK(world.remembers(world.read("a")));
  CHECK(world.remembers(world.read("c")));
  SECTION("a reload makes it less") {
    world.config.cache.max_bytes = 5000;
    world.cache->notice(core::UpstreamNotice::reconfigured);
    CHECK_FALSE(world.remembers(world.read("a")));
    CHECK(world.remembers(world.read("c")));
  }
  SECTION("a reload turns it off, and on again: nothing is left") {
    world.config.cache.enabled = false;
    world.cache->notice(core::UpstreamNotice::reconfigured);
    world.config.cache.enabled = true;
    CHECK_FALSE(world.remembers(world.read("c")));
  }
}

TEST_CASE("a result that a server calls public is shared only if that is to be believed") {
  World world;
  const std::string for_all = result(R"("ttlMs":60000,"cacheScope":"public","tools":[])");
  auto others = [&] {
    core::UpstreamRequest asked = world.request();
    asked.scope.principal = "other";
    asked.headers = {{"Authorization", "Bearer other"}};
    return asked;
  };
  world.fill(world.request(), for_all);
  CHECK(world.remembers(world.request()));
  CHECK_FALSE(world.remembers(others()));
  world.says(kListChanged);
  world.config.cache.trust_public = true;
  world.fill(world.request(), for_all);
  CHECK(world.remembers(world.request()));
  CHECK(world.remembers(others()));
  world.says(kListChanged);
  CHECK_FALSE(world.remembers(others()));
  world.fill(world.request());  // private: the caller's own
  CHECK_FALSE(world.remembers(others()));
}

TEST_CASE("a list for callers that repeat parameters in headers is not the list for others") {
  World world;
  core::UpstreamRequest asked = world.request();
  asked.sends_param_headers = true;
  world.fill(core::UpstreamRequest(asked));
  CHECK(world.remembers(core::UpstreamRequest(asked)));
  CHECK_FALSE(world.remembers(world.request()));
}

TEST_CASE("what Lineward asks a server to see whether it is there is not answered from memory") {
  World world;
  world.fill(world.request("server/discover"),
             result(R"("ttlMs":60000,"cacheScope":"private","capabilities":{})"));
  CHECK(world.remembers(world.request("server/discover")));
  core::UpstreamRequest own = world.request("server/discover");
  own.of_gateway = true;
  Caller caller;
  auto call = world.start(std::move(own), caller);
  CHECK(world.below.last().request.of_gateway);
  CHECK(caller.heard.empty());
  call->cancel("enough");
}

const std::string kAcknowledged =
    R"({"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true}}})";

TEST_CASE("for a list that is kept Lineward listens itself, and forgets it when it cannot hear any more") {
  World world;
  world.below.tells.tools = true;
  world.fill(world.request());
  REQUIRE(world.below.calls.size() == 2);
  BelowCall& listen = world.below.last();
  CHECK(listen.request.of_gateway);
  CHECK(listen.request.method == mcp::Method::subscriptions_listen);
  CHECK(listen.request.message.raw(Field::params_notifications) == R"({"toolsListChanged":true})");
  CHECK(listen.request.scope.principal == "p");
  listen.says(kAcknowledged);
  // Earlier changes were not notified.
  CHECK_FALSE(world.remembers(world.request()));
  world.fill(world.request());
  CHECK(world.remembers(world.request()));
  const size_t calls = world.below.calls.size();
  SECTION("the server ends it") {
    listen.answers(R"({"jsonrpc":"2.0","id":1,"result":{}})");
    CHECK_FALSE(world.remembers(world.request()));
  }
  SECTION("it fails") {
    listen.fails({EndReason::upstream_exited, "it has gone"});
    CHECK_FALSE(world.remembers(world.request()));
  }
  SECTION("another kind of caller has its own") {
    core::UpstreamRequest asked = world.request();
    asked.scope.principal = "other";
    world.fill(std::move(asked));
    CHECK(world.below.calls.size() == calls + 2);
    CHECK(world.below.last().request.scope.principal == "other");
  }
  SECTION("no list is kept any more") {
    world.says(kListChanged);
    world.wait(milliseconds(1100));
    CHECK(listen.cancelled == "nothing of it is kept any more");
  }
}

TEST_CASE("what is kept just after its listen has ended is listened for again, or is forgotten") {
  World world;
  world.below.tells.tools = true;
  bool again = true;
  SECTION("over HTTP") {
    world.config.url = "http://127.0.0.1:1/mcp";
  }
  SECTION("where a process is there") {
    world.below.processes = {{1, 1}};
  }
  SECTION("but no process is started for it") {
    again = false;
  }
  world.fill(world.request());
  BelowCall& first = world.below.last();
  first.says(kAcknowledged);
  first.fails({EndReason::upstream_exited, "it has gone"});
  world.fill(world.request());
  REQUIRE(world.below.calls.size() == 3);
  CHECK(world.remembers(world.request()));
  world.wait(milliseconds(1100));
  if (!again) {
    CHECK(world.below.calls.size() == 3);
    CHECK_FALSE(world.remembers(world.request()));
    return;
  }
  REQUIRE(world.below.calls.size() == 4);
  BelowCall& second = world.below.last();
  CHECK(second.request.of_gateway);
  CHECK(second.request.message.bytes() == first.request.message.bytes());
  // Notifications of the meantime were not received.
  CHECK(world.remembers(world.request()));
  second.says(kAcknowledged);
  CHECK_FALSE(world.remembers(world.request()));
  world.fill(world.request());
  world.says(kListChanged);
  world.wait(milliseconds(1100));
  CHECK(second.cancelled == "nothing of it is kept any more");
}

TEST_CASE("a cache that stops answers nothing from memory") {
  World world;
  world.fill(world.request());
  bool stopped = false;
  world.cache->stop([&] { stopped = true; });
  CHECK(stopped);
  CHECK_FALSE(world.remembers(world.request()));
}

TEST_CASE("a change that another worker has heard of outdates what this one keeps") {
  World world;
  const auto changes = std::make_shared<ToldChanges>();
  const auto made = [&] {
    return std::make_unique<ResultCache>(world.loop, std::make_unique<UpstreamBelow>(world.below),
                                         world.config, changes);
  };
  world.cache = made();
  const auto other = made();
  world.fill(world.request());
  world.fill(world.read("file:///a"));
  CHECK(world.remembers(world.request()));
  CHECK(world.remembers(world.read("file:///a")));

  other->changed(parse(updated("file:///a")));
  CHECK_FALSE(world.remembers(world.read("file:///a")));
  CHECK(world.remembers(world.request()));
  other->changed(parse(kListChanged));
  CHECK_FALSE(world.remembers(world.request()));

  // While the server is asked: the answer is the caller's alone, and later callers get a call of their own.
  Caller first, second;
  auto before = world.start(world.request(), first);
  auto& asked = world.below.last();
  other->changed(parse(kListChanged));
  const size_t calls = world.asked();
  auto after = world.start(world.request(), second);
  CHECK(world.asked() == calls + 1);
  asked.answers(result());
  CHECK(first.heard.size() == 1);
  CHECK(second.heard.empty());
  world.below.last().answers(result());
  CHECK(second.heard.size() == 1);
  world.loop.close_deferred();
  CHECK(world.remembers(world.request()));
  // A listen that another worker has opened again: it knows nothing of the time between.
  other->changed(parse(R"({"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged"})"));
  CHECK_FALSE(world.remembers(world.request()));
  world.loop.close_deferred();
}
