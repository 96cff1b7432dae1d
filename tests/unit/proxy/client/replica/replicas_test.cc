#include "proxy/client/replica/replicas.h"

#include <catch2/catch.hpp>

using namespace lineward;
using namespace lineward::client;
using Kind = Replicas::Read::Kind;
using std::chrono::seconds;

namespace {

const std::string kOne = "wuWnmEBfyR6N8Vv3eEtcwVVl1vJ9tO+Tq0xVnDk0cX4=";
const std::string kTwo = "4hRGl7oXq5dN9o4y3u0yJmB0l1mS5b2W6jvYVg0h2yQ=";
constexpr seconds kNow{1'790'000'000}, kLife{3600};
const Replicas::Sealed kSession{"0123456789abcdef0123456789abcdef",
                                {"session-of-the-server-1", "2025-11-25", {}}};

Replicas replicas(const std::string& keys, const std::string& name = "a") {
  auto made = SealKeys::parse(keys);
  REQUIRE(made);
  return {*made, name, kLife};
}

}  // namespace

TEST_CASE("a sealed id holds what another replica needs, and nothing that can be read") {
  Replicas a = replicas(kOne, "a"), b = replicas(kOne, "b");
  std::string id = a.sealed_id(kSession, "files", "alice", kNow);
  CHECK(id.find("session-of-the-server-1") == std::string::npos);
  for (char c : id)
    CHECK((c > ' ' && c < 0x7f));
  auto read = b.read(id, "files", "alice", kNow + seconds(10));
  REQUIRE(read.kind == Kind::sealed);
  CHECK(read.session.id == kSession.id);
  CHECK(read.session.state.server_session == "session-of-the-server-1");
  CHECK(read.session.state.revision == "2025-11-25");
  CHECK(id != a.sealed_id(kSession, "files", "alice", kNow));
}

TEST_CASE("a sealed id names the credentials that opened its session, or says that they are unknown") {
  Replicas a = replicas(kOne, "a"), b = replicas(kOne, "b");
  Replicas::Sealed session = kSession;
  CHECK_FALSE(b.read(a.sealed_id(session, "files", "", kNow), "files", "", kNow).session.state.authorization);
  for (const uint64_t authorization : {uint64_t{0}, uint64_t{0xfedcba9876543211}}) {
    session.state.authorization = authorization;
    const auto read = b.read(a.sealed_id(session, "files", "", kNow), "files", "", kNow);
    REQUIRE(read.kind == Kind::sealed);
    CHECK(read.session.state.authorization == authorization);
    CHECK(read.session.state.server_session == kSession.state.server_session);
  }
}

TEST_CASE("a sealed id is good for its server and its principal alone, and not for ever") {
  Replicas a = replicas(kOne);
  std::string id = a.sealed_id(kSession, "files", "alice", kNow);
  CHECK(a.read(id, "files", "bob", kNow).kind == Kind::none);
  CHECK(a.read(id, "files", "", kNow).kind == Kind::none);
  CHECK(a.read(id, "mail", "alice", kNow).kind == Kind::none);
  CHECK(a.read(id, "filesalice", "", kNow).kind == Kind::none);
  CHECK(a.read(id, "files", "alice", kNow + kLife - seconds(1)).kind == Kind::sealed);
  CHECK(a.read(id, "files", "alice", kNow + kLife).kind == Kind::none);
  CHECK(a.read(id, "files", "alice", kNow - seconds(59)).kind == Kind::sealed);
  CHECK(a.read(id, "files", "alice", kNow - seconds(61)).kind == Kind::none);
}

TEST_CASE("a sealed or tied id with any character changed, missing or added is none") {
  Replicas a = replicas(kOne), b = replicas(kOne, "b");
  for (const std::string& id : {a.sealed_id(kSession, "files", "alice", kNow), b.tied_id(kSession.id)}) {
    REQUIRE(a.read(id, "files", "alice", kNow).kind != Kind::none);
    for (size_t at = 4; at < id.size(); ++at) {
      for (char c : {'A', '_', 'x', '~', '.', '='}) {
        if (id[at] == c) continue;
        std::string changed = id;
        changed[at] = c;
        INFO(changed);
        auto read = a.read(changed, "files", "alice", kNow);
        // An id that no longer looks like ours is at most an unknown one.
        CHECK((read.kind == Kind::none || (at < 5 && read.kind == Kind::here && read.session.id == changed)));
      }
      CHECK((at < 5 || a.read(id.substr(0, at), "files", "alice", kNow).kind == Kind::none));
    }
    CHECK(a.read(id + "A", "files", "alice", kNow).kind == Kind::none);
  }
}

TEST_CASE("keys change while sessions last: the first seals, all open") {
  Replicas before = replicas(kOne), during = replicas(kTwo + "\n" + kOne), after = replicas(kTwo);
  std::string old = before.sealed_id(kSession, "files", "alice", kNow);
  CHECK(during.read(old, "files", "alice", kNow).kind == Kind::sealed);
  CHECK(after.read(old, "files", "alice", kNow).kind == Kind::none);
  std::string recent = during.sealed_id(kSession, "files", "alice", kNow);
  CHECK(after.read(recent, "files", "alice", kNow).kind == Kind::sealed);
  CHECK(during.read(before.tied_id("x"), "files", "alice", kNow).kind == Kind::here);
  CHECK(after.read(before.tied_id("x"), "files", "alice", kNow).kind == Kind::none);
}

TEST_CASE("ids have a bound: a session with a very long id from its server is not sealed") {
  Replicas a = replicas(kOne);
  Replicas::Sealed session = kSession;
  session.state.server_session = std::string(1024, 'x');
  std::string id = a.sealed_id(session, "files", "alice", kNow);
  CHECK(id.size() < Replicas::kMaxId);
  CHECK(a.read(id, "files", "alice", kNow).session.state.server_session == session.state.server_session);
  session.state.server_session = std::string(2000, 'x');
  CHECK(a.sealed_id(session, "files", "alice", kNow).empty());
  CHECK(a.read("lws1." + std::string(5000, 'A'), "files", "alice", kNow).kind == Kind::none);
}

TEST_CASE("a tied id names its replica; without a name it is the plain one") {
  Replicas a = replicas(kOne, "a"), b = replicas(kOne, "b"), nobody = replicas(kOne, "");
  std::string id = a.tied_id("0123");
  CHECK(id.rfind("lwr1~a~0123~", 0) == 0);
  auto here = a.read(id, "files", "alice", kNow), there = b.read(id, "files", "alice", kNow);
  CHECK((here.kind == Kind::here && here.session.id == "0123"));
  CHECK((there.kind == Kind::elsewhere && there.replica == "a"));
  CHECK(nobody.tied_id("0123") == "0123");
  CHECK(nobody.read(id, "files", "alice", kNow).kind == Kind::elsewhere);
  CHECK(a.read("0123", "files", "alice", kNow).kind == Kind::here);
  CHECK(replicas(kTwo, "b").read(id, "files", "alice", kNow).kind == Kind::none);
}

TEST_CASE("a passed request is known by its mark, which no outsider can make or use for another") {
  Replicas a = replicas(kOne, "a"), b = replicas(kTwo + "\n" + kOne, "b"), other = replicas(kTwo, "c");
  std::string mark = a.mark("POST", "/mcp", "{}", kNow);
  CHECK(b.is_marked(mark, "POST", "/mcp", "{}", kNow + seconds(5)));
  CHECK_FALSE(other.is_marked(mark, "POST", "/mcp", "{}", kNow));
  CHECK_FALSE(b.is_marked(mark, "GET", "/mcp", "{}", kNow));
  CHECK_FALSE(b.is_marked(mark, "POST", "/mcp/x", "{}", kNow));
  CHECK_FALSE(b.is_marked(mark, "POST", "/mcp", "{ }", kNow));
  CHECK_FALSE(b.is_marked(mark, "POST", "/mcp", "{}", kNow + seconds(61)));
  CHECK_FALSE(b.is_marked(mark, "POST", "/mcp", "{}", kNow - seconds(61)));
  for (const char* fake : {"", ".", "1790000000.", "x.y", "1790000000", "-1.AAAA"})
    CHECK_FALSE(b.is_marked(fake, "POST", "/mcp", "{}", kNow));
}

TEST_CASE("the caller of a passed request is known beside its mark, and beside no other") {
  Replicas a = replicas(kOne, "a"), b = replicas(kTwo + "\n" + kOne, "b"), other = replicas(kTwo, "c");
  const std::string mark = a.mark("POST", "/mcp", "{}", kNow);
  for (const std::string client : {"127.0.0.1:51234", "[2001:db8::1]:443", "unix"}) {
    const std::string made = a.client_mark(mark, client);
    CHECK(b.client_of(made, mark, kNow + seconds(5)) == client);
    CHECK(other.client_of(made, mark, kNow).empty());
    CHECK(b.client_of(made, mark, kNow + seconds(61)).empty());
    CHECK(b.client_of(made, a.mark("POST", "/mcp", "{ }", kNow), kNow).empty());
    CHECK(b.client_of("127.0.0.9" + made.substr(made.rfind('.')), mark, kNow).empty());
  }
  for (const std::string fake : {"", ".", "127.0.0.1:1", "127.0.0.1:1.AAAA", mark.c_str()})
    CHECK(b.client_of(fake, mark, kNow).empty());
  // Longer than any address.
  CHECK(b.client_of(a.client_mark(mark, std::string(101, '1')), mark, kNow).empty());
}
