// The buffers of a legacy session: messages for a later stream, and events of streams with lost connections.
#include "proxy/client/session/session.h"

#include <list>
#include <string>
#include <utility>
#include <vector>

#include "unit/proxy/client/http/far_client.h"

using namespace lineward;
using namespace lineward::client;
using mcp::EndReason;
using std::chrono::milliseconds;

namespace {

// A connection with one request of its client, which waits for the answer.
struct Peer final : RequestHandler {
  explicit Peer(net::Loop& its_loop) : loop(its_loop) {
    client.send("GET /mcp HTTP/1.1\r\nHost: a\r\n\r\n");
    run_until(loop, [&] { return asked; });
  }
  ~Peer() {
    connection.reset();
    turn(loop);
  }
  std::unique_ptr<HttpReply> reply(HttpReply::ClientLeft gone) {
    return std::make_unique<HttpReply>(loop, *connection, ReplyOptions(), std::move(gone));
  }
  // The ids and the data of the events that came, as "1-2 text".
  std::vector<std::string> events() {
    turn(loop);
    std::vector<std::string> out;
    const std::string& all = client.received();
    for (size_t at = all.find("data: "); at != std::string::npos; at = all.find("data: ", at + 1)) {
      const size_t id = all.rfind("id: ", at);
      std::string event;
      if (id != std::string::npos && all.find('\n', id) < at && all.find("\n\n", id) > at)
        event = all.substr(id + 4, all.find('\n', id) - id - 4) + " ";
      out.push_back(event + all.substr(at + 6, all.find('\n', at) - at - 6));
    }
    return out;
  }
  void leave() {
    turn(loop);  // what it was sent goes out before
    client.leave();
    run_until(loop, [&] { return closed; });
  }
  void on_request(ClientConnection&, std::string) override { asked = true; }
  void on_http2(ClientConnection&, std::string_view) override {}
  void on_client_left(ClientConnection&) override { closed = true; }
  HeadVerdict on_head(ClientConnection& from) override {
    from.begin_head({});
    return HeadVerdict::invited;
  }
  bool draining() const override { return false; }
  void on_full() override {}

  net::Loop& loop;
  config::Listen limits;
  bool asked = false, closed = false;
  FarClient client{loop};
  std::unique_ptr<ClientConnection> connection =
      std::make_unique<ClientConnection>(loop, limits, *this, client.take_stream(), "10.0.0.1:1");
};

struct World {
  World() {
    limits.resume_window = milliseconds(60000);
    session = sessions.create("p", "s", nullptr);
  }
  ~World() {
    Account::limit_callers(0);
    for (const std::string& id : sessions.ids())
      sessions.remove(id);
    turn(loop);
    peers.clear();
  }
  Peer& peer() { return peers.emplace_back(loop); }
  // A GET stream on a connection of its own.
  Peer& get_stream() {
    Peer& at = peer();
    session->open_get_stream([&](SessionStream& stream) {
      return at.reply([&stream](EndReason why) { stream.client_left(why); });
    });
    return at;
  }
  // A POST's stream, on which something was sent.
  SessionStream& post_stream(Peer& at) {
    SessionStream& stream = session->open_post_stream([this](EndReason why) { gone.push_back(why); });
    stream.attach(at.reply([&stream](EndReason why) { stream.client_left(why); }));
    return stream;
  }
  // Its client heard one event and has left.
  SessionStream& left_stream() {
    Peer& at = peer();
    SessionStream& stream = post_stream(at);
    stream.send("a");
    at.leave();
    return stream;
  }
  void resume(SessionStream& stream, uint64_t after, Peer& at) {
    stream.resume(after, at.reply([&stream](EndReason why) { stream.client_left(why); }));
  }
  // The place where the client can go on behind this event; -1: none.
  int64_t resumable(std::string_view event_id) {
    uint64_t after = 0;
    return session->resumable(event_id, after) != nullptr ? static_cast<int64_t>(after) : -1;
  }

  net::Loop loop;
  config::Listen limits;
  std::list<Peer> peers;
  std::vector<EndReason> gone;
  SessionTable sessions{loop, limits, [](const std::string&) {}};
  Session* session = nullptr;
};

using Events = std::vector<std::string>;

}  // namespace

TEST_CASE("what waits for a stream goes out on the first one, in order, and once") {
  World world;
  for (const char* text : {"a", "b", "c"})
    CHECK(world.session->keep_for_stream(text).messages == 0);
  CHECK_FALSE(world.session->to_stream("nobody is there"));
  Peer& first = world.get_stream();
  CHECK(first.events() == Events{"1-1 a", "1-2 b", "1-3 c"});
  Peer& second = world.get_stream();
  CHECK(second.events().empty());
  // Each message goes to exactly one: the newest that is there.
  CHECK(world.session->to_stream("d"));
  CHECK(second.events() == Events{"2-1 d"});
  second.leave();
  CHECK(world.session->to_stream("e"));
  CHECK(first.events().back() == "1-4 e");
  CHECK(second.events().size() == 1);
  first.leave();
  CHECK_FALSE(world.session->to_stream("f"));
  CHECK_FALSE(world.session->has_stream());
}

