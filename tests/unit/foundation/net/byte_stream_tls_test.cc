#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>

#include "foundation/net/byte_stream.h"
#include "foundation/net/tls_session.h"
#include "unit/foundation/net/made_certificate.h"
#include "unit/foundation/net/tcp_pair.h"
#include "unit/foundation/net/test_tls_client.h"
#include "unit/foundation/net/turns.h"

using namespace lineward;
using namespace lineward::net;

namespace {

struct TlsOwner final : StreamCallbacks {
  std::string got;
  int ended = 1;  // the error once it has ended
  int drained = 0;
  int secured = 0;
  std::function<void()> on_bytes = [] {};
  void on_data(std::string_view bytes) override {
    got += bytes;
    on_bytes();
  }
  void on_end(int error) override { ended = error; }
  void on_drained() override { ++drained; }
  void on_secured() override { ++secured; }
};

TlsListenerPtr test_listener() {
  static const MadeCertificate made("one", "DNS:one.test");
  TlsListenerOptions options;
  options.certificates = {made.read()};
  options.tickets = std::make_shared<TicketKeys>();
  auto listener = TlsListener::make(std::move(options));
  REQUIRE(listener);
  return *listener;
}

// A stream that speaks TLS, and its client.
struct TlsPair {
  int far = -1;
  std::unique_ptr<ByteStream> near;
  TlsOwner owner;
  TestTlsClient client;
  std::string unsent;  // of the client
  bool far_ended = false;

  explicit TlsPair(Loop& loop, int room = 0) {
    const TcpPair ends = connect_pair(room);
    far = ends.far;
    auto stream = ByteStream::from_socket(loop, ends.near);
    REQUIRE(stream);
    near = std::move(*stream);
    REQUIRE(near->speak_tls(TlsSession::accept(test_listener())));
    near->set_owner(&owner);
    near->start_reading();
  }
  ~TlsPair() { close_far(); }
  void close_far() {
    if (far >= 0) ::close(far);
    far = -1;
  }
  // Moves bytes between the client and its socket. Reads nothing unless `reads`.
  void pump(bool reads = true) {
    unsent += client.take();
    if (!unsent.empty()) {
      const ssize_t sent = send(far, unsent.data(), unsent.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent > 0) unsent.erase(0, static_cast<size_t>(sent));
    }
    if (!reads) return;
    static char bytes[256 * 1024];
    for (ssize_t n = 0; (n = recv(far, bytes, sizeof bytes, MSG_DONTWAIT)) >= 0;) {
      if (n == 0) {
        far_ended = true;
        break;
      }
      client.feed({bytes, static_cast<size_t>(n)});
    }
    unsent += client.take();
  }
  bool until(Loop& loop, const std::function<bool()>& done, bool reads = true) {
    return wait_for(loop, [&] {
      pump(reads);
      return done();
    });
  }
  void secure(Loop& loop) {
    REQUIRE(until(loop, [&] { return client.open() && owner.secured == 1; }));
  }
};

std::string tls_pattern(size_t size) {
  std::string out(size, '\0');
  for (size_t i = 0; i < size; ++i)
    out[i] = static_cast<char>('a' + (i * 7 + i / 251) % 26);
  return out;
}

}  // namespace

