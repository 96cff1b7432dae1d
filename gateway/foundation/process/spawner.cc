#include "foundation/process/spawner.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "foundation/base/backoff.h"
#include "foundation/process/process_tree.h"
#include "foundation/process/spawn_wire.h"
#include "foundation/process/supervisor.h"

namespace lineward::process {

namespace {

using namespace spawning;
using std::chrono::milliseconds;

// A scan of /proc may miss a process while others end, so no process must be found for this long.
constexpr Backoff::Range kSweepPauses{milliseconds(10), milliseconds(500)};
constexpr int kRequestsPerTurn = 64;

struct Kept {
  uint64_t id = 0;
  OwnedFd channel;
  pid_t command = 0;  // once started
  bool answered = false;
  bool exited = false;
  char unsent = 0;  // an order that did not fit into the supervisor's socket
};

// The process between the gateway and the supervisors. It lives until the gateway's socket closes, then until
// no process is left below it.
class SpawnerProcess {
 public:
  explicit SpawnerProcess(int socket) : socket_(socket) {}

  void run() {
    prepare();
    while (!done_)
      turn();
  }

 private:
  void prepare() {
    ::setsid();  // the gateway's terminal must not send it Ctrl-C
    ::prctl(PR_SET_NAME, "lineward-spawn");
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    // Only the socket ends this process: a signal to every process called lineward does not.
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM}) {
      ::signal(number, SIG_IGN);
    }
    ::signal(SIGCHLD, SIG_DFL);  // if inherited as ignored, exits would never be reported
    const int null = ::open("/dev/null", O_RDWR);
    if (null >= 0) {
      ::dup2(null, STDIN_FILENO);
      ::dup2(null, STDOUT_FILENO);
      // A descriptor received later must not land on a closed 2.
      if (::fcntl(STDERR_FILENO, F_GETFD) < 0) ::dup2(null, STDERR_FILENO);
    }
    close_all_except({socket_.get()});
    sigset_t mask;
    ::sigemptyset(&mask);
    ::sigaddset(&mask, SIGCHLD);
    ::sigprocmask(SIG_SETMASK, &mask, nullptr);
    signals_.reset(::signalfd(-1, &mask, SFD_NONBLOCK | SFD_CLOEXEC));
    if (!signals_.open()) ::_exit(1);  // the gateway sees its socket close
  }

  void turn() {
    std::vector<pollfd> watched;
    std::vector<pid_t> owners;
    watched.push_back({signals_.get(), POLLIN, 0});
    watched.push_back({socket_.get(), static_cast<short>(out_.empty() ? POLLIN : POLLIN | POLLOUT), 0});
    for (const auto& [pid, kept] : supervisors_) {
      if (!kept.channel.open()) continue;
      watched.push_back({kept.channel.get(), static_cast<short>(kept.unsent ? POLLIN | POLLOUT : POLLIN), 0});
      owners.push_back(pid);
    }
    ::poll(watched.data(), watched.size(), pause());

    if (watched[0].revents != 0) {
      signalfd_siginfo ignored[16];
      while (::read(signals_.get(), ignored, sizeof ignored) > 0) {
      }
    }
    for (size_t i = 0; i < owners.size(); ++i) {
      Kept& kept = supervisors_.at(owners[i]);
      if ((watched[i + 2].revents & POLLOUT) != 0 && kept.unsent != 0) order(kept, kept.unsent);
      if ((watched[i + 2].revents & ~POLLOUT) != 0) hear(kept);
    }
    reap();
    if ((watched[1].revents & (POLLHUP | POLLERR)) != 0) {
      close_down();  // requests not read yet are obsolete
    } else if ((watched[1].revents & POLLIN) != 0) {
      read_requests();
    }
    flush();
    if (sweeping_ || closing_) sweep();
  }

  int pause() {
    if (!sweeping_ && !(closing_ && supervisors_.empty())) return -1;
    const milliseconds pause = sweep_pause_;
    sweep_pause_ = Backoff::after(pause, kSweepPauses);
    return static_cast<int>(pause.count());
  }

  // ---- the gateway ----

