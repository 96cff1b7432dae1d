#include "proxy/client/session/unnamed_sessions.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "proxy/core/gate.h"

using namespace lineward;
using namespace lineward::client;
using std::chrono::milliseconds;

namespace {

const std::string kNobody(core::kAnonymous);

struct Front {
  explicit Front(milliseconds unclaimed = milliseconds(50), milliseconds forsaken = milliseconds(60000)) {
    limits.max_sessions = 10000;
    sessions = std::make_unique<SessionTable>(loop, limits, [this](const std::string& id) { end(id); });
    UnnamedSessions::Patience patience;
    patience.unclaimed = unclaimed;
    patience.forsaken = forsaken;
    unnamed = std::make_unique<UnnamedSessions>(
        loop, *sessions, [this](const std::string& id) { end(id); }, patience);
  }
  ~Front() {
    unnamed.reset();
    sessions.reset();
    turn();
  }
  void end(const std::string& id) {
    ended.push_back(id);
    sessions->remove(id);
  }
  // The session of a client behind a proxy; its `initialize` is under way.
  Session& open(const void* connection = nullptr, const std::string& principal = kNobody) {
    Session* session = sessions->create(principal, "s", nullptr);
    REQUIRE(session != nullptr);
    session->exchanges = 1;
    unnamed->opened(connection, *session, 1);
    return *session;
  }
  void turn() {
    loop.defer([this] { loop.stop(); });
    loop.run();
  }
  template <class Condition>
  void until(Condition met) {
    net::Timer look(loop), limit(loop);
    std::function<void()> again = [&] { met() ? loop.stop() : look.start(milliseconds(5), again); };
    limit.start(milliseconds(20000), [&] { FAIL("it never came to be"); });
    again();
    if (!met()) loop.run();
    turn();
  }

  net::Loop loop;
  config::Listen limits;
  std::vector<std::string> ended;
  std::unique_ptr<SessionTable> sessions;
  std::unique_ptr<UnnamedSessions> unnamed;
};

}  // namespace

TEST_CASE(
    "many clients that initialise at once through a proxy keep their sessions until they can name them") {
  Front front(milliseconds(1500));  // more than this test takes until they are named
  std::vector<Session*> opened;
  for (size_t i = 0; i < 2 * UnnamedSessions::kMaxForsaken; ++i)
    opened.push_back(&front.open());
  front.turn();
  CHECK(front.ended.empty());
  for (Session* session : opened) {
    CHECK(!session->forsaken);
    session->exchanges = 0;  // answered
    front.sessions->touch(*session);
  }
  front.turn();
  CHECK(front.ended.empty());
  for (Session* session : opened) {
    CHECK(!session->forsaken);
    front.unnamed->named(*session);
  }
  front.until([&] { return front.unnamed->remembered() == 0; });
  CHECK(front.ended.empty());
  for (Session* session : opened)
    CHECK(!session->forsaken);
}

TEST_CASE("a session that its client does not name in time is forsaken, not before it was answered") {
  Front front;
  Session& slow = front.open();
  Session& quick = front.open();
  quick.exchanges = 0;
  front.sessions->touch(quick);
  front.until([&] { return quick.forsaken; });
  CHECK(!slow.forsaken);
  slow.exchanges = 0;
  front.sessions->touch(slow);
  front.until([&] { return slow.forsaken; });
  front.unnamed->named(quick);
  CHECK(!quick.forsaken);
  CHECK(front.ended.empty());
}

TEST_CASE("only so many unnamed sessions are kept") {
  Front front;
  for (size_t i = 0; i < UnnamedSessions::kMaxForsaken + 10; ++i)
    front.open().exchanges = 0;
  front.until([&] { return front.ended.size() == 10; });
  CHECK(front.sessions->size() == UnnamedSessions::kMaxForsaken);
}

TEST_CASE("a session that was taken for forsaken does not end during a call, and ends once it is over") {
  Front front(milliseconds(20), milliseconds(60));
  Session& session = front.open();
  const std::string id = session.id;
  session.exchanges = 0;
  front.until([&] { return session.forsaken; });
  session.exchanges = 1;
  front.until([&] { return !session.forsaken; });
  CHECK(front.ended.empty());
  session.exchanges = 0;
  front.sessions->touch(session);
  front.until([&] { return !front.ended.empty(); });
  CHECK(front.ended == std::vector{id});
}

TEST_CASE("on a connection that principals share no session is taken away by another principal") {
  Front front;
  int shared = 0, other = 0;
  Session& alices = front.open(&shared, "alice");
  const std::string id = alices.id;
  alices.exchanges = 0;
  alices.served_unnamed = true;
  Session& bobs = front.open(&shared, "bob");
  front.turn();
  CHECK(front.ended.empty());
  CHECK_FALSE(alices.ends_when_idle);
  CHECK_FALSE(alices.on_connection);
  CHECK(front.unnamed->find(&shared, "bob", "s", 1) == &bobs);
  front.sessions->forsake(alices);
  CHECK(front.unnamed->find(&shared, "alice", "s", 1) == &alices);
  CHECK_FALSE(alices.forsaken);
  front.unnamed->client_left(&shared);
  front.turn();
  CHECK(front.ended.empty());
  // Another one of hers takes its place.
  front.open(&other, "alice");
  front.turn();
  CHECK(front.ended == std::vector{id});
}

TEST_CASE("a session ends, once, when its principal opens another one on its connection") {
  Front front;
  int connection = 0;
  Session& session = front.open(&connection, "alice");
  const std::string id = session.id;
  session.exchanges = 0;
  session.served_unnamed = true;
  Session& next = front.open(&connection, "alice");
  front.turn();
  CHECK(front.ended == std::vector{id});
  CHECK(front.unnamed->find(&connection, "alice", "s", 1) == &next);
}

TEST_CASE("a session that is named before its last call is over does not end with that") {
  Front front;
  int connection = 0;
  Session& session = front.open(&connection);
  session.served_unnamed = true;
  front.open(&connection);  // takes its place
  CHECK(session.ends_when_idle);
  front.unnamed->named(session);
  CHECK(!session.ends_when_idle);
}

TEST_CASE("another client that gets the address of a connection that is gone gets nothing of its session") {
  Front front;
  int connection = 0;
  Session& session = front.open(&connection);
  session.exchanges = 0;
  CHECK(front.unnamed->find(&connection, kNobody, "s", 1) == &session);
  CHECK(front.unnamed->find(&connection, "alice", "s", 1) == nullptr);
  CHECK(front.unnamed->find(&connection, kNobody, "t", 1) == nullptr);
  CHECK(front.unnamed->find(&connection, kNobody, "s", 2) == nullptr);
  front.unnamed->client_left(&connection);
  CHECK(front.unnamed->find(&connection, kNobody, "s", 1) == nullptr);
}
