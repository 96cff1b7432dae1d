#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "foundation/base/memory_charge.h"
#include "proxy/core/passing_upstream.h"
#include "proxy/upstream/layers/tool_upstream.h"
#include "unit/proxy/upstream/layers/layers_world.h"

using namespace lineward;
using namespace lineward::upstream;
using core::HeaderFields;

namespace {

struct Told {
  std::vector<bool> pauses;
  bool cancelled = false;
};

struct ServersCall final : core::Call {
  ServersCall(Told& what, core::UpstreamRequest its_request) : told(what), asked(std::move(its_request)) {}
  void cancel(core::CancelCause) override { told.cancelled = true; }
  bool live() const override { return !told.cancelled; }
  void reply(std::string) override {}
  bool hold(bool on) override {
    told.pauses.push_back(on);
    return true;
  }
  void hand_over(core::CallCallbacks&, core::Handover) override {}
  core::CallFacts call_facts() const override {
    return {&asked.message, R"({"name":"its server"})", true, false, false, false};
  }
  void retried(mcp::Message) override {}
  Told& told;
  core::UpstreamRequest asked;
};

struct Transport final : core::PassingUpstream {
  explicit Transport(Told& what) : PassingUpstream("s"), told(what) {}
  core::ServerFacts facts() const override { return {mcp::Era::legacy}; }
  Result<std::unique_ptr<core::Call>, core::Failure> start(core::UpstreamRequest&& request,
                                                           core::CallCallbacks&) override {
    return Result<std::unique_ptr<core::Call>, core::Failure>(
        std::make_unique<ServersCall>(told, std::move(request)));
  }
  Told& told;
};

struct Client final : core::CallCallbacks {
  void on_call_phase(core::CallPhase) override {}
  void on_call_message(mcp::Message&&) override {}
  void on_call_failed(const core::Failure&) override {}
};

}  // namespace

TEST_CASE("a call that may be repeated slows its server down, and tells of it, as any other does") {
  net::Loop loop;
  config::Server server;
  server.name = "repeats";
  server.url = "http://127.0.0.1:1/mcp";
  server.retry.attempts = 2;
  Told told;
  Client client;
  ToolUpstream upstream(loop, std::make_unique<Transport>(told), server);
  core::UpstreamRequest request;
  auto message = mcp::Message::parse(R"({"jsonrpc":"2.0","id":1,"method":"prompts/list"})");
  REQUIRE(message);
  request.message = std::move(*message);
  request.method = mcp::Method::prompts_list;
  request.client_era = mcp::Era::legacy;
  auto call = upstream.start(std::move(request), client);
  REQUIRE(call);
  REQUIRE(dynamic_cast<ToolCall*>(call->get()) != nullptr);
  CHECK((*call)->pause());
  CHECK((*call)->resume());
  CHECK(told.pauses == std::vector{true, false});
  CHECK((*call)->call_facts().server_info == R"({"name":"its server"})");
  CHECK((*call)->call_facts().of_legacy_server);
  CHECK_FALSE((*call)->call_facts().has_session);
  CHECK_FALSE((*call)->call_facts().is_from_server);
  (*call)->cancel("its client left");
  CHECK(told.cancelled);
  CHECK_FALSE((*call)->pause());
}

TEST_CASE(
    "a call that is cancelled in the pause before it is made again is not made again, however long it is "
    "kept") {
  net::Loop loop;
  config::Server server;
  server.name = "repeats";
  server.url = "http://127.0.0.1:1/mcp";
  server.retry.attempts = 3;
  server.retry.backoff = std::chrono::milliseconds(5);
  Below below;
  below.era = mcp::Era::legacy;
  {
    Caller caller;
    ToolUpstream upstream(loop, std::make_unique<UpstreamBelow>(below), server);
    core::UpstreamRequest request;
    request.message = parse(R"({"jsonrpc":"2.0","id":1,"method":"prompts/list"})");
    request.method = mcp::Method::prompts_list;
    request.client_era = mcp::Era::legacy;
    auto call = upstream.start(std::move(request), caller);
    REQUIRE(call);
    auto run_for = [&](std::chrono::milliseconds time) {
      net::Timer timer(loop);
      timer.start(time, [&] { loop.defer([&] { loop.stop(); }); });
      loop.run();
    };
    below.last().fails({mcp::EndReason::upstream_unreachable, "nobody listens"});
    CHECK(caller.heard_nothing());
    SECTION("it is made again") {
      run_for(std::chrono::milliseconds(50));
      CHECK(below.calls.size() == 2);
      CHECK(caller.repeated == 1);
      (*call)->cancel("its client left");
      CHECK(below.last().cancelled == "its client left");
    }
    SECTION("not after a cancel") {
      (*call)->cancel("its client left");
      CHECK_FALSE((*call)->live());
      run_for(std::chrono::milliseconds(50));
      CHECK(below.calls.size() == 1);
      CHECK(caller.repeated == 0);
      CHECK(caller.heard_nothing());
    }
  }
  loop.close_deferred();
}

