#include "foundation/process/first_process.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <csignal>
#include <functional>
#include <string>

using namespace lineward::process;

namespace {

// A process that stands before a child which does `work`; what the child writes to the descriptor that it
// gets, until all is over.
struct Pair {
  pid_t first = -1;
  int said = -1;

  explicit Pair(const std::function<void(int)>& work) {
    std::array<int, 2> ends{};
    REQUIRE(pipe(ends.data()) == 0);
    first = fork();
    if (first == 0) {
      close(ends[0]);
      prctl(PR_SET_CHILD_SUBREAPER, 1);  // as process 1 is by nature
      stand_before_child();
      work(ends[1]);
      _exit(0);
    }
    close(ends[1]);
    said = ends[0];
  }
  ~Pair() { close(said); }

  std::string next() const {
    std::array<char, 64> bytes{};
    const ssize_t size = read(said, bytes.data(), bytes.size());
    return {bytes.data(), size > 0 ? static_cast<size_t>(size) : 0};
  }
  int end() const {
    int status = 0;
    REQUIRE(waitpid(first, &status, 0) == first);
    REQUIRE(WIFEXITED(status));
    return WEXITSTATUS(status);
  }
};

void tell(int to, const std::string& text) {
  if (write(to, text.data(), text.size()) < 0) _exit(99);
}

}  // namespace

TEST_CASE("the first process ends as its child did") {
  CHECK(Pair([](int) { _exit(78); }).end() == 78);
  CHECK(Pair([](int) { _exit(0); }).end() == 0);
  CHECK(Pair([](int) { raise(SIGKILL); }).end() == 128 + SIGKILL);
}

TEST_CASE("signals of other processes reach the child, once each") {
  Pair pair([](int said) {
    sigset_t some;
    sigemptyset(&some);
    for (int signal : {SIGTERM, SIGINT, SIGHUP, SIGUSR2})
      sigaddset(&some, signal);
    sigprocmask(SIG_BLOCK, &some, nullptr);
    tell(said, "ready");
    for (int taken = 0; taken < 4; ++taken) {
      int signal = 0;
      sigwait(&some, &signal);
      tell(said, std::to_string(signal));
    }
    sigpending(&some);
    _exit(sigismember(&some, SIGINT) + sigismember(&some, SIGTERM));
  });
  REQUIRE(pair.next() == "ready");
  for (int signal : {SIGHUP, SIGINT, SIGUSR2, SIGTERM}) {
    kill(pair.first, signal);
    CHECK(pair.next() == std::to_string(signal));
  }
  CHECK(pair.end() == 0);
}

TEST_CASE("signals work in the child as before") {
  CHECK(Pair([](int) {
          sigset_t blocked;
          sigprocmask(SIG_BLOCK, nullptr, &blocked);
          _exit(sigismember(&blocked, SIGTERM) + sigismember(&blocked, SIGCHLD));
        }).end() == 0);
}

TEST_CASE("orphans that end are waited for") {
  Pair pair([](int said) {
    std::signal(SIGTERM, SIG_DFL);  // Catch has a handler of its own
    const pid_t first = getppid();
    // An orphaned grandchild that ends belongs to the first process alone.
    const pid_t parent = fork();
    if (parent == 0) {
      const pid_t orphan = fork();
      if (orphan == 0) {
        while (getppid() != first)
          sched_yield();
        _exit(0);
      }
      tell(said, std::to_string(orphan));
      _exit(0);
    }
    waitpid(parent, nullptr, 0);
    pause();
  });
  const pid_t orphan = std::stoi(pair.next());
  while (kill(orphan, 0) == 0)
    sched_yield();  // a zombie can still be sent signals
  kill(pair.first, SIGTERM);
  CHECK(pair.end() == 128 + SIGTERM);
}
