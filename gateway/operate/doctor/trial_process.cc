#include "operate/doctor/trial_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

#include "foundation/process/spawner.h"

namespace lineward::doctor {
namespace {

using process::spawning::OwnedFd;

constexpr uint64_t kId = 1;
constexpr size_t kMaxStderrLine = 1024;
// A process closes its stdout a moment before its exit is reported.
constexpr std::chrono::milliseconds kEndFollows{1000};

int left_until(Clock::time_point until) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, INT_MAX));
}

Error own_failure(int error) {
  return {.text = {}, .code = error, .place = "spawner"};
}

}  // namespace

std::optional<Error> TrialProcess::start(const process::SpawnRequest& request, Clock::time_point until) {
  auto socket = process::fork_spawner(&spawner_pid_);
  if (!socket) return own_failure(EAGAIN);
  spawner_.reset(*socket);
  std::array<OwnedFd, 4> theirs;
  std::array<OwnedFd*, 3> ours{&stdin_, &stdout_, &stderr_};
  for (size_t i = 0; i < ours.size(); ++i) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return own_failure(errno);
    ours[i]->reset(i == 0 ? ends[1] : ends[0]);
    theirs[i].reset(i == 0 ? ends[0] : ends[1]);
    fcntl(ours[i]->get(), F_SETFL, O_NONBLOCK);
  }
  theirs[3].reset(memfd_create("lineward-command", MFD_CLOEXEC));
  if (!theirs[3].open() || !process::spawning::write_all(theirs[3].get(), process::spawning::encode(request)))
    return own_failure(errno);
  process::spawning::Request order;
  order.id = kId;
  std::vector<int> fds;
  for (const OwnedFd& fd : theirs)
    fds.push_back(fd.get());
  if (process::spawning::send_message(spawner_.get(), process::spawning::encode(order), fds) < 0)
    return own_failure(errno);
  for (OwnedFd& fd : theirs)
    fd.reset();
  while (!started_ && !failure_ && !exit_ && pump(until)) {
  }
  if (!started_ && !failure_) failure_ = own_failure(ETIMEDOUT);
  return failure_;
}

bool TrialProcess::write_line(std::string_view line, Clock::time_point until) {
  std::string bytes(line);
  if (bytes.empty() || bytes.back() != '\n') bytes += '\n';
  for (size_t sent = 0; sent < bytes.size();) {
    if (!stdin_.open()) return false;
    const ssize_t n = ::write(stdin_.get(), bytes.data() + sent, bytes.size() - sent);
    if (n > 0) {
      sent += static_cast<size_t>(n);
    } else if (errno != EAGAIN && errno != EINTR) {
      return false;
    } else {
      pollfd one{stdin_.get(), POLLOUT, 0};
      if (poll(&one, 1, left_until(until)) == 0) return false;
    }
  }
  return true;
}

void TrialProcess::hear_spawner() {
  for (;;) {
    std::string bytes;
    const ssize_t n = process::spawning::receive_message(spawner_.get(), &bytes, nullptr);
    if (n < 0 && errno == EAGAIN) return;
    process::spawning::Reply reply;
    if (n <= 0) {
      if (!exit_) exit_ = process::ExitStatus{0, SIGKILL};
      spawner_.reset();
      return;
    }
    if (!process::spawning::decode(bytes, &reply)) continue;
    using Kind = process::spawning::Reply::Kind;
    if (reply.kind == Kind::started) started_ = true;
    if (reply.kind == Kind::failed) failure_ = reply.failure;
    if (reply.kind == Kind::exited) exit_ = reply.status;
  }
}

void TrialProcess::hear_stderr() {
  std::array<char, 65536> bytes;
  // Reads once: with an endless writer a loop would never return.
  const ssize_t n = read(stderr_.get(), bytes.data(), bytes.size());
  if (n > 0) {
    for (char c : std::string_view(bytes.data(), static_cast<size_t>(n))) {
      if (c != '\n') {
        if (stderr_line_.size() < kMaxStderrLine) stderr_line_ += c;
        continue;
      }
      stderr_tail_.add(stderr_line_);
      stderr_line_.clear();
    }
  }
  if (n == 0) {
    stderr_tail_.add(stderr_line_);
    stderr_.reset();
  }
}

// Waits once for any event; false when the time is over, or no event can come any more.
bool TrialProcess::pump(Clock::time_point until) {
  std::array<pollfd, 3> watched{
      {{stdout_.get(), POLLIN, 0}, {stderr_.get(), POLLIN, 0}, {spawner_.get(), POLLIN, 0}}};
  if (!stdout_.open() && !stderr_.open() && !spawner_.open()) return false;
  // An endless writer always has data to read.
  if (Clock::now() > until) return false;
  const int ready = poll(watched.data(), watched.size(), left_until(until));
  if (ready < 0) return errno == EINTR;
  if (ready == 0) return false;
  if (watched[0].revents != 0) {
    std::array<char, 65536> bytes;
    const ssize_t n = read(stdout_.get(), bytes.data(), bytes.size());
    if (n > 0) out_.append(bytes.data(), static_cast<size_t>(n));
    if (n == 0) {
      stdout_.reset();
      stdout_closed_ = Clock::now();
    }
  }
  if (watched[1].revents != 0) hear_stderr();
  if (watched[2].revents != 0) hear_spawner();
  return true;
}

TrialProcess::Next TrialProcess::next(std::string& line, Clock::time_point until) {
  for (;;) {
    const size_t end = out_.find('\n');
    if (end != std::string::npos || out_.size() > kMaxLine) {
      line = out_.substr(0, end);
      out_.erase(0, end == std::string::npos ? end : end + 1);
      return Next::line;
    }
    // Output written before the exit may still arrive.
    if (exit_ && !stdout_.open() && !stderr_.open()) return Next::exited;
    // No more lines can come, even if it still runs, or another process holds its stderr.
    const auto enough = stdout_.open() ? until : std::min(until, stdout_closed_ + kEndFollows);
    if (!pump(enough)) return exit_ || !stdout_.open() ? Next::exited : Next::late;
  }
}

void TrialProcess::signal(process::TreeSignal which) {
  if (!spawner_.open()) return;
  process::spawning::Request order;
  order.kind = process::spawning::Request::Kind::signal;
  order.id = kId;
  order.which = static_cast<char>(which);
  process::spawning::send_message(spawner_.get(), process::spawning::encode(order));
}

bool TrialProcess::wait_exit(Clock::time_point until) {
  while (!exit_ && pump(until))
    out_.clear();
  return exit_.has_value();
}

void TrialProcess::end_now() {
  if (spawner_pid_ == 0) return;
  stdin_.reset();
  stdout_.reset();
  stderr_.reset();
  spawner_.reset();  // kills all its descendants, then exits
  while (waitpid(spawner_pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  spawner_pid_ = 0;
}

}  // namespace lineward::doctor
