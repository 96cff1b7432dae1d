// A spawner with a loop for tests of child processes, and a look into /proc for what is left of them.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "foundation/net/loop.h"
#include "foundation/process/child_process.h"
#include "foundation/process/process_tree.h"
#include "foundation/process/spawner.h"

namespace child_test {

using namespace lineward;
using namespace lineward::process;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kTimeout{60};  // of a busy machine; only a hang takes it

inline std::string contents(const std::string& path) {
  std::string text;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  char block[4096];
  for (ssize_t n = 0; fd >= 0 && (n = read(fd, block, sizeof block)) > 0;)
    text.append(block, static_cast<size_t>(n));
  if (fd >= 0) close(fd);
  return text;
}

inline std::vector<std::string> entries(const std::string& folder) {
  std::vector<std::string> names;
  DIR* directory = opendir(folder.c_str());
  if (directory == nullptr) return names;
  while (const dirent* entry = readdir(directory)) {
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  closedir(directory);
  return names;
}

inline size_t open_fds(pid_t pid = getpid()) {
  return entries("/proc/" + std::to_string(pid) + "/fd").size();
}

inline bool is_alive(pid_t pid) {  // a zombie is not
  const std::string stat = contents("/proc/" + std::to_string(pid) + "/stat");
  const size_t name_end = stat.rfind(')');
  return name_end != std::string::npos && stat.size() > name_end + 2 && stat[name_end + 2] != 'Z';
}

// How many processes have `tag` in their command line.
inline int tagged(const std::string& tag) {
  int count = 0;
  for (const auto& name : entries("/proc")) {
    if (name[0] < '0' || name[0] > '9') continue;
    if (contents("/proc/" + name + "/cmdline").find(tag) != std::string::npos) ++count;
  }
  return count;
}

// An argument for sleep that no other process has.
inline std::string new_tag() {
  static int next = 0;
  return "98765." + std::to_string(getpid()) + "00" + std::to_string(++next);
}

// Without a loop: for what other processes do.
inline bool wait_for(const std::function<bool()>& condition, std::chrono::milliseconds limit = kTimeout) {
  const auto deadline = Clock::now() + limit;
  while (!condition()) {
    if (Clock::now() > deadline) return false;
    poll(nullptr, 0, 2);
  }
  return true;
}

// While it lives, what loses its parent becomes the test's: none_left() then knows exactly.
class Reaper {
 public:
  Reaper() { prctl(PR_SET_CHILD_SUBREAPER, 1); }
  ~Reaper() {
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }
  static bool none_left() {
    pid_t reaped = 0;
    do {
      reaped = waitpid(-1, nullptr, WNOHANG);
    } while (reaped > 0);
    return reaped < 0 && errno == ECHILD;
  }
};

struct Run {
  std::unique_ptr<ChildProcess> child;
  std::string out;
  std::string err;
  bool out_ended = false;
  bool err_ended = false;
  int calls = 0;
  std::optional<pid_t> started;
  std::optional<Error> failed;
  std::optional<ExitStatus> exited;
  int in = -1;
  int fds[2] = {-1, -1};

  ~Run() {
    for (const int fd : {in, fds[0], fds[1]}) {
      if (fd >= 0) close(fd);
    }
  }
  void read_all() {
    drain(fds[0], &out, &out_ended);
    drain(fds[1], &err, &err_ended);
  }
  static void drain(int fd, std::string* text, bool* ended) {
    char block[65536];
    while (!*ended) {
      const ssize_t n = read(fd, block, sizeof block);
      if (n < 0 && errno == EAGAIN) return;
      if (n <= 0) *ended = true;
      if (n > 0) text->append(block, static_cast<size_t>(n));
    }
  }
  void close_in() {
    close(in);
    in = -1;
  }
  bool over() const { return (exited || failed) && out_ended && err_ended; }
};

using Runs = std::vector<std::unique_ptr<Run>>;

class Family {
 public:
  Family() {
    auto created = Spawner::create(loop, socket_, [this] { ++lost; });
    spawner = std::move(created.value());
  }
  ~Family() {
    spawner.reset();
    loop.close_all();
    // The spawner ends when nothing is left below it, and not before.
    int status = 0;
    const bool ended = wait_for([&] { return waitpid(spawner_pid, &status, WNOHANG) != 0; });
    CHECK(ended);
    if (!spawner_killed) CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  }

  std::unique_ptr<Run> launch(std::vector<std::string> argv, std::vector<std::string> environment = {kPath},
                              std::string cwd = "") {
    auto run = std::make_unique<Run>();
    Run* to = run.get();
    auto child = spawner->start({std::move(argv), std::move(environment), std::move(cwd)}, events_for(to));
    if (!child) return nullptr;
    adopt(to, std::move(child.value()));
    return run;
  }
  static ChildProcess::Events events_for(Run* to) {
    ChildProcess::Events events;
    events.started = [to](pid_t pid) { to->started = pid, ++to->calls; };
    events.failed = [to](const Error& failure) { to->failed = failure, ++to->calls; };
    events.exited = [to](ExitStatus status) { to->exited = status, ++to->calls; };
    return events;
  }
  static void adopt(Run* to, std::unique_ptr<ChildProcess> child) {
    to->child = std::move(child);
    to->in = to->child->take_stdin();
    to->fds[0] = to->child->take_stdout();
    to->fds[1] = to->child->take_stderr();
  }

  // Turns the loop until the condition holds.
  bool until(const std::function<bool()>& condition) {
    const auto deadline = Clock::now() + kTimeout;
    net::Timer tick(loop);
    bool held = false;
    std::function<void()> look = [&] {
      held = condition();
      if (held || Clock::now() > deadline) {
        loop.stop();
      } else {
        tick.start(lineward::net::milliseconds(1), look);
      }
    };
    tick.start(lineward::net::milliseconds(0), look);
    loop.run();
    return held;
  }
  bool until_over(Run& run) {
    return until([&] {
      run.read_all();
      return run.over();
    });
  }
  bool until_gone() {
    return until([&] { return spawner->live() == 0; });
  }

  static constexpr const char* kPath = "PATH=/usr/local/bin:/usr/bin:/bin";
  pid_t spawner_pid = 0;

 private:
  int socket_ = fork_spawner(&spawner_pid).value();  // before the loop

 public:
  int lost = 0;
  bool spawner_killed = false;  // by the test, which has waited for it
  net::Loop loop;
  std::unique_ptr<Spawner> spawner;
};

class TempFolder {
 public:
  TempFolder() {
    char path[] = "/tmp/lineward-test-XXXXXX";
    if (mkdtemp(path) != nullptr) path_ = path;
  }
  ~TempFolder() {
    for (const auto& name : entries(path_))
      unlink((path_ + "/" + name).c_str());
    rmdir(path_.c_str());
  }
  std::string write(const std::string& name, const std::string& text, mode_t mode) const {
    const std::string file = path_ + "/" + name;
    std::ofstream(file) << text;
    chmod(file.c_str(), mode);
    return file;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace child_test