// behaviour.md 11; "handshake" is for the clients of a shared gateway.
TEST_CASE("a handshake is made again if nothing was sent, and otherwise only for a shared gateway") {
  net::Loop loop;
  config::Server server;
  server.name = "repeats";
  server.url = "http://127.0.0.1:1/mcp";
  server.retry.attempts = 3;
  server.retry.backoff = std::chrono::milliseconds(1);
  const bool is_shared = GENERATE(false, true);
  if (is_shared) server.retry.on = {"connect", "handshake"};
  const bool opens = GENERATE(true, false);
  const mcp::Era era = opens ? mcp::Era::legacy : mcp::Era::modern;
  const std::string text = opens ? "initialize" : "server/discover";
  Below below;
  below.era = era;
  {
    Caller caller;
    ToolUpstream upstream(loop, std::make_unique<UpstreamBelow>(below), server);
    core::UpstreamRequest request;
    request.message = parse(R"({"jsonrpc":"2.0","id":1,"method":")" + text + R"("})");
    request.method = opens ? mcp::Method::initialize : mcp::Method::server_discover;
    request.client_era = era;
    auto call = upstream.start(std::move(request), caller);
    REQUIRE(call);
    const auto lost = [&](bool sent) {
      // Only `initialize` is not told when it is written.
      if (sent && !opens) below.last().owner->on_call_phase(core::CallPhase::written);
      core::Failure failure{mcp::EndReason::upstream_unreachable, "the connection is gone"};
      failure.nothing_sent = !sent;
      const size_t before = below.calls.size();
      below.last().fails(failure);
      net::Timer timer(loop);
      timer.start(std::chrono::milliseconds(20), [&] { loop.defer([&] { loop.stop(); }); });
      loop.run();
      return below.calls.size() > before;
    };
    CHECK(lost(false));
    CHECK(lost(true) == is_shared);
    CHECK(caller.heard_nothing() == is_shared);
    if (is_shared) {
      CHECK_FALSE(lost(true));  // the third of three attempts
    }
    CHECK_FALSE((*call)->live());
  }
  loop.close_deferred();
}