TEST_CASE("a stream that speaks TLS: plain bytes for its owner") {
  Loop loop;
  TlsPair pair(loop);
  pair.secure(loop);
  CHECK(pair.near->tls()->version() == "TLSv1.3");
  pair.client.write("request");
  CHECK(pair.until(loop, [&] { return pair.owner.got == "request"; }));
  pair.near->write("an");
  pair.near->write("swer");
  CHECK(pair.until(loop, [&] { return pair.client.got == "answer"; }));
  CHECK(pair.owner.drained > 0);
  CHECK(pair.near->backlog() == 0);
  SECTION("the end of the writes is a close_notify and a FIN") {
    pair.near->write("last");
    pair.near->end_writes();
    CHECK(pair.until(loop, [&] { return pair.far_ended; }));
    CHECK(pair.client.got == "answerlast");
    CHECK(pair.client.ended);
    CHECK_FALSE(pair.client.failed);
  }
  SECTION("a stream that is closed says so") {
    pair.near->close();
    CHECK(pair.until(loop, [&] { return pair.far_ended; }));
    CHECK(pair.client.ended);
  }
  SECTION("a client that ends with close_notify") {
    pair.client.write("more");
    pair.client.end();
    CHECK(pair.until(loop, [&] { return pair.owner.ended == 0; }));
    CHECK(pair.owner.got == "requestmore");
  }
  SECTION("a client that ends with a FIN alone") {
    pair.close_far();
    CHECK(wait_for(loop, [&] { return pair.owner.ended == 0; }));
  }
  SECTION("a client that resets") {
    linger at_once{1, 0};
    setsockopt(pair.far, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    pair.close_far();
    CHECK(wait_for(loop, [&] { return pair.owner.ended == UV_ECONNRESET; }));
  }
  SECTION("broken records") {
    pair.unsent = std::string("\x17\x03\x03\x00\x20", 5) + std::string(32, 'x');
    CHECK(pair.until(loop, [&] { return pair.owner.ended != 1; }));
    CHECK(pair.owner.ended == UV_EPROTO);
    CHECK(pair.until(loop, [&] { return pair.client.failed || pair.far_ended; }));
  }
  pair.near->close();
  loop.close_all();
}

TEST_CASE("a stream that speaks TLS: a slow reader, in order and counted") {
  Loop loop;
  TlsPair pair(loop, 64 * 1024);
  pair.secure(loop);
  const int drained = pair.owner.drained;
  const std::string sent = tls_pattern(16 << 20);
  for (size_t at = 0; at < sent.size(); at += 100'000)
    pair.near->write(sent.substr(at, 100'000));
  CHECK(pair.until(
      loop, [&] { return pair.near->sent() > 64 * 1024; }, false));
  const size_t backlog = pair.near->backlog();
  CHECK(backlog > (4 << 20));  // the kernel takes 4 MiB, and more
  CHECK(backlog < sent.size() + (64 << 10));
  CHECK(pair.owner.drained == drained);
  CHECK(pair.until(loop, [&] { return pair.client.got.size() == sent.size(); }));
  CHECK(pair.client.got == sent);
  CHECK(pair.until(loop, [&] { return pair.owner.drained == drained + 1; }));
  CHECK(pair.near->backlog() == 0);
  pair.near->close();
  loop.close_all();
}

TEST_CASE("a stream that speaks TLS: large input, pauses, and what is put back") {
  Loop loop;
  TlsPair pair(loop);
  pair.secure(loop);
  const std::string sent = tls_pattern(4 << 20);
  size_t turns = 0, at = 0;
  std::string got;
  // 10,000 bytes a turn.
  pair.owner.on_bytes = [&] {
    ++turns;
    std::string all = std::move(pair.owner.got);
    pair.owner.got.clear();
    const size_t taken = std::min<size_t>(all.size(), 10'000);
    got += all.substr(0, taken);
    if (taken < all.size()) pair.near->put_back(std::string_view(all).substr(taken));
  };
  for (at = 0; at < sent.size(); at += 1 << 20)
    pair.client.write(std::string_view(sent).substr(at, 1 << 20));
  CHECK(pair.until(loop, [&] { return got.size() >= (1 << 20); }));
  pair.near->pause_reading();
  const size_t paused = got.size();
  for (int i = 0; i < 10; ++i)
    turn(loop);
  CHECK(got.size() == paused);
  pair.near->start_reading();
  CHECK(pair.until(loop, [&] { return got.size() == sent.size(); }));
  CHECK(got == sent);
  CHECK(turns >= sent.size() / 10'000);
  pair.near->close();
  loop.close_all();
}

TEST_CASE("a stream that speaks TLS moves to another loop") {
  Loop here, there;
  TlsPair pair(here);
  std::unique_ptr<TlsSession> session;
  CHECK(pair.near->detach(&session) == -1);  // in the handshake
  pair.secure(here);
  REQUIRE(pair.until(here, [&] { return pair.near->backlog() == 0; }));
  CHECK(pair.near->detach() == -1);  // it would lose its session
  pair.client.write("first");
  REQUIRE(pair.until(here, [&] { return pair.owner.got == "first"; }));
  pair.near->write("one");
  REQUIRE(pair.until(here, [&] { return pair.client.got == "one"; }));
  const int fd = pair.near->detach(&session);
  REQUIRE(fd >= 0);
  REQUIRE(session);
  CHECK(pair.near->closed());
  auto moved = ByteStream::from_socket(there, fd);
  REQUIRE(moved);
  TlsOwner next;
  REQUIRE((*moved)->speak_tls(std::move(session)));
  (*moved)->set_owner(&next);
  (*moved)->start_reading();
  pair.client.write("second");
  CHECK(pair.until(there, [&] { return next.got == "second"; }));
  (*moved)->write("two");
  CHECK(pair.until(there, [&] { return pair.client.got == "onetwo"; }));
  CHECK(next.secured == 0);
  CHECK_FALSE(pair.client.ended);
  (*moved)->close();
  there.close_all();
  here.close_all();
}

TEST_CASE("HTTP without TLS on a stream that speaks TLS is answered, and ends") {
  Loop loop;
  TlsPair pair(loop);
  const std::string request = "GET /mcp HTTP/1.1\r\nHost: x\r\n\r\n";
  REQUIRE(send(pair.far, request.data(), request.size(), 0) == static_cast<ssize_t>(request.size()));
  REQUIRE(wait_for(loop, [&] { return pair.owner.ended != 1; }));
  CHECK(pair.owner.ended == UV_EPROTO);
  CHECK(pair.near->tls()->fault() == "the client spoke HTTP without TLS");
  pair.near->close();
  std::string answer;
  char bytes[4096];
  for (ssize_t n = 0; (n = recv(pair.far, bytes, sizeof bytes, 0)) > 0;)
    answer.append(bytes, static_cast<size_t>(n));
  CHECK(answer.find("HTTP/1.1 400 Bad Request\r\n") == 0);
  CHECK(answer.find("This port speaks TLS") != std::string::npos);
  loop.close_all();
}

TEST_CASE("a stream that speaks TLS may end in each of its callbacks") {
  Loop loop;
  TlsPair pair(loop);
  pair.owner.on_bytes = [&] { pair.near.reset(); };
  pair.secure(loop);
  pair.client.write("one");
  REQUIRE(pair.until(loop, [&] { return !pair.near; }));
  CHECK(pair.owner.got == "one");
  loop.close_all();
}

TEST_CASE("bytes that were put back before TLS are its first ones") {
  Loop loop;
  const TcpPair ends = connect_pair();
  auto made = ByteStream::from_socket(loop, ends.near);
  REQUIRE(made);
  std::unique_ptr<ByteStream> near = std::move(*made);
  TlsOwner owner;
  // Takes two bytes that are no TLS, and puts back what follows in the same piece.
  struct First final : StreamCallbacks {
    std::function<void(std::string_view)> on_bytes;
    void on_data(std::string_view bytes) override { on_bytes(bytes); }
    void on_end(int) override {}
  } first;
  first.on_bytes = [&](std::string_view bytes) {
    REQUIRE(bytes.size() > 2);
    near->put_back(bytes.substr(2));
    near->set_owner(nullptr);
    REQUIRE(near->speak_tls(TlsSession::accept(test_listener())));
    near->set_owner(&owner);
    near->start_reading();
  };
  near->set_owner(&first);
  near->start_reading();
  TestTlsClient client;
  std::string out = "xy" + client.take();
  REQUIRE(wait_for(loop, [&] {
    if (!out.empty() && send(ends.far, out.data(), out.size(), MSG_NOSIGNAL) > 0) out.clear();
    char bytes[16 * 1024];
    const ssize_t n = recv(ends.far, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n > 0) client.feed({bytes, static_cast<size_t>(n)});
    if (client.open() && owner.secured == 0) client.write("hello");
    out += client.take();
    return owner.got == "hello";
  }));
  CHECK(owner.secured == 1);
  near->close();
  ::close(ends.far);
}
