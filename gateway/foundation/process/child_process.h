// Children as the gateway sees them: three byte streams and an exit. The spawner does all the work
// (spawner.h). Everything here lives on the worker's loop thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "foundation/base/result.h"
#include "foundation/net/loop.h"
#include "foundation/process/resource_limits.h"
#include "foundation/process/start_line.h"

namespace lineward::process {

struct SpawnRequest {
  std::vector<std::string> argv;         // argv[0] is looked up in PATH of `environment` when it has no slash
  std::vector<std::string> environment;  // complete: "NAME=value"
  std::string cwd;                       // empty: the gateway's
  std::vector<ResourceLimit> limits;     // for the command and its descendants
};

struct ExitStatus {
  int code = 0;  // when signal == 0
  int signal = 0;
};

enum class TreeSignal : char { term = 'T', kill = 'K' };  // to the process group and to every descendant

class Spawner;

// A started command. Its owner may destroy it while the command runs, which kills the whole tree. The
// descriptors are ends of pipes (never sockets: servers re-open /dev/stdin), close-on-exec, non-blocking; the
// owner wraps them in a ByteStream and closes them.
class ChildProcess {
 public:
  // Called once each, from the loop, never from inside start(): started or failed, later exited. `exited` is
  // called when the command itself is gone; its descendants are being killed by then. No callback after
  // destruction.
  // The error of `failed`: `place` is the step, such as "find", "chdir", "exec", "fork", "pipe", "spawner" or
  // "rlimit.memory". `code` is the errno. `text` is the PATH that was searched, if any.
  struct Events {
    std::function<void(pid_t pid)> started;
    std::function<void(const Error&)> failed;
    std::function<void(ExitStatus)> exited;
  };
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Valid from start() on; -1 after they were taken.
  int take_stdin() { return std::exchange(fds_[0], -1); }
  int take_stdout() { return std::exchange(fds_[1], -1); }
  int take_stderr() { return std::exchange(fds_[2], -1); }
  pid_t pid() const { return pid_; }  // 0 until started
  bool running() const { return running_; }
  void signal(TreeSignal which);

 private:
  friend class Spawner;
  ChildProcess(Spawner& spawner, uint64_t id, Events events)
      : spawner_(spawner), id_(id), events_(std::move(events)) {}
  Spawner& spawner_;
  uint64_t id_;
  Events events_;
  int fds_[3] = {-1, -1, -1};
  pid_t pid_ = 0;
  bool running_ = true;
};

// The gateway's end of a spawner's socket. Each worker owns one; it outlives all its ChildProcess objects.
class Spawner {
 public:
  // Takes ownership of the descriptor of fork_spawner(). `lost` is called once when the spawner died: the
  // gateway cannot continue.
  static Result<std::unique_ptr<Spawner>> create(net::Loop& loop, int socket, std::function<void()> lost);
  ~Spawner();
  Spawner(const Spawner&) = delete;
  Spawner& operator=(const Spawner&) = delete;

  // Never blocks on the spawner. Fails only for lack of descriptors or when the request is too large to send
  // (limit named in the error); everything else arrives through `events`.
  Result<std::unique_ptr<ChildProcess>> start(const SpawnRequest& request, ChildProcess::Events events);
  // The number of commands that the spawner still holds, including any with live descendants.
  size_t live() const;
  // The queue of commands that Lineward starts without a waiting call.
  StartLine& own_starts() { return own_starts_; }

 private:
  friend class ChildProcess;
  struct State;
  explicit Spawner(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
  StartLine own_starts_;
};

}  // namespace lineward::process