TEST_CASE("a call with headers to be checked waits until its server's era is known") {
  net::Loop loop;
  config::Server server;
  server.name = "stdio";
  server.retry.backoff = std::chrono::milliseconds(1);
  Below below;
  below.era = std::nullopt;
  auto run_for = [&](int64_t ms) {
    net::Timer timer(loop);
    timer.start(std::chrono::milliseconds(ms), [&] { loop.defer([&] { loop.stop(); }); });
    loop.run();
  };
  {
    Caller first, second;
    ToolUpstream upstream(loop, std::make_unique<UpstreamBelow>(below), server);
    auto start = [&](Caller& caller) {
      core::UpstreamRequest request;
      request.message = parse(R"({"jsonrpc":"2.0","id":1,"method":"tools/call",)"
                              R"("params":{"name":"t","arguments":{"region":"eu"}}})");
      request.method = mcp::Method::tools_call;
      request.sends_param_headers = true;
      auto call = upstream.start(std::move(request), caller);
      REQUIRE(call);
      return std::move(*call);
    };
    SECTION("a modern one is asked for its tools, once for all that wait") {
      auto one = start(first), other = start(second);
      run_for(1);
      REQUIRE(below.calls.size() == 1);
      CHECK(below.last().request.method == mcp::Method::tools_list);
      CHECK(below.last().request.only_era == mcp::Era::modern);
      below.era = mcp::Era::modern;
      below.last().answers(R"({"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t","inputSchema":)"
                           R"({"properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}]}})");
      run_for(1);
      CHECK(below.calls.size() == 1);
      for (Caller* caller : {&first, &second}) {
        REQUIRE(caller->heard.size() == 1);
        CHECK(caller->heard[0].find("-32020") != std::string::npos);
      }
    }
    SECTION("one of the old era is sent the calls") {
      auto one = start(first), other = start(second);
      run_for(1);
      below.era = mcp::Era::legacy;
      core::Failure of_other_era{mcp::EndReason::internal, "it is of the other era"};
      of_other_era.of_other_era = true;
      below.last().fails(of_other_era);
      REQUIRE(below.calls.size() == 3);
      CHECK(below.calls[1]->request.method == mcp::Method::tools_call);
      CHECK(below.calls[1]->request.only_era == mcp::Era::legacy);
      CHECK(below.calls[2]->request.method == mcp::Method::tools_call);
      other->cancel("its client left");
      SECTION("and waits once more where it was modern after all") {
        below.era = mcp::Era::modern;
        below.calls[1]->fails(of_other_era);
        run_for(1);
        REQUIRE(below.calls.size() == 4);
        CHECK(below.last().request.method == mcp::Method::tools_list);
        CHECK(first.heard_nothing());
        below.last().answers(R"({"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"not yet"}})");
        REQUIRE(below.calls.size() == 5);
        CHECK(below.last().request.message.text(mcp::Field::params_name) == "t");
        CHECK_FALSE(below.last().request.only_era);
        CHECK(first.repeated == 0);
      }
      one->cancel("its client left");
    }
    SECTION("one that cannot be asked fails them all, and is asked no more") {
      auto one = start(first), other = start(second);
      run_for(1);
      below.last().fails({mcp::EndReason::upstream_exited, "it exited"});
      run_for(5);
      CHECK(below.calls.size() == 1);
      for (Caller* caller : {&first, &second}) {
        REQUIRE(caller->failed);
        CHECK(caller->failed->text == "it exited");
      }
    }
    SECTION("one that is gone before it has the second page, and does not come back, fails them, too") {
      auto one = start(first), other = start(second);
      run_for(1);
      below.era = mcp::Era::modern;
      below.last().owner->on_call_phase(core::CallPhase::written);
      below.last().answers(R"({"jsonrpc":"2.0","id":1,"result":{"tools":[],"nextCursor":"two"}})");
      REQUIRE(below.calls.size() == 2);
      below.last().fails({mcp::EndReason::upstream_exited, "it exited"});
      CHECK(below.calls.size() == 2);
      for (Caller* caller : {&first, &second}) {
        REQUIRE(caller->failed);
        CHECK(caller->failed->text == "it exited");
      }
    }
    SECTION("where calls are made again, that one's headers are checked, too") {
      server.retry.attempts = 2;
      auto one = start(first);
      run_for(1);
      below.last().fails({mcp::EndReason::upstream_unreachable, "it did not start"});
      run_for(20);
      REQUIRE(below.calls.size() == 2);
      CHECK(below.last().request.method == mcp::Method::tools_list);
      CHECK(first.heard_nothing());
      SECTION("in vain") {
        below.last().fails({mcp::EndReason::upstream_unreachable, "it did not start again"});
        run_for(20);
        CHECK(below.calls.size() == 2);
        REQUIRE(first.failed);
        CHECK(first.failed->text == "it did not start again");
      }
      SECTION("with success") {
        below.era = mcp::Era::modern;
        below.last().answers(R"({"jsonrpc":"2.0","id":1,"result":{"tools":[]}})");
        REQUIRE(below.calls.size() == 3);
        CHECK(first.repeated == 1);
        below.last().answers(R"({"jsonrpc":"2.0","id":1,"result":{"content":[]}})");
        CHECK(first.heard.size() == 1);
      }
    }
    SECTION("nothing is asked any more when all that wait have left") {
      auto one = start(first), other = start(second);
      run_for(1);
      one->cancel("its client left");
      CHECK_FALSE(below.last().cancelled);
      other->cancel("its client left");
      CHECK(below.last().cancelled);
    }
  }
  loop.close_deferred();
}

