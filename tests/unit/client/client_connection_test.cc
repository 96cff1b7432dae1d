#include "client/client_connection.h"

#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <string>

#include "net/loop.h"

using namespace lineward;
using std::chrono::milliseconds;

namespace {

// A front that answers the first request, and whose further requests are all another worker's, to which
// nothing can be moved while the answer is not out.
struct Front final : client::RequestHandler {
  explicit Front(net::Loop& its_loop) : loop(its_loop) {}
  void on_request(client::ClientConnection& connection, std::string) override {
    connection.respond(200, "text/plain", std::string(answer_bytes, 'x'));
    answered = true;
  }
  void on_closed(client::ClientConnection&) override {
    closed = true;
    loop.stop();
  }
  bool on_head(client::ClientConnection&) override { return false; }
  bool belongs_elsewhere(client::ClientConnection& connection) override {
    if (answered && connection.backlog() > 0) ++asked_with_backlog;
    return answered;
  }
  bool wants_body(const http::RequestHead&) const override { return true; }
  bool draining() const override { return false; }
  void on_full() override {}

  net::Loop& loop;
  size_t answer_bytes = 0;
  bool answered = false, closed = false;
  int asked_with_backlog = 0;
};

}  // namespace

TEST_CASE("a client that does not take its answer holds no connection that another worker waits for") {
  net::Loop loop;
  int ends[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
  const int small = 4096;
  REQUIRE(setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small) == 0);
  Front front(loop);
  front.answer_bytes = 60'000;  // more than the socket takes, and less than stops the next request
  config::Listen limits;
  limits.write_timeout = milliseconds(50);
  auto stream = net::ByteStream::from_socket(loop, ends[0]);
  REQUIRE(stream);
  {
    client::ClientConnection connection(loop, limits, front, std::move(*stream), "test");
    const std::string request = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n";
    const std::string both = request + request;
    REQUIRE(write(ends[1], both.data(), both.size()) == static_cast<ssize_t>(both.size()));
    net::Timer late(loop);
    late.start(milliseconds(5000), [&] { loop.stop(); });
    loop.run();
    CHECK(front.answered);
    CHECK(front.asked_with_backlog > 0);
    CHECK(front.closed);
  }
  close(ends[1]);
}
