#include "foundation/process/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "foundation/base/backoff.h"
#include "foundation/process/process_tree.h"

namespace lineward::process::spawning {

namespace {

using std::chrono::milliseconds;

constexpr int64_t kGraceMs = 500;  // time between TERM and KILL for processes that the command left behind
// Between two rounds of KILL; the end of any child cuts a pause short.
constexpr Backoff::Range kKillPauses{milliseconds(1), milliseconds(200)};

// ---- in the command's process, before exec ----

// Values from `limit` on: the resource for which setrlimit failed.
enum class Step : uint8_t { find = 1, chdir = 2, exec = 3, pipe = 4, limit = 16 };

const char* name_of(Step step) {
  switch (step) {
    case Step::find: return "find";
    case Step::chdir: return "chdir";
    case Step::exec: return "exec";
    case Step::pipe: return "pipe";
    case Step::limit: break;
  }
  const auto beyond = static_cast<uint8_t>(static_cast<uint8_t>(step) - static_cast<uint8_t>(Step::limit));
  const bool limit = step >= Step::limit && beyond < static_cast<uint8_t>(Resource::count_);
  return limit ? step_name(static_cast<Resource>(beyond)) : "exec";
}

struct StepReport {
  Step step = Step::exec;
  int error = 0;
};

[[noreturn]] void give_up(int errors, Step step, int error) {
  StepReport report;
  report.step = step;
  report.error = error;
  write_all(errors, {reinterpret_cast<const char*>(&report), sizeof report});
  ::_exit(127);
}

std::string_view search_path(const SpawnRequest& command) {
  for (const std::string_view entry : command.environment) {
    if (entry.substr(0, 5) == "PATH=") return entry.substr(5);
  }
  return "/usr/local/bin:/usr/bin:/bin";
}

int executable_error(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return errno;
  if (!S_ISREG(info.st_mode)) return EACCES;
  return ::faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

// Replaces execvp, which passes a file without a known format to a shell.
std::string find_program(const SpawnRequest& command, int errors) {
  std::string name = command.argv.empty() ? std::string() : command.argv[0];
  if (name.empty()) give_up(errors, Step::find, ENOENT);
  if (name.find('/') != std::string::npos) {
    if (const int error = executable_error(name)) give_up(errors, Step::find, error);
    return name;
  }
  int verdict = ENOENT;
  std::string_view path = search_path(command);
  for (;;) {
    const size_t colon = path.find(':');
    const std::string_view folder = path.substr(0, colon);
    std::string candidate = (folder.empty() ? "." : std::string(folder)) + "/" + name;
    const int error = executable_error(candidate);
    if (error == 0) return candidate;
    if (error == EACCES)
      verdict = EACCES;  // found, but not executable: reported when nothing better is
                         // found
    if (colon == std::string_view::npos) break;
    path.remove_prefix(colon + 1);
  }
  give_up(errors, Step::find, verdict);
}

bool has_nul(const SpawnRequest& command) {
  const auto holds_nul = [](const std::string& text) { return text.find('\0') != std::string::npos; };
  return std::any_of(command.argv.begin(), command.argv.end(), holds_nul) ||
         std::any_of(command.environment.begin(), command.environment.end(), holds_nul) ||
         holds_nul(command.cwd);
}

std::vector<char*> pointers_to(std::vector<std::string>& list) {
  std::vector<char*> pointers;
  pointers.reserve(list.size() + 1);
  for (auto& entry : list)
    pointers.push_back(entry.data());
  pointers.push_back(nullptr);
  return pointers;
}

int kernel_name(Resource resource) {
  switch (resource) {
    case Resource::memory: return RLIMIT_AS;
    case Resource::open_files: return RLIMIT_NOFILE;
    case Resource::cpu: return RLIMIT_CPU;
    case Resource::processes: return RLIMIT_NPROC;
    case Resource::core:
    case Resource::count_: break;
  }
  return RLIMIT_CORE;
}

void set_limits(const SpawnRequest& command, int errors) {
  for (const ResourceLimit& one : command.limits) {
    rlimit limit{one.value, one.value};
    // At the soft limit of CPU time the kernel sends a descriptive signal, at the hard one KILL.
    if (one.resource == Resource::cpu) ++limit.rlim_max;
    const auto step =
        static_cast<uint8_t>(static_cast<uint8_t>(Step::limit) + static_cast<uint8_t>(one.resource));
    if (::setrlimit(static_cast<__rlimit_resource>(kernel_name(one.resource)), &limit) != 0)
      give_up(errors, static_cast<Step>(step), errno);
  }
}

[[noreturn]] void become_command(SupervisorOrder& order, pid_t supervisor, int errors) {
  // If the supervisor is killed, at least the command ends with it.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != supervisor) ::_exit(127);
  ::setsid();  // own group and no terminal; all groups below it are the command's
  for (int i = 0; i < static_cast<int>(kStdioCount); ++i) {
    if (::dup2(order.stdio[i].get(), i) < 0) give_up(errors, Step::pipe, errno);
  }
  close_all_except({errors});  // `errors` is close-on-exec itself
  // By system call: the library refuses to change its two reserved signals, which may be ignored too. All
  // zero is SIG_DFL without flags or mask.
  constexpr size_t kKernelSetBytes = 8;
  const uint64_t plain[4] = {};
  for (int number = 1; number < NSIG; ++number)
    ::syscall(SYS_rt_sigaction, number, plain, nullptr, kKernelSetBytes);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);

  SpawnRequest& command = order.command;
  if (has_nul(command)) give_up(errors, Step::exec, EINVAL);
  if (!command.cwd.empty() && ::chdir(command.cwd.c_str()) != 0) give_up(errors, Step::chdir, errno);
  const std::string program = find_program(command, errors);
  const std::vector<char*> argv = pointers_to(command.argv);
  const std::vector<char*> environment = pointers_to(command.environment);
  set_limits(command, errors);  // last: the calls before it must not fail because of them
  ::execve(program.c_str(), argv.data(), environment.data());
  give_up(errors, Step::exec, errno);
}

// ---- the supervisor ----

class Supervisor {
 public:
  explicit Supervisor(SupervisorOrder order) : id_(order.id), order_(std::move(order)) {}