namespace {

// A tool of which one argument is repeated in a header, as an answer to a tools/list.
const std::string kRegionTool = R"({"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t","inputSchema":)"
                                R"({"properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}]}})";

core::Failure other_era() {
  core::Failure failure{mcp::EndReason::internal, "it is of the other era"};
  failure.of_other_era = true;
  return failure;
}

// A ToolUpstream with its server below.
struct ToolWorld {
  net::Loop loop;
  config::Server server;
  Below below;
  std::unique_ptr<ToolUpstream> upstream;

  void begin() {
    upstream = std::make_unique<ToolUpstream>(loop, std::make_unique<UpstreamBelow>(below), server);
  }
  ~ToolWorld() {
    upstream.reset();
    loop.close_deferred();
  }

  static core::UpstreamRequest request(const std::string& arguments = R"({"region":"eu"})") {
    core::UpstreamRequest request;
    request.message = parse(R"({"jsonrpc":"2.0","id":1,"method":"tools/call",)"
                            R"("params":{"name":"t","arguments":)" +
                            arguments + "}}");
    request.method = mcp::Method::tools_call;
    request.sends_param_headers = true;
    return request;
  }
  std::unique_ptr<core::Call> start(Caller& caller, core::UpstreamRequest request) {
    auto call = upstream->start(std::move(request), caller);
    REQUIRE(call);
    turn();
    return std::move(*call);
  }
  // Runs deferred work.
  void turn() {
    net::Timer timer(loop);
    timer.start(std::chrono::milliseconds(1), [&] { loop.defer([&] { loop.stop(); }); });
    loop.run();
  }
  // The server below was asked that often, at last with `method`.
  bool asked(size_t often, mcp::Method method) {
    return below.calls.size() == often && below.last().request.method == method;
  }
};

}  // namespace

TEST_CASE_METHOD(
    ToolWorld,
    "a call that comes while a modern server is taken for a legacy one is checked when that shows") {
  below.era = mcp::Era::legacy;
  begin();
  Caller caller;
  auto call = start(caller, request());
  REQUIRE(asked(1, mcp::Method::tools_call));
  CHECK(below.last().request.only_era == mcp::Era::legacy);
  SECTION("it is a legacy one") {
    below.last().answers(R"({"jsonrpc":"2.0","id":1,"result":{"content":[]}})");
    CHECK(below.calls.size() == 1);
    CHECK(caller.heard.size() == 1);
  }
  SECTION("it is not") {
    below.era = mcp::Era::modern;
    below.last().fails(other_era());
    turn();
    REQUIRE(asked(2, mcp::Method::tools_list));
    below.last().answers(kRegionTool);
    turn();
    CHECK(below.calls.size() == 2);
    REQUIRE(caller.heard.size() == 1);
    CHECK(caller.heard[0].find("-32020") != std::string::npos);
  }
}

TEST_CASE_METHOD(ToolWorld,
                 "an HTTP server is asked for the list that headers are made of where it is modern") {
  server.url = "http://127.0.0.1:1/mcp";
  below.era = std::nullopt;
  begin();
  Caller caller;
  core::UpstreamRequest made = request();
  made.sends_param_headers = false;
  auto call = start(caller, std::move(made));
  REQUIRE(asked(1, mcp::Method::tools_list));
  CHECK(below.last().request.only_era == mcp::Era::modern);
  SECTION("it is") {
    below.era = mcp::Era::modern;
    below.last().answers(kRegionTool);
    turn();
    REQUIRE(asked(2, mcp::Method::tools_call));
    CHECK_FALSE(below.last().request.only_era);
    CHECK(HeaderFields(below.last().request.headers) == HeaderFields{{"Mcp-Param-Region", "eu"}});
  }
  SECTION("it is not") {
    below.era = mcp::Era::legacy;
    below.last().fails(other_era());
    turn();
    REQUIRE(asked(2, mcp::Method::tools_call));
    CHECK(below.last().request.only_era == mcp::Era::legacy);
    SECTION("and so it is") {
      below.last().answers(R"({"jsonrpc":"2.0","id":1,"result":{"content":[]}})");
      CHECK(caller.heard.size() == 1);
    }
    SECTION("and then it is after all") {
      below.era = mcp::Era::modern;
      below.last().fails(other_era());
      turn();
      REQUIRE(asked(3, mcp::Method::tools_list));
      below.last().answers(kRegionTool);
      turn();
      REQUIRE(asked(4, mcp::Method::tools_call));
      CHECK(HeaderFields(below.last().request.headers) == HeaderFields{{"Mcp-Param-Region", "eu"}});
    }
  }
  if (call->live()) call->cancel("its client left");
}

