#include "foundation/process/launcher.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>
#include <string>

using namespace lineward::process;

namespace {

struct Seen {
  Launcher launcher;
  bool has_variable;
  bool is_told;  // when its parent ends
};

// The environment of a child that is started with this value.
Seen in_child(const char* value) {
  const pid_t child = fork();
  if (child == 0) {
    if (value != nullptr) setenv("LINEWARD_PARENT", value, 1);
    const Launcher found = follow_launcher();
    int signal = 0;
    prctl(PR_GET_PDEATHSIG, &signal);
    const int seen = static_cast<int>(found) | (std::getenv("LINEWARD_PARENT") != nullptr ? 4 : 0) |
                     (signal == SIGTERM ? 8 : 0);
    _exit(seen);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  const int seen = WEXITSTATUS(status);
  return {static_cast<Launcher>(seen & 3), (seen & 4) != 0, (seen & 8) != 0};
}

}  // namespace

TEST_CASE("without a launcher nothing is followed") {
  const Seen seen = in_child(nullptr);
  CHECK(seen.launcher == Launcher::none);
  CHECK_FALSE(seen.is_told);
}

TEST_CASE("the launcher that started this process is followed, and its name is kept from servers") {
  const Seen seen = in_child(std::to_string(getpid()).c_str());
  CHECK(seen.launcher == Launcher::alive);
  CHECK(seen.is_told);
  CHECK_FALSE(seen.has_variable);
}

TEST_CASE("a launcher that is no parent of this process has ended before it") {
  const Seen seen = in_child(std::to_string(getppid()).c_str());
  CHECK(seen.launcher == Launcher::gone);
  CHECK_FALSE(seen.has_variable);
}

TEST_CASE("what is no process id is no launcher") {
  for (const char* text : {"", "0", "-1", "12x", " 12", "99999999999999999999", "self"}) {
    INFO(text);
    const Seen seen = in_child(text);
    CHECK(seen.launcher == Launcher::none);
    CHECK_FALSE(seen.has_variable);
    CHECK_FALSE(seen.is_told);
  }
}