  void run() {
    prepare();
    start_command();
    while (!done_)
      turn();
  }

 private:
  void prepare() {
    ::prctl(PR_SET_NAME, "lineward-keep");
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    // Above all the other supervisors' channels: an end held here would hide the spawner's death from them.
    close_all_except(
        {order_.channel.get(), order_.stdio[0].get(), order_.stdio[1].get(), order_.stdio[2].get()});
    sigset_t child;
    ::sigemptyset(&child);
    ::sigaddset(&child, SIGCHLD);
    ::sigprocmask(SIG_BLOCK, &child, nullptr);
    signals_.reset(::signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC));
  }

  void start_command() {
    int ends[2] = {-1, -1};
    if (!signals_.open() || ::pipe2(ends, O_CLOEXEC) != 0) {
      tell_failure("pipe", errno);
      done_ = true;
      return;
    }
    exec_errors_.reset(ends[0]);
    OwnedFd errors(ends[1]);
    ::fcntl(exec_errors_.get(), F_SETFL, O_NONBLOCK);
    const pid_t self = ::getpid();
    command_ = ::_Fork();  // see spawner.cc
    if (command_ == 0) become_command(order_, self, errors.get());
    const int error = errno;
    for (auto& end : order_.stdio)
      end.reset();  // otherwise the gateway would never see their end of file
    if (command_ < 0) {
      tell_failure("fork", error);
      done_ = true;
    }
  }

  void turn() {
    pollfd watched[3] = {{signals_.get(), POLLIN, 0},
                         {order_.channel.get(), POLLIN, 0},  // poll skips negative descriptors
                         {exec_errors_.get(), POLLIN, 0}};
    ::poll(watched, 3, pause());
    if (watched[0].revents != 0) {
      signalfd_siginfo ignored[16];
      while (::read(signals_.get(), ignored, sizeof ignored) > 0) {
      }
    }
    if (watched[2].revents != 0) read_exec_outcome();
    if (watched[1].revents != 0) read_orders();
    reap();
    if (done_) return;
    if (command_gone_ && now_ms() >= kill_at_) killing_ = true;
    if (killing_) signal_all(SIGKILL);
  }

