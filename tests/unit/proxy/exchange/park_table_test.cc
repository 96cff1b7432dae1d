#include "proxy/exchange/park_table.h"

#include <set>
#include <string>

#include "foundation/base/account.h"
#include "unit/proxy/exchange/exchange_world.h"

using namespace lineward;
using namespace lineward::exchange;
using mcp::EndReason;
using mcp::Field;
using std::chrono::milliseconds;

namespace {

const std::string kRequest = R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}})";
const std::string kAnswer = R"({"jsonrpc":"2.0","id":17,"result":{"content":[]}})";

std::string question(const std::string& id, const std::string& message = "Which?") {
  return R"({"jsonrpc":"2.0","id":")" + id + R"(","method":"elicitation/create","params":{"message":")" +
         message + R"(","requestedSchema":{"type":"object","properties":{}}}})";
}

mcp::Message retry_of(const std::string& state, const std::string& tool = "ask") {
  return parse(R"({"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":")" + tool +
               R"(","inputResponses":{},"requestState":")" + state + R"("}})");
}

struct World {
  World() {
    server.name = upstream.name();
    server.limits.max_parked = 2;
    server.limits.max_parked_bytes = 10000;
  }
  // The owner of the call; its questions.
  ParkedCall call(std::vector<std::string> questions = {question("q")}) {
    ParkedCall made;
    made.lease = ServerRef(serves);
    seen = std::make_shared<ServersCall>();
    seen->owner = &nobody;
    made.call = std::make_unique<FakeCall>(seen, parse(kRequest));
    for (const std::string& text : questions)
      REQUIRE(made.questions.add(parse(text)));
    core::ClientRequest from;
    from.upstream = "park";
    from.principal = "p";
    from.account = account;
    from.method = mcp::Method::tools_call;
    from.method_name = "tools/call";
    from.call_id = "c" + std::to_string(++made_calls);
    from.capabilities = R"({"elicitation":{}})";
    made.from = std::make_shared<const core::ClientRequest>(std::move(from));
    made.stats = &metrics::upstream_stats("park");
    return made;
  }
  std::string park(ParkedCall what, milliseconds limit = milliseconds(60000)) {
    REQUIRE_FALSE(table.refuses(server, what));
    return table.park(std::move(what), server, limit);
  }
  std::string park() { return park(call()); }
  Result<ParkedCall, PastCall> take(const std::string& state) {
    return table.take(state, "p", "park", retry_of(state));
  }
  StateFault fault(const std::string& state) {
    auto taken = take(state);
    if (!taken) return taken.error().fault;
    taken->call->cancel("it was only asked for");
    return StateFault::none;
  }
  void turn() {
    loop.defer([this] { loop.stop(); });
    loop.run();
  }

  struct Nobody final : core::CallCallbacks {
    void on_call_phase(core::CallPhase) override {}
    void on_call_message(mcp::Message&&) override {}
    void on_call_failed(const core::Failure&) override {}
  } nobody;
  net::Loop loop;
  config::Server server;
  FakeUpstream upstream{"park"};
  std::shared_ptr<ServerVersion> serves = std::make_shared<ServerVersion>(upstream, server);
  AccountPtr account = Account::of("principal p");
  std::shared_ptr<ServersCall> seen;  // of the call that was made last
  int made_calls = 0;
  std::vector<metrics::CancelInitiator> cancelled_by;
  ParkTable table{loop, [this](const ParkedCall&, metrics::CancelInitiator initiator) {
                    cancelled_by.push_back(initiator);
                  }};
};

}  // namespace

TEST_CASE("a retry gets its call, with what was asked and is not answered, once") {
  World world;
  ParkedCall parked = world.call({question("q"), question("r")});
  parked.rounds = 3;
  parked.spent = milliseconds(500);
  parked.tag = 7;
  const std::string state = world.park(std::move(parked));
  CHECK(world.seen->handed == core::Handover::parked);
  CHECK(world.serves->leases == 1);
  auto taken = world.take(state);
  REQUIRE(taken);
  CHECK(taken->call->live());
  CHECK(taken->questions.requests().size() == 2);
  CHECK(taken->rounds == 3);
  CHECK(taken->spent == milliseconds(500));
  CHECK(taken->tag == 7);
  CHECK(world.table.size() == 0);
  CHECK(world.fault(state) == StateFault::used);
  CHECK(world.cancelled_by.empty());
  taken->call->cancel("enough");
}