TEST_CASE(
    "so much waits and no more: the oldest is dropped for the newest, and the sender of its question is "
    "notified") {
  World world;
  const auto account = Account::of("principal p");
  world.session->charge(account);
  for (int i = 1; i <= 256; ++i)
    CHECK(world.session->keep_for_stream(std::to_string(i), i % 2 == 1 ? i : 0).messages == 0);
  Session::Dropped dropped = world.session->keep_for_stream("257");
  CHECK(dropped.messages == 1);
  CHECK(dropped.questions == std::vector<int64_t>{1});
  dropped = world.session->keep_for_stream("258");
  CHECK(dropped.messages == 1);
  CHECK(dropped.questions.empty());
  // 1 MiB in all.
  const std::string large(400 << 10, 'x');
  dropped = world.session->keep_for_stream(large);
  CHECK(dropped.messages == 1);
  world.session->keep_for_stream(large, 1000);
  CHECK(account->held() > 2 * large.size());
  dropped = world.session->keep_for_stream(large);
  CHECK(dropped.messages == 255);  // all that came before the second of these
  CHECK(account->held() == 2 * large.size());
  CHECK(world.session->take_back(1000));
  CHECK_FALSE(world.session->take_back(1000));
  CHECK(account->held() == large.size());
  world.sessions.remove(world.session->id);
  turn(world.loop);
  CHECK(account->held() == 0);
}

TEST_CASE("what went out waits no more: as much may wait again") {
  World world;
  const std::string large(150 << 10, 'x');
  for (int i = 0; i < 6; ++i) {
    INFO(i);
    CHECK(world.session->keep_for_stream(large).messages == 0);
    CHECK(world.session->keep_for_stream(large).messages == 0);
    Peer& at = world.get_stream();
    run_until(world.loop, [&] { return at.client.received().size() > 2 * large.size(); });
    CHECK(at.events().size() == 2);
    at.leave();
  }
}

TEST_CASE("a message larger than all that may wait is let in alone") {
  World world;
  world.session->keep_for_stream("a");
  CHECK(world.session->keep_for_stream(std::string(2 << 20, 'x')).messages == 1);
  CHECK(world.session->keep_for_stream("b").messages == 1);
}

TEST_CASE("where its caller has no room left nothing is kept, and the question goes with it") {
  World world;
  Account::limit_callers(1000);
  world.session->charge(Account::of("principal p"));
  CHECK(world.session->keep_for_stream(std::string(300, 'x'), 1).messages == 0);
  Session::Dropped dropped = world.session->keep_for_stream(std::string(600, 'x'), 2);
  CHECK(dropped.messages == 2);
  CHECK(dropped.questions == std::vector<int64_t>{1, 2});
  CHECK_FALSE(world.session->take_back(2));
}

TEST_CASE("a question that was taken back goes out on no stream") {
  World world;
  world.session->keep_for_stream("q", 7);
  world.session->keep_for_stream("r");
  CHECK_FALSE(world.session->take_back(8));
  CHECK(world.session->take_back(7));
  CHECK(world.get_stream().events() == Events{"1-1 r"});
  CHECK_FALSE(world.session->take_back(7));
}

TEST_CASE("a stream that lost its connection goes on behind what its client has seen") {
  World world;
  Peer &first = world.peer(), &second = world.peer(), &third = world.peer();
  SessionStream& stream = world.post_stream(first);
  for (const char* text : {"a", "b", "c"})
    CHECK(stream.send(text));
  CHECK(first.events() == Events{"1-1 a", "1-2 b", "1-3 c"});
  first.leave();
  CHECK(world.gone.empty());
  CHECK(stream.send("d"));  // kept
  CHECK(world.resumable("1-1") == 1);
  CHECK(world.resumable("1-4") == 4);
  CHECK(world.resumable("1-0") == 0);
  CHECK(world.resumable("1-5") == -1);
  CHECK(world.resumable("2-1") == -1);
  for (const char* wrong : {"", "1", "-1", "1-", "1-x", "x-1", "1-1-1", "here~1-1"})
    CHECK(world.resumable(wrong) == -1);
  world.resume(stream, 2, second);
  CHECK(second.events() == Events{"1-3 c", "1-4 d"});
  // A connection that takes over while the old one still looks alive.
  world.resume(stream, 4, third);
  CHECK(stream.send("e"));
  CHECK(third.events() == Events{"1-5 e"});
  CHECK(second.events().size() == 2);
  stream.finish("end", 200);
  CHECK(third.events() == Events{"1-5 e", "1-6 end"});
  // All of it was seen: there is nothing left to resume. An earlier event can be resumed for a while.
  CHECK(world.resumable("1-6") == -1);
  CHECK(world.resumable("1-5") == 5);
  CHECK(world.gone.empty());
}

