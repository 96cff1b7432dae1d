// A client at the other end of a socket pair, for tests of what stands between its bytes and its requests;
// and the least that can take its requests.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "foundation/net/byte_stream.h"
#include "foundation/net/loop.h"
#include "proxy/client/http/client_connection.h"

namespace lineward::client {

class FarClient {
 public:
  // `buffer`: what the kernel keeps of answers that are not read; 0: as usual.
  explicit FarClient(net::Loop& loop, int buffer = 0) {
    int ends[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
    if (buffer > 0) REQUIRE(setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer) == 0);
    far_ = ends[1];
    auto stream = net::ByteStream::from_socket(loop, ends[0]);
    REQUIRE(stream);
    near_ = std::move(*stream);
  }
  ~FarClient() { leave(); }
  FarClient(const FarClient&) = delete;
  FarClient& operator=(const FarClient&) = delete;

  // Lineward's end, once.
  std::unique_ptr<net::ByteStream> take_stream() { return std::move(near_); }
  void send(const std::string& bytes) {
    REQUIRE(write(far_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  }
  void leave() {
    if (far_ >= 0) ::close(std::exchange(far_, -1));
  }
  // All that it was sent so far.
  const std::string& received() {
    char buffer[4096];
    ssize_t got = 0;
    while ((got = read(far_, buffer, sizeof buffer)) > 0)
      received_.append(buffer, static_cast<size_t>(got));
    if (got == 0 || errno == ECONNRESET) closed_ = true;
    return received_;
  }
  // Lineward has closed the connection.
  bool closed() {
    received();
    return closed_;
  }

 private:
  int far_ = -1;
  std::unique_ptr<net::ByteStream> near_;
  std::string received_;
  bool closed_ = false;
};

// Runs the loop until that is so.
inline void run_until(net::Loop& loop, const std::function<bool()>& met) {
  net::Timer look(loop), limit(loop);
  std::function<void()> again = [&] {
    if (met()) return loop.stop();
    look.start(std::chrono::milliseconds(5), again);
  };
  limit.start(std::chrono::milliseconds(60000), [&] { FAIL("it never came to be"); });
  look.start(std::chrono::milliseconds(0), again);
  loop.run();
}

// Frees what was retired.
inline void turn(net::Loop& loop) {
  loop.defer([&] { loop.stop(); });
  loop.run();
}

// Hands each request of one connection to a function, and answers it unless that did.
struct Requests final : RequestHandler {
  explicit Requests(std::function<void(ClientConnection&)> its_look) : look(std::move(its_look)) {}
  ~Requests() {
    connection.reset();
    turn(loop);
  }
  void ask(const std::string& path, const std::string& headers = {}) {
    const int before = seen;
    client.send("POST " + path + " HTTP/1.1\r\nHost: a\r\n" + headers + "Content-Length: 0\r\n\r\n");
    run_until(loop, [&] { return seen > before; });
  }
  void on_request(ClientConnection& from, std::string) override {
    look(from);
    ++seen;
    if (from.busy()) from.respond(204, {}, {});
  }
  void on_http2(ClientConnection&, std::string_view) override {}
  void on_client_left(ClientConnection&) override {}
  HeadVerdict on_head(ClientConnection& from) override {
    from.begin_head({});
    return HeadVerdict::invited;
  }
  bool draining() const override { return false; }
  void on_full() override {}

  std::function<void(ClientConnection&)> look;
  int seen = 0;
  net::Loop loop;
  config::Listen limits;
  FarClient client{loop};
  std::unique_ptr<ClientConnection> connection =
      std::make_unique<ClientConnection>(loop, limits, *this, client.take_stream(), "10.0.0.1:1");
};

}  // namespace lineward::client