TEST_CASE("a call stays for its own caller, server and parameters") {
  World world;
  const std::string state = world.park();
  auto fault = [&](std::string_view principal, const std::string& upstream, const mcp::Message& retry) {
    auto taken = world.table.take(state, principal, upstream, retry);
    REQUIRE_FALSE(taken);
    return taken.error().fault;
  };
  CHECK(fault("other", "park", retry_of(state)) == StateFault::foreign);
  CHECK(fault("p", "other", retry_of(state)) == StateFault::foreign);
  CHECK(fault("p", "park", retry_of(state, "other")) == StateFault::other_call);
  CHECK(world.table.made(state, "p", "park", retry_of(state)));
  CHECK_FALSE(world.table.made("lw1.forged", "p", "park", retry_of(state)));
  CHECK(world.fault("lw1.forged") == StateFault::tampered);
  CHECK(world.table.size() == 1);
  CHECK(world.fault(state) == StateFault::none);
}

// All ways in which a call leaves the table. Each gives back what it held: the place, the bytes that count
// for limits.maxParkedBytes, those of its caller, and its lease.
TEST_CASE("what a parked call held is given back, however it leaves") {
  World world;
  world.server.limits.max_parked = 1;
  const std::string large = question("q", std::string(6000, 'x'));
  const uint64_t held_before = world.account->held();
  const auto limit = GENERATE(milliseconds(60000), milliseconds(1));
  const std::string state = world.park(world.call({large}), limit);
  const std::shared_ptr<ServersCall> call = world.seen;
  CHECK(world.account->held() > held_before + 6000);
  {
    ParkedCall second = world.call();
    auto refused = world.table.refuses(world.server, second);
    REQUIRE(refused);
    CHECK(refused->reason == EndReason::queue_full);
    CHECK(refused->text.find("limits.maxParked)") != std::string::npos);
    second.call->cancel("enough");
  }
  if (limit == milliseconds(1)) {  // its client does not come back
    while (world.table.size() > 0) {
      net::Timer look(world.loop);
      look.start(milliseconds(1), [&] { world.loop.defer([&] { world.loop.stop(); }); });
      world.loop.run();
    }
    CHECK(call->cancelled);
    CHECK(world.cancelled_by == std::vector{metrics::CancelInitiator::timeout});
    CHECK(world.fault(state) == StateFault::expired);
  } else {
    int way = GENERATE(0, 1, 2, 3, 4, 5, 6);
    CAPTURE(way);
    if (way == 0) {
      CHECK(world.fault(state) == StateFault::none);
    } else if (way == 1) {
      call->fails({EndReason::upstream_exited, "it has gone"});
      CHECK(world.fault(state) == StateFault::lost);
    } else if (way == 2) {
      CHECK(world.table.cancel("c1", "an operator"));
      CHECK(call->cancelled == "an operator");
      CHECK(world.cancelled_by == std::vector{metrics::CancelInitiator::operator_});
      CHECK(world.fault(state) == StateFault::lost);
    } else if (way == 3) {
      world.table.end_of(*world.serves, "it is served no more");
      CHECK(call->cancelled);
      CHECK(world.cancelled_by == std::vector{metrics::CancelInitiator::drain});
      CHECK(world.fault(state) == StateFault::lost);
    } else if (way == 4) {  // it is over, and its result too large to be kept
      call->answers(R"({"jsonrpc":"2.0","id":17,"result":{"content":")" + std::string(6000, 'y') + "\"}}");
      CHECK(world.fault(state) == StateFault::lost);
    } else if (way == 5) {  // its result is kept, and taken
      call->answers(kAnswer);
      auto taken = world.take(state);
      REQUIRE(taken);
      CHECK(taken->answer->bytes() == kAnswer);
    } else {  // more was asked meanwhile
      call->says(question("r", std::string(1000, 'y')));
      CHECK(world.fault(state) == StateFault::none);
    }
  }
  world.turn();
  CHECK(world.account->held() == held_before);
  CHECK(world.serves->leases == 0);
  // As large a call has room again, and its bytes with it.
  const std::string next = world.park(world.call({large}));
  CHECK(world.fault(next) == StateFault::none);
}