TEST_CASE(
    "a stream that ends without an answer of its own is resumed for what was sent, where anything counts") {
  World world;
  Peer& again = world.peer();
  SessionStream& stream = world.left_stream();
  CHECK(stream.send("b"));  // kept
  SECTION("the answers of others are there") {
    stream.finish_behind_sent();
    CHECK(world.resumable("1-2") == -1);  // all of it was seen
    REQUIRE(world.resumable("1-1") == 1);
    world.resume(stream, 1, again);
    CHECK(again.events() == Events{"1-2 b"});
    CHECK_FALSE(again.connection->busy());  // it has ended
    CHECK_FALSE(stream.send("c"));
  }
  SECTION("nothing does") {
    stream.finish_empty();
    CHECK(world.resumable("1-1") == -1);
  }
  CHECK(world.gone.empty());
}

TEST_CASE("a client that does not return in time is gone, once") {
  World world;
  world.limits.resume_window = milliseconds(500);
  Peer& first = world.peer();
  SessionStream& stream = world.post_stream(first);
  const uint32_t number = stream.number();
  stream.send("a");
  first.leave();
  CHECK(world.gone.empty());
  run_until(world.loop, [&] { return !world.gone.empty(); });
  CHECK(world.gone == std::vector{EndReason::cancelled_client});
  turn(world.loop);
  CHECK(world.session->find_stream(number) == nullptr);
  CHECK(world.resumable("1-1") == -1);
}

TEST_CASE("of a stream nothing can be resumed on which no id was sent, or with no window") {
  World world;
  Peer& first = world.peer();
  SECTION("no id") {
    world.post_stream(first);
  }
  SECTION("no window") {
    world.limits.resume_window = milliseconds(0);
    world.post_stream(first).send("a");
  }
  first.leave();
  CHECK(world.gone == std::vector{EndReason::cancelled_client});
}

TEST_CASE("events are kept up to a bound, and no client can resume behind a forgotten one") {
  World world;
  SessionStream& stream = world.left_stream();
  SECTION("in number") {
    for (int i = 0; i < 600; ++i)
      stream.send("x");
    CHECK(stream.events() == 512);
    CHECK(world.resumable("1-88") == -1);
    CHECK(world.resumable("1-89") == 89);
  }
  SECTION("in bytes") {
    for (int i = 0; i < 4; ++i)
      stream.send(std::string(400 << 10, 'x'));
    CHECK(stream.events() == 2);
    stream.send(std::string(3 << 20, 'x'));  // the newest stays, however large
    CHECK(stream.events() == 1);
  }
}

TEST_CASE("the events of all streams of a session have one bound: the oldest streams lose theirs first") {
  World world;
  const auto account = Account::of("principal p");
  world.session->charge(account);
  std::vector<SessionStream*> streams;
  for (int i = 0; i < 11; ++i) {
    Peer& at = world.peer();
    streams.push_back(&world.post_stream(at));
    streams.back()->send("a");
    at.leave();
    streams.back()->send(std::string(900 << 10, 'x'));
  }
  CHECK(account->held() <= (8 << 20));
  CHECK(account->held() > (7 << 20));
  CHECK(streams.front()->events() == 0);
  CHECK(streams.back()->events() == 2);
  world.sessions.remove(world.session->id);
  turn(world.loop);
  CHECK(account->held() == 0);
}

TEST_CASE("streams that ended stay a while for clients that lost their end, and so many at most") {
  World world;
  SessionStream& stream = world.left_stream();
  stream.finish("end", 200);
  CHECK(world.resumable("1-1") == 1);
  for (int i = 0; i < 127; ++i)
    world.session->open_post_stream(nullptr);
  CHECK(world.session->find_stream(1) != nullptr);
  world.session->open_post_stream(nullptr);
  turn(world.loop);
  CHECK(world.session->find_stream(1) == nullptr);
  CHECK(world.session->find_stream(2) != nullptr);  // this one has not ended
}

TEST_CASE("a session that others serve too names its place in the ids of its events") {
  World world;
  world.session->place = "here";
  Peer& at = world.peer();
  SessionStream& stream = world.post_stream(at);
  stream.send("a");
  CHECK(at.events() == Events{"here~1-1 a"});
  at.leave();
  CHECK(world.resumable("here~1-1") == 1);
  CHECK(world.resumable("there~1-1") == -1);
  CHECK(Session::place_of("here~1-1") == "here");
  CHECK(Session::place_of("1-1").empty());
}