TEST_CASE_METHOD(
    ToolWorld, "a call whose argument stands there twice is refused by whoever checks or makes its headers") {
  core::UpstreamRequest twice = request(R"({"region":"us","region":"eu"})");
  SECTION("the client makes them") {
    twice.headers = HeaderFields{{"Mcp-Param-Region", "us"}};
  }
  SECTION("Lineward does") {
    server.url = "http://127.0.0.1:1/mcp";
    twice.sends_param_headers = false;
  }
  begin();
  Caller caller;
  auto call = start(caller, std::move(twice));
  REQUIRE(asked(1, mcp::Method::tools_list));
  below.last().answers(kRegionTool);
  turn();
  CHECK(below.calls.size() == 1);
  REQUIRE(caller.heard.size() == 1);
  CHECK(caller.heard[0].find("-32020") != std::string::npos);
  CHECK(caller.heard[0].find("stands there twice") != std::string::npos);
}

TEST_CASE_METHOD(
    ToolWorld,
    "a list that changes while it is read, or is not kept to the end, is asked for again by the next call") {
  begin();
  Caller first, next;
  auto one = start(first, request("{}"));
  REQUIRE(asked(1, mcp::Method::tools_list));
  bool again = true;
  SECTION("it changes before its answer") {
    upstream->book().changed();
  }
  SECTION("it changes between two pages") {
    below.last().answers(R"({"jsonrpc":"2.0","id":1,"result":{"tools":[],"nextCursor":"two"}})");
    upstream->book().changed();
  }
  SECTION("it is dropped between two pages for those of others") {
    below.last().answers(R"({"jsonrpc":"2.0","id":1,"result":{"tools":[],"nextCursor":"two"}})");
    for (int i = 0; i < 5000; ++i)
      upstream->book().view("other" + std::to_string(i));
  }
  SECTION("it is as it was") {
    below.last().answers(R"({"jsonrpc":"2.0","id":1,"result":{"tools":[],"nextCursor":"two"}})");
    again = false;
  }
  below.last().answers(R"({"jsonrpc":"2.0","id":1,"result":{"tools":[]}})");
  turn();
  CHECK(below.last().request.method == mcp::Method::tools_call);
  below.last().answers(R"({"jsonrpc":"2.0","id":1,"result":{"content":[]}})");
  CHECK(first.heard.size() == 1);
  auto other = start(next, request("{}"));
  CHECK(below.last().request.method == (again ? mcp::Method::tools_list : mcp::Method::tools_call));
  other->cancel("its client left");
}

TEST_CASE_METHOD(
    ToolWorld,
    "a change of the list counts whoever listens, a client that has no headers to be checked, too") {
  begin();
  Caller listener, first, next;
  core::UpstreamRequest listen;
  listen.message = parse(R"({"jsonrpc":"2.0","id":1,"method":"subscriptions/listen",)"
                         R"("params":{"notifications":{"toolsListChanged":true}}})");
  listen.method = mcp::Method::subscriptions_listen;
  auto heard = start(listener, std::move(listen));
  const std::shared_ptr<BelowCall> told = below.calls.back();
  auto one = start(first, request("{}"));
  REQUIRE(asked(2, mcp::Method::tools_list));
  below.last().answers(R"({"jsonrpc":"2.0","id":1,"result":{"tools":[]}})");
  turn();
  below.last().answers(R"({"jsonrpc":"2.0","id":1,"result":{"content":[]}})");
  told->says(R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})");
  CHECK(listener.heard.size() == 1);
  auto other = start(next, request());
  REQUIRE(asked(4, mcp::Method::tools_list));
  below.last().answers(kRegionTool);
  turn();
  REQUIRE(next.heard.size() == 1);
  CHECK(next.heard[0].find("-32020") != std::string::npos);
  heard->cancel("its client left");
}