TEST_CASE("bytes are bounded for all calls of a server together, and other servers have their own") {
  World world;
  const std::string large = question("q", std::string(6000, 'x'));
  const std::string state = world.park(world.call({large}));
  ParkedCall second = world.call({large});
  auto refused = world.table.refuses(world.server, second);
  REQUIRE(refused);
  CHECK(refused->text.find("limits.maxParkedBytes") != std::string::npos);
  config::Server other = world.server;
  other.name = "other";
  CHECK_FALSE(world.table.refuses(other, second));
  second.call->cancel("enough");
  CHECK(world.fault(state) == StateFault::none);
}

TEST_CASE("a result that is kept for a retry takes room like what was asked") {
  World world;
  const std::string state = world.park();
  const uint64_t held = world.account->held();
  world.seen->answers(R"({"jsonrpc":"2.0","id":17,"result":{"content":")" + std::string(6000, 'y') + "\"}}");
  CHECK(world.account->held() > held + 6000);
  ParkedCall second = world.call({question("q", std::string(6000, 'x'))});
  CHECK(world.table.refuses(world.server, second));
  REQUIRE(world.take(state));
  CHECK_FALSE(world.table.refuses(world.server, second));
  second.call->cancel("enough");
}

TEST_CASE("what the server asks meanwhile waits for the next round, as far as there is room") {
  World world;
  const std::string state = world.park();
  world.seen->says(question("r"));
  world.seen->says(question("s"));
  world.seen->says(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q"}})");
  world.seen->says(R"({"jsonrpc":"2.0","method":"notifications/message","params":{"data":"x"}})");
  CHECK(world.seen->replies.empty());
  world.seen->says(question("t", std::string(20000, 'x')));
  REQUIRE(world.seen->replies.size() == 1);
  CHECK(parse(world.seen->replies[0]).raw(Field::id) == R"("t")");
  CHECK(world.seen->replies[0].find("too many questions") != std::string::npos);
  auto taken = world.take(state);
  REQUIRE(taken);
  CHECK(taken->questions.empty());
  // As they came: no plugin has judged them yet.
  std::vector<std::string> ids;
  for (const mcp::Message& one : taken->unheard)
    ids.emplace_back(one.raw(Field::id));
  CHECK(ids == std::vector<std::string>{R"("r")", R"("s")"});
  taken->call->cancel("enough");
}

TEST_CASE("what the server takes back takes no room any more") {
  World world;
  const std::string state = world.park();
  const uint64_t held = world.account->held();
  world.seen->says(question("r", std::string(6000, 'x')));
  CHECK(world.account->held() > held + 6000);
  world.seen->says(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"r"}})");
  CHECK(world.account->held() == held);
  ParkedCall second = world.call({question("q", std::string(6000, 'x'))});
  CHECK_FALSE(world.table.refuses(world.server, second));
  second.call->cancel("enough");
  auto taken = world.take(state);
  REQUIRE(taken);
  CHECK(taken->unheard.empty());
  taken->call->cancel("enough");
}

TEST_CASE(
    "a question that its client cannot be asked ends the call, and the retry is told what was missing") {
  World world;
  const std::string state = world.park();
  world.seen->says(R"({"jsonrpc":"2.0","id":"r","method":"roots/list"})");
  REQUIRE(world.seen->replies.size() == 1);
  CHECK(parse(world.seen->replies[0]).kind() == mcp::MessageKind::error);
  CHECK(world.seen->cancelled == "the client lacks the capability roots");
  auto taken = world.take(state);
  REQUIRE(taken);
  REQUIRE(taken->answer);
  CHECK(mcp::error_code(*taken->answer) == -32021);
}

TEST_CASE("a late retry is told why its call is gone, and with which server it was") {
  World world;
  const std::string state = world.park();
  world.seen->fails({EndReason::upstream_exited, "it exited with code 3"});
  for (int i = 0; i < 2; ++i) {
    auto taken = world.take(state);
    REQUIRE_FALSE(taken);
    CHECK(taken.error().fault == StateFault::lost);
    CHECK(taken.error().text == "the call is gone: it exited with code 3");
    CHECK(taken.error().server == "park");
  }
}