  void read_requests() {
    for (int i = 0; i < kRequestsPerTurn; ++i) {
      std::string bytes;
      std::vector<OwnedFd> fds;
      const ssize_t n = receive_message(socket_.get(), &bytes, &fds);
      if (n < 0 && errno == EAGAIN) return;
      if (n <= 0) {
        close_down();
        return;
      }
      Request request;
      if (!decode(bytes, &request)) continue;
      if (request.kind == Request::Kind::spawn) {
        spawn(request.id, std::move(fds));
      } else {
        for (auto& [pid, kept] : supervisors_) {
          if (kept.id == request.id) order(kept, request.which);
        }
      }
    }
  }

  void tell(const Reply& reply) {
    if (!closing_) out_.push_back(encode(reply));
  }

  void tell_gone(uint64_t id) {
    Reply reply;
    reply.kind = Reply::Kind::gone;
    reply.id = id;
    tell(reply);
  }

  void tell_failed(uint64_t id, const char* step, int error) {
    Reply reply;
    reply.kind = Reply::Kind::failed;
    reply.id = id;
    reply.failure.place = step;
    reply.failure.code = error;
    tell(reply);
  }

  void tell_exited(Kept& kept, int signal, int code) {
    if (kept.exited) return;
    kept.exited = true;
    Reply reply;
    reply.kind = Reply::Kind::exited;
    reply.id = kept.id;
    reply.status.signal = signal;
    reply.status.code = code;
    tell(reply);
  }

  void flush() {
    while (!out_.empty()) {
      if (send_message(socket_.get(), out_.front()) < 0) {
        if (errno != EAGAIN && errno != ENOBUFS) close_down();
        return;
      }
      out_.pop_front();
    }
  }

  // The gateway is gone: every supervisor reads end of file and kills.
  void close_down() {
    if (closing_) return;
    closing_ = true;
    out_.clear();
    socket_.reset();
    for (auto& [pid, kept] : supervisors_) {
      kept.channel.reset();
      ::kill(pid, SIGCONT);
    }
  }

  // ---- the supervisors ----