  int pause() {
    if (killing_) {
      pause_ = Backoff::after(pause_, kKillPauses);
      return static_cast<int>(pause_.count());
    }
    if (!command_gone_) return -1;
    return static_cast<int>(std::clamp<int64_t>(kill_at_ - now_ms(), 0, kGraceMs));
  }

  void read_orders() {
    for (;;) {
      std::string bytes;
      const ssize_t n = receive_message(order_.channel.get(), &bytes, nullptr);
      if (n < 0 && errno == EAGAIN) return;
      if (n <= 0) {  // the spawner is gone
        order_.channel.reset();
        killing_ = true;
        return;
      }
      if (bytes[0] == static_cast<char>(TreeSignal::kill)) killing_ = true;
      if (bytes[0] != static_cast<char>(TreeSignal::term)) continue;
      // Before exec the command's process still ignores TERM like the supervisor: the signal would be lost.
      if (exec_errors_.open()) {
        early_term_ = true;
      } else {
        terminate();
      }
    }
  }

  // End of file without a report: exec closed the pipe.
  void read_exec_outcome() {
    if (!exec_errors_.open()) return;
    StepReport report;
    const ssize_t n = ::read(exec_errors_.get(), &report, sizeof report);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    exec_errors_.reset();
    if (n == static_cast<ssize_t>(sizeof report)) {
      tell_failure(name_of(report.step), report.error);
      return;
    }
    started_ = true;
    Reply reply;
    reply.kind = Reply::Kind::started;
    reply.pid = command_;
    tell(reply);
    if (early_term_) terminate();
  }

  void reap() {
    for (;;) {
      int status = 0;
      const pid_t pid = ::waitpid(-1, &status, WNOHANG);
      if (pid < 0 && errno == ECHILD) {
        done_ = true;  // exact: every descendant would be a child of this process or below one
        return;
      }
      if (pid <= 0) return;
      if (pid == command_) command_ended(status);
    }
  }

  void command_ended(int status) {
    read_exec_outcome();
    command_gone_ = true;
    kill_at_ = now_ms() + kGraceMs;
    if (started_) {
      Reply reply;
      reply.kind = Reply::Kind::exited;
      if (WIFSIGNALED(status)) {
        reply.status.signal = WTERMSIG(status);
      } else {
        reply.status.code = WEXITSTATUS(status);
      }
      tell(reply);
    }
    if (!killing_) terminate();
  }

  void terminate() {
    signal_all(SIGTERM);
    signal_all(SIGCONT);  // a stopped process could not handle TERM otherwise
  }

  void signal_all(int signal) {
    if (const auto children = children_of(::getpid())) {
      signal_trees(*children, signal);
      return;
    }
    // No /proc: only the command's group is known. Its number is not reused while the group has members.
    if (::kill(-command_, signal) != 0 && !command_gone_) ::kill(command_, signal);
  }

  void tell_failure(const char* step, int error) {
    Reply reply;
    reply.kind = Reply::Kind::failed;
    reply.failure.place = step;
    reply.failure.code = error;
    const auto& argv = order_.command.argv;
    const bool by_path = !argv.empty() && argv[0].find('/') == std::string::npos;
    if (by_path && std::string_view(step) == "find") {
      reply.failure.text = std::string(search_path(order_.command));
    }
    tell(reply);
  }

  // At most three messages in its life: they always fit into the socket's buffer.
  void tell(Reply& reply) {
    reply.id = id_;
    if (order_.channel.open()) send_message(order_.channel.get(), encode(reply));
  }

  uint64_t id_;
  SupervisorOrder order_;
  OwnedFd signals_;
  OwnedFd exec_errors_;
  pid_t command_ = 0;
  bool started_ = false;
  bool command_gone_ = false;
  bool early_term_ = false;
  bool killing_ = false;
  bool done_ = false;
  int64_t kill_at_ = 0;
  milliseconds pause_ = kKillPauses.first;
};

}  // namespace

void run_supervisor(SupervisorOrder order) {
  Supervisor(std::move(order)).run();
  ::_exit(0);
}

}  // namespace lineward::process::spawning
