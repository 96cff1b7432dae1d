#include "operate/share/lease_keeper.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "foundation/base/backoff.h"
#include "foundation/log/log.h"
#include "foundation/net/socket_address.h"
#include "foundation/process/spawn_wire.h"
#include "operate/cli/exit_codes.h"
#include "operate/share/lease_text.h"

namespace lineward::share {
namespace {

using process::spawning::close_all_except;
using process::spawning::OwnedFd;
using process::spawning::write_all;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// While another process starts the gateway, and while a gateway is leaving.
constexpr milliseconds kLook{10};
constexpr Backoff::Range kStarts{milliseconds(100), milliseconds(5000)};
// The length of an error text that the gateway writes before it is ready.
constexpr size_t kMaxText = 64 * 1024;
// From the fork of a gateway until clients can reach it.
constexpr milliseconds kStartLimit{20'000};
// The client's process waits that much longer than its keeper.
constexpr milliseconds kSlack{2000};

constexpr int code(cli::ExitCode exit) {
  return static_cast<int>(exit);
}

class Deadline {
 public:
  explicit Deadline(milliseconds limit) : end_(steady_clock::now() + limit) {}
  int left() const {
    const auto left = std::chrono::duration_cast<milliseconds>(end_ - steady_clock::now());
    return static_cast<int>(std::clamp<int64_t>(left.count(), 0, 1'000'000'000));
  }
  bool over() const { return left() == 0; }

 private:
  steady_clock::time_point end_;
};

// Whether it is readable, or at its end, by then.
bool readable(int fd, const Deadline& deadline) {
  pollfd one{fd, POLLIN, 0};
  int ready = 0;
  do {
    ready = poll(&one, 1, deadline.left());
  } while (ready < 0 && errno == EINTR && !deadline.over());
  return ready > 0;
}

ssize_t read_some(int fd, char* to, size_t size) {
  ssize_t n = 0;
  do {
    n = ::read(fd, to, size);
  } while (n < 0 && errno == EINTR);
  return n;
}

// The started gateway writes its process id into its pipe, then text. A zero byte is followed by one of
// these.
enum class Mark : char { ready = 'r', exited = 'x' };

class Keeper {
 public:
  Keeper(KeeperPlan plan, const ServeShared& serve, int client)
      : plan_(std::move(plan)), serve_(serve), client_(client) {}

  [[noreturn]] void run() {
    prepare();
    auto failed = take_lease();
    report(failed);
    if (failed) _exit(0);
    // A gateway that ends again and again is started ever more rarely.
    Backoff backoff;
    for (;;) {
      backoff.stood(now());
      wait_for_loss();
      log::write(log::Level::warn, "share.lost", {{"then", "looking for another gateway"}});
      if (backoff.is_good(now())) backoff.reset();
      if (backoff.tries() > 0) wait_for_client(backoff.pause(now(), kStarts));
      while (auto again = take_lease()) {
        log::write(log::Level::error, "share.failed", {{"why", again->text}});
        wait_for_client(backoff.pause(now(), kStarts));
      }
      if (backoff.tries() == 0) backoff.pause(now(), kStarts);  // only counted
    }
  }

 private:
  static milliseconds now() {
    return std::chrono::duration_cast<milliseconds>(steady_clock::now().time_since_epoch());
  }

  // The client's own signals and streams are not the keeper's.
  void prepare() {
    prctl(PR_SET_NAME, "lineward-lease");
    // Also if it is stopped. The client may have ended already: then the socket is at its end.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM})
      ::signal(number, SIG_IGN);
    ::signal(SIGCHLD, SIG_DFL);
    const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0) {
      // With the client's own streams its host would never see their end.
      report(
          failure(cli::ExitCode::internal, fmt::format("cannot open /dev/null: {}", std::strerror(errno))));
      _exit(0);
    }
    close_all_except({client_.get()});
  }

  // Whether `fd` is readable, or at its end, by then. Ends with the client.
  bool readable_for_client(int fd, const Deadline& deadline) {
    for (;;) {
      pollfd both[] = {{client_.get(), POLLIN, 0}, {fd, POLLIN, 0}};
      const int ready = poll(both, 2, deadline.left());
      if (ready > 0 && both[0].revents != 0) _exit(0);
      if (ready > 0) return true;
      if (ready == 0 || errno != EINTR || deadline.over()) return false;
    }
  }

  void report(const std::optional<Error>& failed) {
    if (failed) log::tell(failed->text);
    const char exit = static_cast<char>(failed ? failed->code : 0);
    if (!write_all(client_.get(), std::string_view(&exit, 1))) _exit(0);
  }

  // Returns when the gateway is gone; ends with the client.
  void wait_for_loss() {
    for (;;) {
      pollfd both[] = {{client_.get(), POLLIN, 0}, {lease_.get(), POLLIN, 0}};
      if (poll(both, 2, -1) < 0 && errno != EINTR) _exit(0);
      if (both[0].revents != 0) _exit(0);
      char ignored[64];
      if (both[1].revents != 0 && read_some(lease_.get(), ignored, sizeof ignored) <= 0) break;
    }
    lease_.reset();
  }

  void wait_for_client(milliseconds pause) {
    if (readable(client_.get(), Deadline(pause))) _exit(0);
  }

  // An error's code is the exit code; its text is a sentence, or what the gateway itself has written.
  Error failure(cli::ExitCode exit, const std::string& text) {
    return {.text = fmt::format("lineward: {}\n", text), .code = code(exit)};
  }

  // Nullopt: the lease is there.
  std::optional<Error> take_lease() {
    Deadline deadline(plan_.limit);
    const Deadline whole(plan_.limit + kLeaseLimit);
    std::optional<Error> failed;
    uint32_t starts = 0;
    while (!deadline.over()) {
      switch (ask(deadline, failed)) {
        case Asked::granted: return std::nullopt;
        case Asked::refused: return failed;
        case Asked::busy: wait_for_client(kLook); continue;
        case Asked::nobody: break;
      }
      if (deadline.over()) break;
      // A gateway holds the lock from before its fork to its end: the next one starts after its servers
      // ended.
      auto lock = take_lock(plan_.place.lock);
      if (!lock)
        return failure(cli::ExitCode::temporary, "no shared gateway can be started: " + lock.error().text);
      if (*lock < 0) {
        wait_for_client(kLook);
        continue;
      }
      OwnedFd held(*lock);
      remove_stale(plan_.place.directory);
      // The one before was ready, and ended before it granted a lease.
      if (starts > 0) wait_for_client(Backoff::doubled(kStarts, starts - 1));
      ++starts;
      if (auto not_started = start()) {
        // The lock file of a running gateway was removed, by a cleaner of temporary files for example.
        if (ask(deadline, failed) == Asked::granted) return std::nullopt;
        return not_started;
      }
      if (!whole.over()) deadline = Deadline(plan_.limit);
    }
    return failure(
        cli::ExitCode::temporary,
        fmt::format("the shared gateway did not answer within {} ms (timeouts.startup); its log is {}",
                    plan_.limit.count(), plan_.place.log));
  }

  // `nobody`: there is no gateway, or it is leaving. `busy`: more clients connect at once than it has taken
  // yet.
  enum class Asked : uint8_t { granted, refused, busy, nobody };
  Asked ask(const Deadline& deadline, std::optional<Error>& failed) {
    OwnedFd fd(net::connect_unix(plan_.place.lease));
    if (!fd.open()) return errno == EAGAIN ? Asked::busy : Asked::nobody;
    ucred peer{};
    socklen_t size = sizeof peer;
    const bool known = getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
    if (!known || peer.uid != geteuid()) {
      failed = failure(cli::ExitCode::no_permission,
                       fmt::format("{} belongs to another user's process", plan_.place.lease));
      return Asked::refused;
    }
    const std::string request = lease_request({plan_.token, plan_.linger, getppid()});
    if (::send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(request.size()))
      return Asked::nobody;
    std::string line;
    while (line.find('\n') == std::string::npos && line.size() < kMaxLeaseLine) {
      if (!readable_for_client(fd.get(), deadline)) return Asked::nobody;  // the caller's deadline is over
      char bytes[kMaxLeaseLine];
      const ssize_t n = read_some(fd.get(), bytes, sizeof bytes);
      if (n <= 0) return Asked::nobody;
      line.append(bytes, static_cast<size_t>(n));
    }
    auto answer = read_lease_answer(std::string_view(line).substr(0, line.find('\n')));
    if (answer && answer->granted) {
      lease_ = std::move(fd);
      return Asked::granted;
    }
    failed = failure(cli::ExitCode::temporary, "the shared gateway refuses this client: " +
                                                   (answer ? answer->why : "it answers otherwise"));
    return Asked::refused;
  }

  std::optional<Error> start() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
      return failure(cli::ExitCode::internal,
                     fmt::format("no pipe for the shared gateway: {}", std::strerror(errno)));
    OwnedFd told(ends[0]), tells(ends[1]);
    std::fflush(stderr);
    const pid_t between = fork();
    if (between < 0)
      return failure(cli::ExitCode::internal,
                     fmt::format("cannot fork the shared gateway: {}", std::strerror(errno)));
    if (between == 0) {
      setsid();
      const pid_t gateway = fork();
      if (gateway != 0) _exit(gateway < 0 ? 1 : 0);
      become_gateway(std::move(tells));
    }
    int status = 0;
    while (waitpid(between, &status, 0) < 0 && errno == EINTR) {
    }
    tells.reset();
    return follow_start(told.get(), Deadline(kStartLimit + kSlack));
  }

  std::optional<Error> follow_start(int pipe, const Deadline& deadline) {
    pid_t gateway = 0;
    constexpr size_t kMarkBytes = 3;
    std::string text;
    size_t mark = std::string::npos;
    bool ended = false;
    while (!ended && mark == std::string::npos && text.size() < kMaxText &&
           readable_for_client(pipe, deadline)) {
      char bytes[4096];
      const ssize_t n = read_some(pipe, bytes, sizeof bytes);
      ended = n <= 0;
      if (!ended) text.append(bytes, static_cast<size_t>(n));
      const size_t zero = text.find('\0', sizeof gateway);
      if (zero != std::string::npos && text.size() >= zero + kMarkBytes) mark = zero;
    }
    if (text.size() < sizeof gateway)
      return failure(cli::ExitCode::internal, "the process of the shared gateway did not begin");
    std::memcpy(&gateway, text.data(), sizeof gateway);
    if (mark != std::string::npos && text[mark + 1] == static_cast<char>(Mark::ready)) return std::nullopt;
    const std::string said = text.substr(sizeof gateway, std::min(mark, text.size()) - sizeof gateway);
    if (mark != std::string::npos) {
      const int exit = static_cast<unsigned char>(text[mark + 2]);
      return Error{.text = said + "lineward: the shared gateway could not be started\n",
                   .code = exit == 0 ? code(cli::ExitCode::failure) : exit};
    }
    if (ended)
      return Error{.text = said + "lineward: the shared gateway ended while it started\n",
                   .code = code(cli::ExitCode::internal)};
    ::kill(gateway, SIGKILL);
    return Error{.text = fmt::format("{}lineward: the shared gateway was not ready within {} ms\n", said,
                                     kStartLimit.count()),
                 .code = code(cli::ExitCode::temporary)};
  }

  // In the process of the gateway, which keeps the lock. It ends by itself if it does not become ready.
  [[noreturn]] void become_gateway(OwnedFd tells) {
    client_.reset();
    lease_.reset();
    prctl(PR_SET_NAME, "lineward-shared");
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR2, SIGALRM})
      ::signal(number, SIG_DFL);
    alarm(static_cast<unsigned>(std::chrono::duration_cast<std::chrono::seconds>(kStartLimit).count()));
    const pid_t self = getpid();
    write_all(tells.get(), std::string_view(reinterpret_cast<const char*>(&self), sizeof self));
    dup2(tells.get(), STDERR_FILENO);
    const auto mark = [&](Mark which, int exit) {
      std::fflush(stderr);
      const char bytes[] = {'\0', static_cast<char>(which), static_cast<char>(exit)};
      write_all(tells.get(), std::string_view(bytes, sizeof bytes));
      tells.reset();
    };
    bool is_ready = false;
    const int exit = serve_([&] {
      is_ready = true;
      alarm(0);
      log::flush();
      mark(Mark::ready, 0);
      const int log =
          ::open(plan_.place.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
      const int out = log >= 0 ? log : ::open("/dev/null", O_WRONLY | O_CLOEXEC);
      if (out >= 0) dup2(out, STDERR_FILENO);
      if (out >= 0) close(out);
    });
    if (!is_ready) mark(Mark::exited, exit);
    std::fflush(stderr);
    _exit(exit);
  }

  const KeeperPlan plan_;
  const ServeShared& serve_;
  OwnedFd client_;
  OwnedFd lease_;
};

}  // namespace

Result<int> fork_keeper(KeeperPlan plan, const ServeShared& serve) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return fail(fmt::format("no socket for the lease: {}", std::strerror(errno)));
  std::fflush(stdout);
  std::fflush(stderr);
  const pid_t pid = fork();
  if (pid == 0) {
    close(ends[0]);
    Keeper(std::move(plan), serve, ends[1]).run();
  }
  const int why = errno;
  close(ends[1]);
  if (pid > 0) return ends[0];
  close(ends[0]);
  return fail(fmt::format("cannot fork: {}", std::strerror(why)));
}

int await_lease(int keeper, milliseconds limit) {
  if (!readable(keeper, Deadline(limit + kSlack))) {
    log::tell(
        fmt::format("lineward: the lease at the shared gateway was not there within {} ms\n", limit.count()));
    return code(cli::ExitCode::temporary);
  }
  char exit = 0;
  if (read_some(keeper, &exit, 1) != 1) {
    log::tell("lineward: the process that keeps the lease has ended\n");
    return code(cli::ExitCode::internal);
  }
  return static_cast<unsigned char>(exit);
}

}  // namespace lineward::share