  void spawn(uint64_t id, std::vector<OwnedFd> fds) {
    SupervisorOrder supervisor;
    supervisor.id = id;
    std::string bytes;
    if (fds.size() != kSpawnFdCount) {  // the kernel dropped descriptors over the table's limit
      refuse(id, "spawner", EMFILE);
      return;
    }
    if (!read_memfd(fds.back().get(), &bytes) || !decode(bytes, &supervisor.command)) {
      refuse(id, "spawner", EBADMSG);
      return;
    }
    for (size_t i = 0; i < kStdioCount; ++i)
      supervisor.stdio[i] = std::move(fds[i]);
    int ends[2] = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
      refuse(id, "spawner", errno);
      return;
    }
    OwnedFd ours(ends[0]);
    supervisor.channel.reset(ends[1]);
    // Without at-fork handlers: libuv's would close descriptors by old numbers, which are in use by others
    // now.
    const pid_t pid = ::_Fork();
    if (pid == 0) run_supervisor(std::move(supervisor));
    if (pid < 0) {
      refuse(id, "fork", errno);
      return;
    }
    Kept& kept = supervisors_[pid];
    kept.id = id;
    kept.channel = std::move(ours);
  }

  void refuse(uint64_t id, const char* step, int error) {
    tell_failed(id, step, error);
    tell_gone(id);
  }

  void order(Kept& kept, char which) {
    if (!kept.channel.open()) return;
    const char last = kept.unsent == static_cast<char>(TreeSignal::kill) ? kept.unsent : which;
    kept.unsent = 0;
    if (send_message(kept.channel.get(), {&last, 1}) < 0 && errno == EAGAIN) kept.unsent = last;
  }

  void hear(Kept& kept) {
    while (kept.channel.open()) {
      std::string bytes;
      const ssize_t n = receive_message(kept.channel.get(), &bytes, nullptr);
      if (n < 0 && errno == ECONNRESET)
        continue;  // reported once, when it ended with unread orders; replies follow
      if (n < 0 && errno == EAGAIN) return;
      if (n <= 0) {
        kept.channel.reset();  // SIGCHLD reports its exit
        return;
      }
      Reply reply;
      if (!decode(bytes, &reply)) continue;
      kept.answered = true;
      if (reply.kind == Reply::Kind::started) kept.command = reply.pid;
      if (reply.kind == Reply::Kind::failed || reply.kind == Reply::Kind::exited) kept.exited = true;
      tell(reply);
    }
  }

  void reap() {
    for (;;) {
      int status = 0;
      const pid_t pid = ::waitpid(-1, &status, WNOHANG);
      if (pid < 0 && errno == ECHILD && closing_) done_ = true;  // exact: no process is left below
      if (pid <= 0) return;
      const auto found = supervisors_.find(pid);
      if (found == supervisors_.end()) {
        stray_ended(pid, status);
        continue;
      }
      Kept kept = std::move(found->second);
      supervisors_.erase(found);
      hear(kept);
      kept.channel.reset();
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        tell_gone(kept.id);
      } else {
        orphaned_.push_back(std::move(kept));
        start_sweeping();
      }
    }
  }

  // ---- orphans of a killed supervisor ----

  void start_sweeping() {
    sweeping_ = true;
    clean_since_ms_ = -1;
    sweep_pause_ = kSweepPauses.first;
  }

  void stray_ended(pid_t pid, int status) {
    if (!sweeping_) start_sweeping();
    for (auto& kept : orphaned_) {
      if (kept.command != pid) continue;
      tell_exited(kept, WIFSIGNALED(status) ? WTERMSIG(status) : 0,
                  WIFEXITED(status) ? WEXITSTATUS(status) : 0);
    }
  }

  void sweep() {
    std::vector<pid_t> strays;
    if (const auto children = children_of(::getpid())) {
      for (const pid_t child : *children) {
        if (supervisors_.count(child) == 0) strays.push_back(child);
      }
      signal_trees(strays, SIGKILL);
    } else {
      for (const auto& kept : orphaned_) {
        if (kept.command > 0) ::kill(-kept.command, SIGKILL);
      }
    }
    if (!strays.empty()) {
      clean_since_ms_ = -1;
    } else if (clean_since_ms_ < 0) {
      clean_since_ms_ = now_ms();
    } else if (now_ms() - clean_since_ms_ >= kSweepPauses.first.count()) {
      end_sweeping();
    }
    reap();
  }

  void end_sweeping() {
    sweeping_ = false;
    for (auto& kept : orphaned_) {
      if (kept.answered) {
        tell_exited(kept, SIGKILL, 0);
      } else {
        tell_failed(kept.id, "spawner", ECHILD);
      }
      tell_gone(kept.id);
    }
    orphaned_.clear();
    flush();
  }

  OwnedFd socket_;
  OwnedFd signals_;
  std::map<pid_t, Kept> supervisors_;
  std::vector<Kept> orphaned_;  // their supervisor was killed; the spawner must kill their descendants
  std::deque<std::string> out_;
  bool closing_ = false;
  bool done_ = false;
  bool sweeping_ = false;
  int64_t clean_since_ms_ = -1;
  milliseconds sweep_pause_ = kSweepPauses.first;
};

// Above 2, even when the gateway was started with some of its first three descriptors closed.
int above_stdio(int fd) {
  if (fd > STDERR_FILENO) return fd;
  const OwnedFd low(fd);
  return ::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

}  // namespace

Result<int> fork_spawner(pid_t* spawner_pid) {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return fail(std::string("no socket for the spawner: ") + std::strerror(errno));
  }
  OwnedFd ours(above_stdio(ends[0]));
  OwnedFd theirs(above_stdio(ends[1]));
  if (!ours.open() || !theirs.open()) {
    return fail(std::string("no socket for the spawner: ") + std::strerror(errno));
  }
  const pid_t pid = ::fork();
  if (pid < 0) return fail(std::string("cannot fork the spawner: ") + std::strerror(errno));
  if (pid == 0) {
    SpawnerProcess(theirs.release()).run();  // closes this process's copy of the gateway's end
    ::_exit(0);
  }
  if (spawner_pid != nullptr) *spawner_pid = pid;
  return ours.release();
}

}  // namespace lineward::process