TEST_CASE("when the table closes all calls end, and none is parked any more") {
  World world;
  const std::string one = world.park(), two = world.park();
  const uint64_t timeouts = metrics::upstream_stats("park").park_timeouts;
  world.table.close("the gateway is stopping");
  CHECK(world.table.size() == 0);
  CHECK(world.seen->cancelled == "the gateway is stopping");
  CHECK(world.cancelled_by == std::vector(2, metrics::CancelInitiator::drain));
  CHECK(world.fault(one) == StateFault::lost);
  CHECK(world.fault(two) == StateFault::lost);
  ParkedCall late = world.call();
  auto refused = world.table.refuses(world.server, late);
  REQUIRE(refused);
  CHECK(refused->reason == EndReason::cancelled_drain);
  late.call->cancel("enough");
  CHECK(metrics::upstream_stats("park").park_timeouts == timeouts);
}

TEST_CASE("of a server that leaves only its own calls end; which form of it counts") {
  World world;
  const std::string old = world.park();
  auto next = std::make_shared<ServerVersion>(world.upstream, world.server);
  ParkedCall newer = world.call();
  newer.lease = ServerRef(next);
  const std::string state = world.park(std::move(newer));
  CHECK(world.table.count_of(world.upstream) == 2);
  world.table.end_of(*world.serves, "it is served no more");
  CHECK(world.table.count_of(world.upstream) == 1);
  CHECK(world.fault(old) == StateFault::lost);
  CHECK(world.fault(state) == StateFault::none);
}

TEST_CASE("the calls of a shared gateway's client end with its lease, and no others") {
  World world;
  const auto of = [&](const std::string& lease) {
    ParkedCall parked = world.call();
    core::ClientRequest from = *parked.from;
    from.lease = lease;
    parked.from = std::make_shared<const core::ClientRequest>(std::move(from));
    return parked;
  };
  world.server.limits.max_parked = 3;
  const std::string gone = world.park(of("one"));
  const auto its = world.seen;
  const std::string stays = world.park(of("two"));
  const std::string nobodys = world.park(of(""));
  CHECK(world.table.leases() == std::set<std::string>{"one", "two"});
  world.table.end_of_lease("one", "its client has ended");
  CHECK(its->cancelled == "its client has ended");
  CHECK(world.cancelled_by == std::vector{metrics::CancelInitiator::client});
  CHECK(world.table.leases() == std::set<std::string>{"two"});
  CHECK(world.fault(gone) == StateFault::lost);
  CHECK(world.fault(stays) == StateFault::none);
  CHECK(world.fault(nobodys) == StateFault::none);
}

TEST_CASE("people see what is parked, by name, and may end it") {
  World world;
  world.park();
  auto views = world.table.views();
  REQUIRE(views.size() == 1);
  CHECK(views[0].id == "c1");
  CHECK(views[0].upstream == "park");
  CHECK(views[0].route.empty());
  CHECK(views[0].state == CallState::input);
  CHECK_FALSE(world.table.cancel("c2", "x"));
  CHECK(world.table.cancel("c1", "x"));
  CHECK_FALSE(world.table.cancel("c1", "x"));
  CHECK(world.table.views().empty());
}

TEST_CASE("of a call at the aggregate it is known to which server it went, as long as it is there") {
  World world;
  ParkedCall parked = world.call();
  parked.routed = std::make_shared<const core::RoutedTo>(core::RoutedTo{&world.server, nullptr, "ask"});
  const core::RoutedPtr to = parked.routed;
  const std::string state = world.park(std::move(parked));
  REQUIRE(world.table.find(state, "p", "park", retry_of(state)) != nullptr);
  CHECK(world.table.find(state, "p", "park", retry_of(state))->routed == to);
  CHECK(world.table.find(state, "other", "park", retry_of(state)) == nullptr);
  CHECK(world.table.views().at(0).route == "park");
  CHECK(world.fault(state) == StateFault::none);
  CHECK(world.table.find(state, "p", "park", retry_of(state)) == nullptr);
}