TEST_CASE("a session is idle without calls and streams; on stdio its pipe is its stream") {
  World world;
  CHECK(world.session->idle());
  world.session->exchanges = 1;
  CHECK_FALSE(world.session->idle());
  world.session->exchanges = 0;
  Peer& stream = world.get_stream();
  CHECK_FALSE(world.session->idle());
  stream.leave();
  CHECK(world.session->idle());
  std::vector<std::string> piped;
  world.session->use_pipe([&](const std::string& text) { piped.push_back(text); });
  CHECK_FALSE(world.session->idle());
  CHECK(world.session->to_stream("a"));
  CHECK(piped == std::vector<std::string>{"a"});
}

TEST_CASE(
    "draining ends the GET streams and leaves those of calls; over HTTP+SSE, where both are one, neither") {
  World world;
  Peer& stream = world.get_stream();
  Peer& at = world.peer();
  SessionStream& of_call = world.post_stream(at);
  world.session->exchanges = 1;
  SECTION("over Streamable HTTP") {
    world.session->end_get_streams();
    CHECK_FALSE(world.session->has_stream());
  }
  SECTION("over HTTP+SSE, until its calls are over") {
    world.session->one_stream = true;
    world.session->end_get_streams();
    CHECK(world.session->has_stream());
    world.session->exchanges = 0;
    world.session->end_get_streams();
    CHECK_FALSE(world.session->has_stream());
  }
  CHECK(of_call.send("a"));
  CHECK(at.events() == Events{"2-1 a"});
  world.session->end_streams();
  CHECK_FALSE(of_call.can_send());
  CHECK(stream.events().empty());
}

TEST_CASE("the reply of a session that has ended swallows what comes") {
  World world;
  Peer& at = world.peer();
  SessionStream& stream = world.post_stream(at);
  SessionReply reply(world.sessions, world.session->id, stream.number());
  reply.send("a");
  CHECK(reply.can_send());
  CHECK(at.events() == Events{"1-1 a"});
  world.sessions.remove(world.session->id);
  turn(world.loop);
  CHECK_FALSE(reply.can_send());
  CHECK_FALSE(reply.lost());
  reply.send("b");
  reply.finish("c", 200);
  reply.finish_empty();
  CHECK(at.events().size() == 1);
}

TEST_CASE("a session is abandoned once its client has closed all connections that brought its messages") {
  World world;
  Session& session = *world.session;
  CHECK_FALSE(session.abandoned_for());  // nothing came on a connection, as on stdio
  auto first = std::make_shared<core::ConnectionEnd>(), second = std::make_shared<core::ConnectionEnd>();
  session.brought_on(first);
  session.brought_on(second);
  session.brought_on(first);
  CHECK(session.connections() == 2);
  first->by_client(world.loop.now());
  CHECK(session.connections() == 1);
  CHECK_FALSE(session.abandoned_for());
  second->by_client(world.loop.now());
  second->by_gateway();  // the first end counts
  REQUIRE(session.abandoned_for());
  CHECK(*session.abandoned_for() == milliseconds(0));
  SECTION("its client returns") {
    auto third = std::make_shared<core::ConnectionEnd>();
    session.brought_on(third);
    CHECK_FALSE(session.abandoned_for());
    third->by_client(world.loop.now());
    CHECK(session.abandoned_for());
  }
  SECTION("a connection that Lineward closed says nothing") {
    auto third = std::make_shared<core::ConnectionEnd>();
    session.brought_on(third);
    third->by_gateway();
    CHECK_FALSE(session.abandoned_for());
  }
  SECTION("another replica brings a message") {
    session.brought_on(nullptr);
    CHECK_FALSE(session.abandoned_for());
    session.brought_on(first);
    CHECK_FALSE(session.abandoned_for());
  }
  SECTION("a call runs") {
    ++session.exchanges;
    CHECK_FALSE(session.abandoned_for());
    --session.exchanges;
  }
  SECTION("a task was started") {
    session.task_started();
    CHECK_FALSE(session.abandoned_for());
  }
  SECTION("a stream of a call may be resumed") {
    world.left_stream();
    CHECK_FALSE(session.abandoned_for());
  }
  SECTION("it had a GET stream") {
    world.get_stream().leave();
    CHECK_FALSE(session.abandoned_for());
  }
  SECTION("other replicas know it") {
    session.share({});
    CHECK_FALSE(session.abandoned_for());
  }
}

TEST_CASE("the connections that a session remembers are bounded; with more it is not taken for abandoned") {
  World world;
  std::vector<core::ConnectionEndPtr> all;
  for (int i = 0; i < 200; ++i) {
    world.session->brought_on(all.emplace_back(std::make_shared<core::ConnectionEnd>()));
    CHECK(world.session->connections() <= 64);
  }
  for (const auto& one : all)
    one->by_client(world.loop.now());
  CHECK_FALSE(world.session->abandoned_for());
}
