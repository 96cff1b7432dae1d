#include "foundation/net/std_streams.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>

using namespace lineward::net;

namespace {

struct Owner final : StreamCallbacks {
  explicit Owner(Loop& its_loop) : loop(its_loop) {}
  Loop& loop;
  std::string got;
  int ends = 0;
  int error = 0;
  void on_data(std::string_view bytes) override { got += bytes; }
  void on_end(int its_error) override {
    ++ends;
    error = its_error;
    loop.stop();
  }
};

bool non_blocking(int fd) {
  return (fcntl(fd, F_GETFL) & O_NONBLOCK) != 0;
}

}  // namespace

TEST_CASE("one socket as both: read, written, and blocking again afterwards") {
  int ends[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  Loop loop;
  Owner owner(loop);
  {
    StdStreams streams(loop, owner);
    REQUIRE(streams.open(ends[0], ends[0]).has_value());
    CHECK(non_blocking(ends[0]));
    streams.start_reading();
    streams.write("hello");
    REQUIRE(write(ends[1], "abc", 3) == 3);
    shutdown(ends[1], SHUT_WR);
    loop.run();
    CHECK(owner.got == "abc");
    CHECK(owner.ends == 1);
    CHECK(owner.error == 0);
    char bytes[8] = {};
    CHECK(read(ends[1], bytes, sizeof bytes) == 5);
  }
  CHECK_FALSE(non_blocking(ends[0]));
  loop.close_all();
  close(ends[0]);
  close(ends[1]);
}

TEST_CASE("files are read to their end and written at once") {
  char name[] = "/tmp/lineward-streams-XXXXXX";
  int file = mkstemp(name);
  REQUIRE(file >= 0);
  std::string text(200'000, 'x');
  REQUIRE(write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  int in = open(name, O_RDONLY);
  Loop loop;
  Owner owner(loop);
  {
    StdStreams streams(loop, owner);
    REQUIRE(streams.open(in, file).has_value());
    streams.start_reading();
    loop.run();
    CHECK(owner.got == text);
    CHECK(owner.ends == 1);
    streams.write("more");
    CHECK(streams.backlog() == 0);
  }
  CHECK(lseek(file, 0, SEEK_END) == 200'004);
  loop.close_all();
  close(in);
  close(file);
  unlink(name);
}

TEST_CASE("a reader that is gone is told once, and a closed descriptor at the start") {
  int pipes[2], input[2];
  REQUIRE(pipe(pipes) == 0);
  REQUIRE(pipe(input) == 0);
  close(pipes[0]);
  signal(SIGPIPE, SIG_IGN);
  Loop loop;
  Owner owner(loop);
  {
    StdStreams streams(loop, owner);
    REQUIRE(streams.open(input[0], pipes[1]).has_value());
    streams.start_reading();
    streams.write("lost");
    loop.run();
    CHECK(owner.ends == 1);
    CHECK(owner.error < 0);
    StdStreams closed(loop, owner);
    CHECK_FALSE(closed.open(-1, pipes[1]).has_value());
  }
  loop.close_all();
  for (int fd : {pipes[1], input[0], input[1]})
    close(fd);
}