TEST_CASE_METHOD(ToolWorld, "with a process for each session its tools are those of that session alone") {
  auto of = [](const std::string& name) {
    core::UpstreamRequest made = request();
    made.scope.affinity = name;
    return made;
  };
  SECTION("isolation: session") {
    server.isolation = config::Isolation::session;
  }
  SECTION("shared") {
    server.isolation = config::Isolation::shared;
  }
  begin();
  CHECK((upstream->view_key(of("a")) == upstream->view_key(of("b"))) ==
        (server.isolation == config::Isolation::shared));
  CHECK(upstream->view_key(of("a")) == upstream->view_key(of("a")));
}

TEST_CASE_METHOD(ToolWorld, "with a view each legacy session has its own, at many servers too") {
  auto of = [](const std::string& session, const std::string& bridged) {
    core::UpstreamRequest made = request();
    made.scope.session = session;
    made.scope.bridged_session = bridged;
    return made;
  };
  server.tools.only = GENERATE(config::ToolsOnly::all, config::ToolsOnly::read_only);
  const bool apart = server.tools.only != config::ToolsOnly::all;
  begin();
  CHECK((upstream->view_key(of("a", "")) != upstream->view_key(of("b", ""))) == apart);
  CHECK((upstream->view_key(of("", "a")) != upstream->view_key(of("", "b"))) == apart);
  CHECK(upstream->view_key(of("", "a")) == upstream->view_key(of("", "a")));
}

TEST_CASE_METHOD(ToolWorld, "a list without tools decides for five minutes at most which tools a view has") {
  server.tools.only = config::ToolsOnly::read_only;
  std::string answer;
  SECTION("the server does not know the method") {
    answer = R"({"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such method"}})";
  }
  SECTION("a result without an array of tools") {
    answer = R"({"jsonrpc":"2.0","id":1,"result":{}})";
  }
  begin();
  Caller caller;
  const auto before = loop.now();
  auto call = start(caller, request());
  REQUIRE(asked(1, mcp::Method::tools_list));
  below.last().answers(answer);
  turn();
  CHECK_FALSE(call->live());  // an unknown tool
  CHECK(below.calls.size() == 1);
  const ToolView& view = upstream->book().view(upstream->view_key(request()));
  CHECK(view.known);
  CHECK(view.fresh_until >= before + std::chrono::minutes(5));
  CHECK(view.fresh_until <= loop.now() + std::chrono::minutes(5));
}

TEST_CASE(
    "the request for a list keeps nothing of the call that it is for but what its client is, and that is "
    "counted") {
  net::Loop loop;
  config::Server server;
  server.name = "stdio";
  Below below;
  {
    Caller caller;
    ToolUpstream upstream(loop, std::make_unique<UpstreamBelow>(below), server);
    core::UpstreamRequest request;
    request.message = parse(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{)"
                            R"("io.modelcontextprotocol/clientInfo":{"name":"asks","version":"1"}},)"
                            R"("arguments":{"long":")" +
                            std::string(100000, 'x') + R"("}}})");
    request.method = mcp::Method::tools_call;
    request.sends_param_headers = true;
    const uint64_t before = MemoryCharge::total(Held::calls);
    auto call = upstream.start(std::move(request), caller);
    REQUIRE(call);
    const uint64_t held = MemoryCharge::total(Held::calls) - before;
    CHECK(held > 100);
    CHECK(held < 1000);
    net::Timer timer(loop);
    timer.start(std::chrono::milliseconds(1), [&] { loop.defer([&] { loop.stop(); }); });
    loop.run();
    const std::string asked = below.last().request.message.bytes();
    CHECK(asked.find(R"("name":"asks")") != std::string::npos);
    CHECK(asked.size() < 1000);
    below.last().answers(R"({"jsonrpc":"2.0","id":1,"result":{"tools":[],"nextCursor":"two"}})");
    CHECK(below.last().request.message.bytes().find(R"("cursor":"two")") != std::string::npos);
    CHECK(below.last().request.message.bytes().find(R"("name":"asks")") != std::string::npos);
    (*call)->cancel("its client left");
    CHECK(below.last().cancelled);
  }
  loop.close_deferred();
}
