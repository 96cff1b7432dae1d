#include "proxy/upstream/stdio/group_questions.h"

#include <list>

#include "unit/proxy/upstream/stdio/stdio_world.h"

using namespace lineward;
using namespace lineward::upstream;
using std::chrono::milliseconds;

namespace {

// A legacy process with calls of modern clients. The fate of its questions shows at the calls' owners and on
// the wire.
struct World {
  explicit World(bool exclusive) {
    stdio.server.timeouts.cancel_grace = milliseconds(60000);
    group.era = mcp::Era::legacy;
    group.exclusive = exclusive;
  }
  ~World() {
    for (auto& one : made)
      one.call.cancel("the test is over");
  }
  struct Sent {
    Asker asker;
    StdioCall call;
    explicit Sent(World& world)
        : call(world.stdio.call(
              request_of(mcp::Era::modern, R"({"jsonrpc":"2.0","id":1,"method":"tools/call"})"), asker)) {}
  };
  Sent& sent() {
    Sent& one = made.emplace_back(*this);
    PendingCall entry;
    entry.call = &one.call;
    entry.counts = entry.asks = true;
    one.call.id = calls.add(std::move(entry));
    return one;
  }
  void answered(const Sent& one) { calls.note_over(calls.take(*calls.find(one.call.id))); }
  void asks(const char* method) {
    auto answer = questions.take(
        parse(std::string(R"({"jsonrpc":"2.0","id":"q","method":")") + method + R"(","params":{}})"), calls);
    if (answer) answers.push_back(*answer);
  }

  StdioWorld stdio;
  size_t in_flight = 0;
  CallerGroup group;
  InstanceCalls calls{stdio.loop, stdio.server, in_flight};
  LegacyFacade facade{stdio.server};
  int apart_over = 0;
  GroupQuestions questions{stdio.loop, stdio.server, group, facade, [this] { ++apart_over; }};
  std::vector<std::string> answers;
  std::list<Sent> made;
};

}  // namespace

TEST_CASE("a question is the one call's that may ask") {
  World world(false);
  auto& only = world.sent();
  world.asks("elicitation/create");
  CHECK(only.asker.heard.size() == 1);
  CHECK(world.answers.empty());
}

TEST_CASE("a question within the grace of another caller's call belongs to no call") {
  World world(false);
  auto& first = world.sent();
  world.answered(first);
  auto& second = world.sent();
  world.asks("elicitation/create");
  CHECK(second.asker.heard.empty());
  REQUIRE(world.answers.size() == 1);
  CHECK(world.answers[0].find("no single client stands behind this process") != std::string::npos);
}

TEST_CASE("without a grace the next call's questions are its own") {
  World world(false);
  world.stdio.server.timeouts.cancel_grace = milliseconds(0);
  world.answered(world.sent());
  auto& second = world.sent();
  world.asks("elicitation/create");
  CHECK(second.asker.heard.size() == 1);
}

TEST_CASE("where processes are exclusive a server that asks after its answers has them kept apart") {
  World world(true);
  world.answered(world.sent());
  CHECK_FALSE(world.questions.keeps_apart(world.calls));
  world.asks("elicitation/create");
  CHECK(world.answers.size() == 1);
  CHECK(world.questions.keeps_apart(world.calls));
}

TEST_CASE("roots that no call can have asked for are the configuration's") {
  World world(true);
  world.stdio.server.roots = {"file:///tmp"};
  world.asks("roots/list");
  REQUIRE(world.answers.size() == 1);
  CHECK(world.answers[0].find(R"("uri":"file:///tmp")") != std::string::npos);
  CHECK_FALSE(world.questions.keeps_apart(world.calls));
}
