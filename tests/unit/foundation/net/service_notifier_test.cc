#include "foundation/net/service_notifier.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "foundation/net/service_variables.h"

using lineward::net::ServiceNotifier;
using lineward::net::ServiceVariables;

namespace {

// The listener on $NOTIFY_SOCKET. The name is "/path" or "@abstract".
class Manager {
 public:
  explicit Manager(std::string name)
      : name_(std::move(name)), fd_(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    std::memcpy(at.sun_path, name_.data(), name_.size());
    if (name_[0] == '@') at.sun_path[0] = '\0';
    const size_t length = offsetof(sockaddr_un, sun_path) + name_.size() + (name_[0] == '@' ? 0 : 1);
    REQUIRE(bind(fd_, reinterpret_cast<sockaddr*>(&at), static_cast<socklen_t>(length)) == 0);
  }
  ~Manager() {
    close(fd_);
    if (name_[0] == '/') unlink(name_.c_str());
  }
  std::string heard() const {
    char text[4096];
    const ssize_t n = recv(fd_, text, sizeof text, MSG_DONTWAIT);
    return n < 0 ? "nothing" : std::string(text, static_cast<size_t>(n));
  }

 private:
  std::string name_;
  int fd_;
};

std::string abstract() {
  return fmt::format("@lineward-notify-{}", getpid());
}

}  // namespace

TEST_CASE("each message is one datagram, to a path and to an abstract name") {
  const std::string name = GENERATE(abstract(), fmt::format("/tmp/lineward-notify-{}.sock", getpid()));
  Manager manager(name);
  auto notifier = ServiceNotifier::open(name);
  REQUIRE(notifier);
  CHECK(notifier->is_heard());
  notifier->ready("serving at 127.0.0.1:8000");
  CHECK(manager.heard() == "READY=1\nSTATUS=serving at 127.0.0.1:8000");
  notifier->reloading();
  CHECK_THAT(manager.heard(), Catch::Matches("RELOADING=1\nMONOTONIC_USEC=[0-9]+"));
  notifier->alive();
  CHECK(manager.heard() == "WATCHDOG=1");
  notifier->extend_timeout(std::chrono::seconds(2));
  CHECK(manager.heard() == "EXTEND_TIMEOUT_USEC=2000000");
  notifier->stopping("3 calls left");
  CHECK(manager.heard() == "STOPPING=1\nSTATUS=3 calls left");
  CHECK(manager.heard() == "nothing");
}

TEST_CASE("a status is one line of at most 300 characters") {
  Manager manager(abstract());
  auto notifier = ServiceNotifier::open(abstract());
  notifier->status("a\nREADY=1\x1b[2J");
  CHECK(manager.heard() == "STATUS=a READY=1 [2J");
  notifier->status(std::string(5000, 'x'));
  CHECK(manager.heard() == "STATUS=" + std::string(300, 'x'));
}

TEST_CASE("without a listener nothing fails") {
  auto silent = ServiceNotifier::open("");
  REQUIRE(silent);
  CHECK_FALSE(silent->is_heard());
  silent->ready("x");
  auto why = [](const std::string& name) {
    auto opened = ServiceNotifier::open(name);
    return opened ? std::string() : opened.error().text;
  };
  CHECK(why("vsock:2:1234") == "NOTIFY_SOCKET is neither a path nor @name");
  CHECK(why("/") == "NOTIFY_SOCKET is neither a path nor @name");
  CHECK(why("/" + std::string(200, 'x')) ==
        "NOTIFY_SOCKET has 201 characters; a socket's name has at most 107");
  CHECK(why("/tmp/lineward-nobody-is-here") ==
        "NOTIFY_SOCKET: no process listens there: No such file or directory");
}

TEST_CASE("a full queue holds up nothing that is told again anyway") {
  Manager manager(abstract());
  auto notifier = ServiceNotifier::open(abstract());
  for (int k = 0; k < 20'000; ++k)
    notifier->alive();
  CHECK(manager.heard() == "WATCHDOG=1");
}

TEST_CASE("the watchdog is this process's own or none") {
  ServiceVariables of;
  auto limit = [&](const std::string& usec, const std::string& pid) {
    of.watchdog_usec = usec;
    of.watchdog_pid = pid;
    return lineward::net::watchdog_of(of).count();
  };
  CHECK(limit("30000000", "") == 30'000'000);
  CHECK(limit("30000000", std::to_string(getpid())) == 30'000'000);
  CHECK(limit("30000000", "1") == 0);
  CHECK(limit("", "") == 0);
  CHECK(limit("-5", "") == 0);
  CHECK(limit("99999999999999999999", "") == 0);
  CHECK(limit("5s", "") == 0);
}

TEST_CASE("what the service manager says is not for the servers") {
  setenv("NOTIFY_SOCKET", "@x", 1);
  setenv("LISTEN_FDS", "2", 1);
  const ServiceVariables taken = lineward::net::take_service_variables();
  CHECK(taken.notify_socket == "@x");
  CHECK(taken.listen_fds == "2");
  CHECK(std::getenv("NOTIFY_SOCKET") == nullptr);
  CHECK(std::getenv("LISTEN_FDS") == nullptr);
}
