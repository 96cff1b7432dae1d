#include "proxy/exchange/session_link.h"

#include "unit/proxy/exchange/exchange_world.h"

using namespace lineward;
using namespace lineward::exchange;
using mcp::EndReason;
using mcp::Field;
using std::chrono::milliseconds;

namespace {

const std::string kCall = R"({"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"n"}})";
const std::string kList = R"({"jsonrpc":"2.0","id":6,"method":"tools/list"})";
const std::string kAnswer = R"({"jsonrpc":"2.0","id":17,"result":{}})";
const std::string kChanged = R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})";
const std::string kLog =
    R"({"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}})";

std::string question(const std::string& raw_id) {
  return R"({"jsonrpc":"2.0","id":)" + raw_id + R"(,"method":"roots/list"})";
}

std::string taken_back(const std::string& raw_id) {
  return R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":)" + raw_id + "}}";
}

std::string answer_to(const std::string& raw_id) {
  return R"({"jsonrpc":"2.0","id":)" + raw_id + R"(,"result":{"roots":[]}})";
}

// A legacy session with its link; a GET stream is what is given to it as a pipe.
struct World final : ExchangeFinder {
  ~World() {
    on = nullptr;
    link.reset();
  }

  // ExchangeFinder
  Exchange* find(core::ExchangeId id) override {
    for (const auto& one : all.exchanges) {
      if (one->id() == id && !(one->ended() && one.get() != on)) return one.get();
    }
    return nullptr;
  }
  std::vector<Exchange*> of_session(const std::string&) override {
    std::vector<Exchange*> out;
    for (const auto& one : all.exchanges) {
      if (!one->ended()) out.push_back(one.get());
    }
    return out;
  }
  Exchange* newest_to_ask(const std::string& id) override {
    Exchange* newest = nullptr;
    for (Exchange* one : of_session(id)) {
      if (one->may_have_asked()) newest = one;
    }
    return newest;
  }
  client::Session* session(const std::string& id) override { return sessions.find(id); }
  void session_lost(const std::string& id) override { lost.push_back(id); }
  std::optional<std::string> judge(const core::Scope&, mcp::Message&) override { return judgement; }

  client::Session& its_session() { return *sessions.find(session_id); }
  void open_stream() {
    its_session().use_pipe([this](const std::string& text) { stream.push_back(text); });
  }
  Exchange& call(Client& client, const std::string& request = kCall) {
    Exchange& made = all.begin(client, request, mcp::Era::legacy, session_id);
    made.on_call_phase(core::CallPhase::written);
    return made;
  }
  void says(const std::string& text, const Exchange* of = nullptr) {
    link->on_scope_message(parse(text), of != nullptr ? std::optional(of->tag()) : std::nullopt);
  }
  // As its end tells it, before the client is answered.
  void ends(Exchange& exchange, bool server_finished) {
    all.on_ending = [&](Exchange& ending) {
      on = &ending;
      link->exchange_ending(ending.id(), server_finished);
      on = nullptr;
    };
    exchange.client_left(EndReason::cancelled_client);
    all.on_ending = [](Exchange&) {};
  }
  const std::vector<std::string>& forwarded() const { return all.upstream.forwarded; }

  ExchangeWorld all;
  client::SessionTable sessions{all.loop, limits, [](const std::string&) {}};
  static inline const config::Listen limits{};
  std::string session_id = sessions.create("p", "s", nullptr)->id;
  std::vector<std::string> stream;  // what went out on the GET stream
  std::vector<std::string> lost;
  std::optional<std::string> judgement;
  Exchange* on = nullptr;  // that is ending
  std::unique_ptr<SessionLink> link = std::make_unique<SessionLink>(*this, ServerRef(all.serves), [this] {
    core::Scope scope;
    scope.session = session_id;
    scope.principal = "p";
    return scope;
  }());
};

}  // namespace

