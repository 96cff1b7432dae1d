// The process that the gateway starts as a stdio server. It carries bytes between its stdio and the runner's
// Unix socket, reports the end of stdin and signals, and carries out orders. It decides nothing by itself,
// except that it ends when the runner is gone.
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "process.h"

namespace lineward::wire {
namespace {

// Until the reader of stdout has taken everything (a pipe or a Unix socket), at most 200 ms.
void wait_until_read() {
  for (int i = 0; i < 2000; ++i) {
    int left = 0;
    if (ioctl(1, SIOCOUTQ, &left) != 0 && ioctl(1, FIONREAD, &left) != 0) return;
    if (left == 0) return;
    usleep(100);
  }
}

void start_sleeper(const std::string& flags, const std::string& tag) {
  char self[4096];
  ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  if (n <= 0) return;
  self[n] = '\0';
  if (fork() != 0) return;
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (flags.find('s') != std::string::npos) setsid();
  int null = open("/dev/null", O_RDWR);
  dup2(null, 0);
  if (flags.find('o') == std::string::npos) dup2(null, 1);
  execl(self, self, "--sleeper", tag.c_str(), nullptr);
  _exit(127);
}

class Stub {
 public:
  Stub(int socket, std::string tag) : socket_(socket), tag_(std::move(tag)) {
    sigset_t mask;
    sigemptyset(&mask);
    for (int s : {SIGTERM, SIGINT, SIGHUP, SIGUSR1})
      sigaddset(&mask, s);
    sigprocmask(SIG_BLOCK, &mask, nullptr);
    signals_ = signalfd(-1, &mask, SFD_CLOEXEC);
  }

  int run() {
    for (;;) {
      pollfd fds[] = {
          {socket_, POLLIN, 0}, {signals_, POLLIN, 0}, {input_open_ && reading_ ? 0 : -1, POLLIN, 0}};
      if (poll(fds, 3, -1) < 0 && errno != EINTR) return 1;
      if (fds[2].revents) on_input();
      if (fds[1].revents) on_signal();
      if (fds[0].revents && !on_runner()) return 0;
    }
  }

 private:
  void on_input() {
    char bytes[65536];
    ssize_t n = read(0, bytes, sizeof bytes);
    if (n > 0) {
      write_frame(socket_, FrameKind::input, {bytes, static_cast<size_t>(n)});
    } else {
      input_open_ = false;
      write_frame(socket_, FrameKind::input_end);
    }
  }

  void on_signal() {
    signalfd_siginfo info;
    if (read(signals_, &info, sizeof info) != sizeof info) return;
    auto number = static_cast<int>(info.ssi_signo);
    write_frame(socket_, FrameKind::signal, std::to_string(number));
    if (ignore_term_) return;
    signal(number, SIG_DFL);
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, number);
    raise(number);
    sigprocmask(SIG_UNBLOCK, &mask, nullptr);
  }

  bool on_runner() {
    char bytes[65536];
    ssize_t n = read(socket_, bytes, sizeof bytes);
    if (n <= 0) return false;
    buffer_.append(bytes, static_cast<size_t>(n));
    while (auto frame = cut_frame(buffer_)) {
      switch (frame->kind) {
        case FrameKind::output: write_all(1, frame->payload); break;
        case FrameKind::paced:
          write_all(1, frame->payload);
          wait_until_read();
          break;
        case FrameKind::error_output: write_all(2, frame->payload); break;
        case FrameKind::close_output: close(1); break;
        case FrameKind::exit: _exit(atoi(frame->payload.c_str()));
        case FrameKind::ignore_term: ignore_term_ = true; break;
        case FrameKind::reading: reading_ = frame->payload == "on"; break;
        case FrameKind::sleeper: start_sleeper(frame->payload, tag_); break;
        default: break;
      }
      write_frame(socket_, FrameKind::done);
    }
    return true;
  }

  int socket_, signals_;
  std::string tag_, buffer_;
  bool input_open_ = true, ignore_term_ = false, reading_ = true;
};

}  // namespace

int stdio_stub_main(const std::string& socket_path, const std::string& name, const std::string& tag) {
  signal(SIGPIPE, SIG_IGN);
  signal(SIGCHLD, SIG_IGN);  // no zombies of sleepers
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  strncpy(address.sun_path, socket_path.c_str(), sizeof address.sun_path - 1);
  if (fd < 0 || connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    static const char text[] = "stdio peer: the runner is gone\n";
    (void)!write(2, text, sizeof text - 1);
    return 3;
  }
  write_frame(fd, FrameKind::hello, name);
  return Stub(fd, tag).run();
}

int sleeper_main() {
  for (int i = 0; i < 120; ++i)
    sleep(1);
  return 0;
}

}  // namespace lineward::wire
