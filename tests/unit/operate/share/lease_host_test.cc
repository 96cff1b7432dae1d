#include "operate/share/lease_host.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>
#include <vector>

#include "foundation/net/socket_address.h"
#include "operate/share/lease_text.h"
#include "operate/share/share_place.h"
#include "unit/foundation/net/turns.h"

using namespace lineward;
using namespace std::chrono_literals;

namespace {

struct Folder {
  Folder() {
    char pattern[] = "/tmp/lineward-share-XXXXXX";
    path = mkdtemp(pattern);
  }
  ~Folder() { rmdir(path.c_str()); }
  std::string path;
};

std::string token(char digit) {
  return std::string(32, digit);
}

struct Host {
  Folder folder;
  net::Loop loop;
  std::vector<std::string> ended, named;
  int idle = 0;
  share::LeaseHost host{loop,
                        folder.path + "/k.lease",
                        {[this](const std::string& whose) { ended.push_back(whose); },
                         [this] { return named; }, [this] { ++idle; }},
                        50ms};

  int connect() {
    const int fd = net::connect_unix(folder.path + "/k.lease");
    REQUIRE(fd >= 0);
    return fd;
  }
  // A client with this answer, or without one.
  int ask(const std::string& text) {
    const int fd = connect();
    REQUIRE(::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
    return fd;
  }
  std::string answer(int fd) {
    std::string out;
    net::wait_for(loop, [&] {
      char bytes[600];
      const ssize_t n = ::read(fd, bytes, sizeof bytes);
      if (n > 0) out.append(bytes, static_cast<size_t>(n));
      return n == 0 || out.find('\n') != std::string::npos;
    });
    return out;
  }
  ~Host() {
    host.close();
    loop.close_all();
  }
};

}  // namespace

TEST_CASE("a lease lasts as long as its connection, and the gateway is idle without one") {
  Host it;
  REQUIRE(it.host.listen());
  const int one = it.ask(share::lease_request({token('1'), 0ms, 11}));
  CHECK(it.answer(one) == "granted\n");
  const int other = it.ask(share::lease_request({token('2'), 0ms, 22}));
  CHECK(it.answer(other) == "granted\n");
  CHECK(it.host.pids() == std::vector<pid_t>{11, 22});
  close(one);
  net::wait_for(it.loop, [&] { return !it.ended.empty(); });
  CHECK(it.ended == std::vector<std::string>{token('1')});
  CHECK(it.host.clients() == 1);
  CHECK(it.idle == 0);
  close(other);
  net::wait_for(it.loop, [&] { return it.idle > 0; });
  CHECK(it.ended.size() == 2);
}

TEST_CASE("a new lease stops the clock of the last one") {
  Host it;
  REQUIRE(it.host.listen());
  const int one = it.ask(share::lease_request({token('1'), 60s, 11}));
  CHECK(it.answer(one) == "granted\n");
  close(one);
  net::wait_for(it.loop, [&] { return !it.ended.empty(); });
  const int other = it.ask(share::lease_request({token('2'), 1ms, 22}));
  CHECK(it.answer(other) == "granted\n");
  CHECK(it.idle == 0);
  close(other);
  net::wait_for(it.loop, [&] { return it.idle > 0; });
}

TEST_CASE("a second lease of the same name, and what is no request, are refused") {
  Host it;
  REQUIRE(it.host.listen());
  const int one = it.ask(share::lease_request({token('1'), 0ms, 11}));
  CHECK(it.answer(one) == "granted\n");
  const int same = it.ask(share::lease_request({token('1'), 0ms, 12}));
  CHECK(it.answer(same) == "refused another client has the same name\n");
  const int other = it.ask("GET / HTTP/1.1\r\n\r\n");
  CHECK(it.answer(other) == "refused this is no request for a lease\n");
  const int endless = it.ask(std::string(share::kMaxLeaseLine * 3, 'x'));
  CHECK(it.answer(endless) == "refused this is no request for a lease\n");
  CHECK(it.host.clients() == 1);
  CHECK(it.ended.empty());
  for (const int fd : {one, same, other, endless})
    close(fd);
}

TEST_CASE("a gateway that leaves ends its leases, and its place is free") {
  Host it;
  REQUIRE(it.host.listen());
  const int one = it.ask(share::lease_request({token('1'), 0ms, 11}));
  CHECK(it.answer(one) == "granted\n");
  it.host.close();
  CHECK(it.answer(one).empty());
  CHECK(net::connect_unix(it.folder.path + "/k.lease") < 0);
  close(one);
}

TEST_CASE("one process at a time holds the lock, and files of a killed gateway are removed") {
  Folder folder;
  const std::string stem = folder.path + "/share-" + std::string(32, 'a');
  auto lock = share::take_lock(stem + ".lock");
  REQUIRE(lock);
  REQUIRE(*lock >= 0);
  auto second = share::take_lock(stem + ".lock");
  REQUIRE(second);
  CHECK(*second == -1);
  share::remove_stale(folder.path);
  struct stat status {};
  CHECK(stat((stem + ".lock").c_str(), &status) == 0);
  close(*lock);
  share::remove_stale(folder.path);
  CHECK(stat((stem + ".lock").c_str(), &status) != 0);
  REQUIRE(symlink("/tmp", (stem + ".lock").c_str()) == 0);
  CHECK_FALSE(share::take_lock(stem + ".lock"));
  unlink((stem + ".lock").c_str());
}

TEST_CASE("a session without a lease ends at the second look, and one with a lease does not") {
  Host it;
  REQUIRE(it.host.listen());
  const int fd = it.ask(share::lease_request({token('1'), 0ms, 11}));
  CHECK(it.answer(fd) == "granted\n");
  it.named = {token('1'), token('2')};
  net::wait_for(it.loop, [&] { return !it.ended.empty(); });
  CHECK(it.ended.front() == token('2'));
  it.named = {token('1')};
  CHECK(std::find(it.ended.begin(), it.ended.end(), token('1')) == it.ended.end());
  ::close(fd);
}

TEST_CASE("a gateway drains when its socket was removed") {
  Host it;
  REQUIRE(it.host.listen());
  const int fd = it.ask(share::lease_request({token('1'), 0ms, 11}));
  CHECK(it.answer(fd) == "granted\n");
  REQUIRE(unlink((it.folder.path + "/k.lease").c_str()) == 0);
  net::wait_for(it.loop, [&] { return it.idle == 1; });
  CHECK(it.ended.empty());
  ::close(fd);
}
