#include "foundation/net/byte_stream.h"

#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <functional>
#include <vector>

#include "unit/foundation/net/tcp_pair.h"
#include "unit/foundation/net/turns.h"

using namespace lineward;
using namespace lineward::net;

namespace {

// Two ends of a TCP connection: one of them a stream, the other for the test to read and write.
struct Pair {
  int far = -1;
  std::unique_ptr<ByteStream> near;
  // `room`: what the kernel keeps for either end, as far as it lets itself be told; 0: as usual.
  explicit Pair(Loop& loop, int room = 0) {
    const TcpPair ends = connect_pair(room);
    far = ends.far;
    auto stream = ByteStream::from_socket(loop, ends.near);
    REQUIRE(stream);
    near = std::move(*stream);
  }
  ~Pair() {
    if (far >= 0) ::close(far);
  }
  void reset() {
    linger at_once{1, 0};
    setsockopt(far, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    ::close(far);
    far = -1;
  }
};

struct Owner final : StreamCallbacks {
  std::string got;
  int ended = 1;  // the error once it has ended
  int drained = 0;
  std::function<void()> on_bytes = [] {};
  std::function<void()> at_end = [] {};
  std::function<void()> when_drained = [] {};
  void on_data(std::string_view bytes) override {
    got += bytes;
    on_bytes();
  }
  void on_end(int error) override {
    ended = error;
    at_end();
  }
  void on_drained() override {
    ++drained;
    when_drained();
  }
};

// Bytes in which each place is told from its neighbours.
std::string pattern(size_t size) {
  std::string out(size, '\0');
  for (size_t i = 0; i < size; ++i)
    out[i] = static_cast<char>('a' + (i * 7 + i / 251) % 26);
  return out;
}

// Until a test stops it, or it has failed.
void run(Loop& loop, milliseconds at_most = milliseconds(60000)) {
  Timer guard(loop);
  guard.start(at_most, [&] { loop.stop(); });
  loop.run();
}

}  // namespace

TEST_CASE("what a socket does not take at once is sent when there is room, in order") {
  Loop loop;
  Pair pair(loop);
  Owner owner;
  pair.near->set_owner(&owner);
  const std::string sent = pattern(24 << 20);
  const size_t first = 20 << 20;
  pair.near->write(sent.substr(0, first));
  for (size_t at = first; at < sent.size(); at += 64 << 10)
    pair.near->write(sent.substr(at, 64 << 10));
  std::string got;
  std::vector<char> buffer(1 << 20);
  Timer take(loop);
  std::function<void()> next = [&] {
    const ssize_t n = recv(pair.far, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (n > 0) got.append(buffer.data(), static_cast<size_t>(n));
    if (got.size() == sent.size()) return loop.stop();
    take.start(milliseconds(n > 0 ? 0 : 1), next);
  };
  // Until the socket has taken what it takes.
  std::function<void()> begun = [&] {
    if (pair.near->sent() == 0) return take.start(milliseconds(1), begun);
    CHECK(pair.near->backlog() > 0);
    CHECK(owner.drained == 0);
    CHECK(pair.near->sent() + pair.near->backlog() == sent.size());
    next();
  };
  take.start(milliseconds(0), begun);
  run(loop);
  CHECK(got == sent);
  CHECK(owner.drained == 1);
  CHECK(pair.near->backlog() == 0);
  pair.near->close();
  loop.close_all();
}

// A Unix socket's rest goes through libuv, which tells when it is done.
TEST_CASE("what a Unix socket did not take at once waits no more when it is sent") {
  Loop loop;
  int ends[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  auto stream = ByteStream::from_socket(loop, ends[0]);
  REQUIRE(stream);
  ByteStream& near = **stream;
  Owner owner;
  near.set_owner(&owner);
  const std::string sent = pattern(8 << 20);
  size_t got = 0;
  std::vector<char> buffer(1 << 20);
  Timer take(loop);
  std::function<void()> next = [&] {
    const ssize_t n = recv(ends[1], buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (n > 0) got += static_cast<size_t>(n);
    take.start(milliseconds(n > 0 ? 0 : 1), next);
  };
  owner.when_drained = [&] { loop.stop(); };
  for (int round = 1; round <= 2; ++round) {
    near.write(sent);
    CHECK(near.backlog() == sent.size());
    next();
    run(loop);
    CHECK(owner.drained == round);
    CHECK(near.backlog() == 0);
  }
  near.close();
  loop.close_all();
  ::close(ends[1]);
}

TEST_CASE("the last words before a reset are read, then the error is told") {
  Loop loop;
  Pair pair(loop);
  Owner owner;
  pair.near->set_owner(&owner);
  REQUIRE(::send(pair.far, "last words", 10, 0) == 10);
  pair.reset();
  owner.at_end = [&] { loop.stop(); };
  pair.near->start_reading();
  run(loop);
  CHECK(owner.got == "last words");
  CHECK(owner.ended == -ECONNRESET);
  pair.near->close();
  loop.close_all();
}

TEST_CASE("a reset is reported to an owner that only writes") {
  Loop loop;
  Pair pair(loop);
  Owner owner;
  pair.near->set_owner(&owner);
  pair.near->write(pattern(24 << 20));
  Timer later(loop);
  std::function<void()> begun = [&] {
    if (pair.near->sent() == 0) return later.start(milliseconds(1), begun);
    CHECK(pair.near->backlog() > 0);
    pair.reset();
  };
  later.start(milliseconds(0), begun);
  owner.at_end = [&] { loop.stop(); };
  run(loop);
  CHECK(owner.ended < 0);
  CHECK(pair.near->backlog() == 0);
  pair.near->close();
  loop.close_all();
}

// Its owner may keep it after the end, for an answer that is being sent.
TEST_CASE("a reset after the end drops what waits, and is told as drained") {
  Loop loop;
  Pair pair(loop);
  Owner owner;
  pair.near->set_owner(&owner);
  pair.near->write(pattern(24 << 20));
  pair.near->start_reading();
  Timer later(loop);
  std::function<void()> begun = [&] {
    if (pair.near->sent() == 0) return later.start(milliseconds(1), begun);
    shutdown(pair.far, SHUT_WR);
  };
  later.start(milliseconds(0), begun);
  owner.at_end = [&] {
    CHECK(owner.ended == 0);
    CHECK(pair.near->backlog() > 0);
    pair.reset();
  };
  owner.when_drained = [&] { loop.stop(); };
  run(loop);
  CHECK(owner.ended == 0);
  CHECK(owner.drained == 1);
  CHECK(pair.near->backlog() == 0);
  pair.near->close();
  loop.close_all();
}

TEST_CASE("a stream that waits for its next turn can be moved, one that holds bytes cannot") {
  Loop loop;
  Pair pair(loop);
  Owner owner;
  pair.near->set_owner(&owner);
  pair.near->start_reading();
  std::string_view rest;
  int fd = -1;
  owner.on_bytes = [&] {
    pair.near->put_back(rest);
    fd = pair.near->detach(nullptr);
    loop.stop();
  };
  SECTION("no bytes") {}
  SECTION("some") {
    rest = "st";
  }
  REQUIRE(::send(pair.far, "first", 5, 0) == 5);
  run(loop);
  CHECK((fd >= 0) == rest.empty());
  if (fd >= 0) ::close(fd);
  pair.near->close();
  loop.close_all();
}

TEST_CASE("an owner that pauses, closes or destroys a stream with more to read is left alone") {
  Loop loop;
  Pair pair(loop);
  Owner owner;
  pair.near->set_owner(&owner);
  int room = 4 << 20;
  setsockopt(pair.far, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
  const std::string sent = pattern(256 << 10);  // several full buffers
  size_t taken = 0;
  Timer give(loop), later(loop);
  std::function<void()> more = [&] {
    const ssize_t n = ::send(pair.far, sent.data() + taken, sent.size() - taken, MSG_DONTWAIT);
    if (n > 0) taken += static_cast<size_t>(n);
    if (taken < sent.size()) give.start(milliseconds(1), more);
  };
  more();
  pair.near->start_reading();
  SECTION("pauses") {
    size_t seen = 0;
    owner.on_bytes = [&] {
      pair.near->pause_reading();
      seen = owner.got.size();
      if (seen == sent.size()) return loop.stop();
      later.start(milliseconds(2), [&] {
        CHECK(owner.got.size() == seen);
        pair.near->start_reading();
      });
    };
    run(loop);
    CHECK(owner.got == sent);
  }
  SECTION("closes") {
    owner.on_bytes = [&] {
      pair.near->close();
      loop.stop();
    };
    run(loop);
    CHECK(owner.ended == 1);
  }
  SECTION("destroys") {
    owner.on_bytes = [&] {
      pair.near.reset();
      loop.stop();
    };
    run(loop);
    CHECK(owner.ended == 1);
  }
  if (pair.near) pair.near->close();
  loop.close_all();
}

TEST_CASE("what waits on one stream is read in portions, and other streams have their turn between them") {
  Loop loop;
  const std::string sent = pattern(3 << 20);
  const int room = 4 << 20;
  Pair pairs[2] = {Pair(loop, room), Pair(loop, room)};
  Owner owners[2];
  std::vector<std::pair<int, size_t>> turns;  // the stream, and its bytes in a row
  for (int i : {0, 1}) {
    pairs[i].near->set_owner(&owners[i]);
    owners[i].on_bytes = [&, i, before = size_t{0}]() mutable {
      const size_t more = owners[i].got.size() - before;
      before = owners[i].got.size();
      if (turns.empty() || turns.back().first != i) turns.emplace_back(i, 0);
      turns.back().second += more;
      if (owners[0].got.size() == sent.size() && owners[1].got.size() == sent.size()) loop.stop();
    };
  }
  // As much as the kernel takes waits on both before either is read; the rest follows meanwhile.
  size_t taken[2] = {};
  Timer give(loop);
  std::function<void()> more = [&] {
    for (int i : {0, 1}) {
      const ssize_t n =
          ::send(pairs[i].far, sent.data() + taken[i], sent.size() - taken[i], MSG_DONTWAIT | MSG_NOSIGNAL);
      if (n > 0) taken[i] += static_cast<size_t>(n);
    }
    if (taken[0] < sent.size() || taken[1] < sent.size()) give.start(milliseconds(1), more);
  };
  more();
  for (Pair& pair : pairs)
    pair.near->start_reading();
  run(loop);
  give.stop();
  for (int i : {0, 1}) {
    CHECK(owners[i].got == sent);
    CHECK(owners[i].ended == 1);
  }
  REQUIRE(turns.size() > 1);
  CHECK(turns[0].second <= size_t{1} << 20);
  for (Pair& pair : pairs)
    pair.near->close();
  loop.close_all();
}

TEST_CASE("ending the writes leaves the reading") {
  Loop loop;
  Pair pair(loop);
  Owner owner;
  pair.near->set_owner(&owner);
  pair.near->start_reading();
  pair.near->write("question");
  pair.near->end_writes();
  std::string asked;
  Timer answer(loop);
  std::function<void()> look = [&] {
    // This loop writes it: a wait for it here would never end.
    char bytes[16];
    const ssize_t n = recv(pair.far, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n > 0) asked.append(bytes, static_cast<size_t>(n));
    if (n != 0) return answer.start(milliseconds(1), look);
    CHECK(::send(pair.far, "answer", 6, 0) == 6);
    ::shutdown(pair.far, SHUT_WR);
  };
  answer.start(milliseconds(1), look);
  owner.at_end = [&] { loop.stop(); };
  run(loop);
  CHECK(asked == "question");
  CHECK(owner.got == "answer");
  CHECK(owner.ended == 0);
  pair.near->close();
  loop.close_all();
}

TEST_CASE(
    "what an owner puts back comes again in the next turn, before anything else, and the end after it") {
  Loop loop;
  for (bool tcp : {true, false}) {
    int far = -1;
    std::unique_ptr<ByteStream> near;
    std::unique_ptr<Pair> pair;
    if (tcp) {
      pair = std::make_unique<Pair>(loop);
      far = pair->far;
      near = std::move(pair->near);
    } else {
      int ends[2];
      REQUIRE(::pipe(ends) == 0);
      far = ends[1];
      auto stream = ByteStream::from_pipe(loop, ends[0]);
      REQUIRE(stream);
      near = std::move(*stream);
    }
    struct Taker final : StreamCallbacks {
      ByteStream* stream = nullptr;
      std::vector<std::string> got;
      std::vector<uint64_t> turns;
      bool ended = false;
      Loop& loop;
      explicit Taker(Loop& its) : loop(its) {}
      void on_data(std::string_view bytes) override {
        got.emplace_back(bytes.substr(0, 4));
        turns.push_back(loop.turn());
        if (bytes.size() > 4) stream->put_back(bytes.substr(4));
      }
      void on_end(int) override { ended = true; }
    } taker(loop);
    taker.stream = near.get();
    near->set_owner(&taker);
    near->start_reading();
    REQUIRE(::write(far, "aaaabbbbccccddddeeee", 20) == 20);
    REQUIRE(wait_for(loop, [&] { return taker.got.size() >= 2; }));
    near->pause_reading();
    const size_t before = taker.got.size();
    turn(loop);
    turn(loop);
    CHECK(taker.got.size() == before);
    REQUIRE(::write(far, "ffff", 4) == 4);
    if (tcp) {
      ::shutdown(far, SHUT_WR);
    } else {
      ::close(far);
    }
    near->start_reading();
    REQUIRE(wait_for(loop, [&] { return taker.ended; }));
    CHECK(taker.got == std::vector<std::string>{"aaaa", "bbbb", "cccc", "dddd", "eeee", "ffff"});
    // Turns are counted from one request for events to the next: what is given again comes right before it.
    for (size_t i = 2; i < taker.turns.size(); ++i)
      CHECK(taker.turns[i] > taker.turns[i - 2]);
    near.reset();
  }
}