TEST_CASE("a question is put to the client under a number, and its answer goes back under the server's id") {
  World world;
  world.open_stream();
  world.says(question(R"("q")"));
  world.says(question("7"));
  REQUIRE(world.stream.size() == 2);
  CHECK(parse(world.stream[0]).raw(Field::id) == "1");
  CHECK(parse(world.stream[1]).raw(Field::id) == "2");
  world.link->answer(parse(answer_to("2")));
  world.link->answer(parse(answer_to("1.0")));
  REQUIRE(world.forwarded().size() == 2);
  CHECK(world.forwarded()[0] == answer_to("7"));
  CHECK(world.forwarded()[1] == answer_to(R"("q")"));
  // Each is answered once, and only what was asked.
  world.link->answer(parse(answer_to("1")));
  world.link->answer(parse(answer_to("3")));
  world.link->answer(parse(answer_to(R"("2")")));
  world.link->answer(parse(answer_to(R"("lw1:\"q\"")")));
  CHECK(world.forwarded().size() == 2);
}

TEST_CASE("an answer belongs to the question with that whole id") {
  World world;
  SECTION("a number") {
    world.open_stream();
    world.says(question("7"));
    REQUIRE(world.stream.size() == 1);
    for (const char* other : {"-1", "10", R"("01")", R"("lw1x:7")", R"("lw1:{")", R"("lw1:")"})
      world.link->answer(parse(answer_to(other)));
    CHECK(world.forwarded().empty());
    world.link->answer(parse(answer_to("1")));
  }
  SECTION("one with the server's own in it") {
    world.its_session().share({"s-1", "2025-11-25"});
    world.open_stream();
    world.says(question("7"));
    REQUIRE(world.stream.size() == 1);
    for (const char* other : {R"("lw1x:7")", R"("lwx:7")", R"("lw:7")", R"("lw1:{")", R"("lw1:")"})
      world.link->answer(parse(answer_to(other)));
    CHECK(world.forwarded().empty());
    world.link->answer(parse(answer_to(R"("lw1:7")")));
  }
  CHECK(world.forwarded() == std::vector{answer_to("7")});
}

TEST_CASE(
    "a question goes out on the stream of the call that it can belong to, and that call's clock stands "
    "still") {
  Client client, other;
  World world;
  world.all.server.timeouts.request = milliseconds(40);
  world.open_stream();
  Exchange& call = world.call(client);
  world.call(other, kList);
  world.says(question("7"), &call);
  REQUIRE(client.sent.size() == 1);
  CHECK(parse(client.sent[0]).raw(Field::id) == "1");
  CHECK(world.stream.empty());
  // The other one's runs out meanwhile.
  REQUIRE(world.all.wait_for([&] { return other.answer.has_value(); }));
  CHECK_FALSE(call.ended());
  SECTION("until it is answered") {
    world.link->answer(parse(answer_to("1")));
    CHECK(world.forwarded() == std::vector{answer_to("7")});
  }
  SECTION("until the server takes it back") {
    world.says(taken_back("7"));
    REQUIRE(client.sent.size() == 2);
    CHECK(client.last().method() == "notifications/cancelled");
    CHECK(client.last().raw(Field::params_request_id) == "1");
    CHECK(world.forwarded().empty());
  }
  SECTION("until the server's process has gone") {
    world.link->on_scope_reset();
    CHECK(client.last().method() == "notifications/cancelled");
    CHECK(client.last().raw(Field::params_request_id) == "1");
    CHECK(world.forwarded().empty());  // there is no server to notify
  }
  CHECK(world.all.wait_for([&] { return call.ended(); }));
  CHECK(client.answer);
}

TEST_CASE("a question that can be any call's stops the clocks of all that may be asked, and no other") {
  Client one, two, list;
  World world;
  world.all.server.timeouts.request = milliseconds(40);
  world.open_stream();
  Exchange& first = world.call(one);
  Exchange& second = world.call(two);
  world.call(list, kList);
  world.says(question("7"));
  CHECK(world.stream.size() == 1);
  CHECK(one.sent.empty());
  REQUIRE(world.all.wait_for([&] { return list.answer.has_value(); }));
  CHECK_FALSE(first.ended());
  CHECK_FALSE(second.ended());
  // It is over when the last of them is: its end takes it back.
  world.ends(first, false);
  CHECK(world.forwarded().empty());
  world.ends(second, false);
  REQUIRE(world.forwarded().size() == 1);
  CHECK(parse(world.forwarded()[0]).kind() == mcp::MessageKind::error);
  CHECK(parse(world.forwarded()[0]).raw(Field::id) == "7");
  REQUIRE(world.stream.size() == 2);
  CHECK(parse(world.stream[1]).raw(Field::params_request_id) == "1");
}

TEST_CASE("without a GET stream the newest call that may be asked carries what is said") {
  Client older, newer, list;
  World world;
  world.call(older);
  world.call(newer);
  world.call(list, kList);
  world.says(question("7"));
  world.says(kLog);
  world.says(kChanged);
  CHECK(older.sent.empty());
  CHECK(list.sent.empty());
  CHECK(newer.sent.size() == 3);
}

TEST_CASE("what is about the session goes to its GET stream though a call runs; a log line to the call") {
  Client client;
  World world;
  world.open_stream();
  Exchange& call = world.call(client);
  world.says(kChanged, &call);
  world.says(kLog, &call);
  CHECK(world.stream == std::vector{kChanged});
  CHECK(client.sent == std::vector{kLog});
  world.says(kLog);
  CHECK(world.stream == std::vector{kChanged, kLog});
}

TEST_CASE("the end of a call takes back what was asked during it, unless its server finished it") {
  Client client;
  World world;
  Exchange& call = world.call(client);
  world.says(question("7"), &call);
  SECTION("its server finished it: the answer may still come") {
    world.ends(call, true);
    CHECK(world.forwarded().empty());
    world.link->answer(parse(answer_to("1")));
    CHECK(world.forwarded() == std::vector{answer_to("7")});
  }
  SECTION("it was cancelled: its client is notified on its stream, its server gets an error") {
    world.ends(call, false);
    REQUIRE(client.sent.size() == 2);
    CHECK(client.last().raw(Field::params_request_id) == "1");
    REQUIRE(world.forwarded().size() == 1);
    CHECK(parse(world.forwarded()[0]).raw(Field::id) == "7");
    world.link->answer(parse(answer_to("1")));
    CHECK(world.forwarded().size() == 1);
  }
}

TEST_CASE("a question without a client yet waits for a stream; withdrawn, it is never shown") {
  World world;
  world.says(question("7"));
  world.says(question("8"));
  world.says(taken_back("7"));
  // Only the second question waits now, and no message about the first.
  CHECK_FALSE(world.its_session().take_back(1));
  CHECK(world.its_session().take_back(2));
  world.link->answer(parse(answer_to("1")));
  CHECK(world.forwarded().empty());
}

TEST_CASE("a question for which too much else waits is refused") {
  World world;
  world.says(question("7"));
  for (int i = 0; i < 256; ++i)
    world.says(kChanged);
  REQUIRE(world.forwarded().size() == 1);
  CHECK(parse(world.forwarded()[0]).raw(Field::id) == "7");
  CHECK(world.forwarded()[0].find("too much waits") != std::string::npos);
}

TEST_CASE("questions of a session are bounded: those of finished calls make room, others are refused") {
  Client client;
  World world;
  world.open_stream();
  Exchange& call = world.call(client);
  for (int i = 0; i < 256; ++i)
    world.says(question(std::to_string(1000 + i)), &call);
  CHECK(world.forwarded().empty());
  world.says(question("1"), &call);
  REQUIRE(world.forwarded().size() == 1);
  CHECK(parse(world.forwarded()[0]).raw(Field::id) == "1");
  CHECK(client.sent.size() == 256);
  world.ends(call, true);
  world.says(question("2"));
  REQUIRE(world.forwarded().size() == 2);
  CHECK(parse(world.forwarded()[1]).raw(Field::id) == "1000");  // the oldest
  CHECK(parse(world.stream.back()).raw(Field::id) == "257");
}

TEST_CASE("progress of a task goes on under the client's token until the process has gone") {
  World world;
  world.open_stream();
  auto progress = [](const std::string& token) {
    return R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":)" + token + "}}";
  };
  world.link->task_started("17", R"("mine")");
  world.says(progress("17"));
  CHECK(world.stream == std::vector{progress(R"("mine")")});
  world.says(progress("18"));
  world.says(progress(R"("17")"));  // its number as text is the same token
  CHECK(world.stream.size() == 2);
  for (int i = 0; i < 256; ++i)
    world.link->task_started(std::to_string(100 + i), "1");
  world.says(progress("17"));  // the oldest is forgotten
  CHECK(world.stream.size() == 2);
  world.says(progress("100"));
  CHECK(world.stream.size() == 3);
  world.link->on_scope_reset();
  world.says(progress("101"));
  CHECK(world.stream.size() == 3);
}

TEST_CASE("what a policy forbids goes no further, and a question is refused with the reason") {
  World world;
  world.open_stream();
  world.judgement = "not here";
  world.says(kChanged);
  CHECK(world.forwarded().empty());
  world.says(question("7"));
  REQUIRE(world.forwarded().size() == 1);
  CHECK(parse(world.forwarded()[0]).raw(Field::id) == "7");
  CHECK(world.forwarded()[0].find("not here") != std::string::npos);
  CHECK(world.stream.empty());
}

TEST_CASE("in a session that others serve too an id holds all that another replica has to know") {
  World world;
  world.its_session().share({"s-1", "2025-11-25"});
  world.open_stream();
  world.says(question(R"("q")"));
  REQUIRE(world.stream.size() == 1);
  const std::string shown(parse(world.stream[0]).raw(Field::id));
  CHECK(shown == R"("lw1:\"q\"")");
  world.link->answer(parse(answer_to(R"("lw1:\"other\"")")));
  world.link->answer(parse(answer_to(R"("lw9:7")")));
  world.link->answer(parse(answer_to(R"("lw9:{")")));
  CHECK(world.forwarded() == std::vector{answer_to(R"("other")"), answer_to("7")});
  world.link->answer(parse(answer_to(shown)));
  CHECK(world.forwarded().back() == answer_to(R"("q")"));
  CHECK(world.forwarded().size() == 3);
}

TEST_CASE("a session that is over can be asked and told nothing; that its server ended it is told") {
  World world;
  CHECK(world.link->is_pinned());
  world.sessions.forsake(world.its_session());
  CHECK_FALSE(world.link->is_pinned());
  world.link->on_scope_ended();
  CHECK(world.lost == std::vector{world.session_id});
  world.sessions.remove(world.session_id);
  CHECK_FALSE(world.link->is_pinned());
  world.says(kChanged);
  world.says(question("7"));
  REQUIRE(world.forwarded().size() == 1);
  CHECK(world.forwarded()[0].find("this session is over") != std::string::npos);
}
