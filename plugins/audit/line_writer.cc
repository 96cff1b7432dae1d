#include "plugins/audit/line_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <mutex>
#include <utility>

#include "foundation/base/line_output.h"

namespace lineward::plugins {
namespace {

constexpr std::chrono::milliseconds kApart{100};
constexpr size_t kHandOver = 64 * 1024;
constexpr std::chrono::seconds kLastLines{1};
constexpr int kTimeout = 200;  // ms, for a pipe without a reader

int open_file(const std::string& path) {
  // Non-blocking: a FIFO without a reader must not block the gateway.
  return ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0640);
}

}  // namespace

struct LineWriter::Shared {
  std::string path;   // empty: a standard stream
  int fd = -1;        // used by the thread
  LineOutput output;  // used by the thread

  std::mutex mutex;
  std::condition_variable work, done;
  std::string waiting;
  bool reopen = false;
  bool stop = false;
  bool ended = false;
  std::string fault;
  std::atomic<uint64_t> lost{0};

  ~Shared() {
    if (!path.empty() && fd >= 0) ::close(fd);
  }
  void run();
  void look(bool asked);
  void put(std::string text);
};

// Checks whether another file, or none, has the name now: it was rotated.
void LineWriter::Shared::look(bool asked) {
  if (path.empty()) return;
  struct stat named {
  }, ours{};
  bool same = ::stat(path.c_str(), &named) == 0 && ::fstat(fd, &ours) == 0 && named.st_ino == ours.st_ino &&
              named.st_dev == ours.st_dev;
  if (same && !asked) return;
  int next = open_file(path);
  if (next < 0) {
    std::lock_guard lock(mutex);
    fault = fmt::format("cannot open {}: {}", path, std::strerror(errno));
    return;  // the old file continues
  }
  ::close(std::exchange(fd, next));
  if (!same) output.begin_anew();
}

void LineWriter::Shared::put(std::string text) {
  int error = 0;
  auto write = [&](std::string_view piece) -> ssize_t {
    pollfd out{fd, POLLOUT, 0};
    if (::poll(&out, 1, kTimeout) != 1 || (out.revents & POLLOUT) == 0) {
      error = EAGAIN;
      return -1;
    }
    ssize_t written = 0;
    do {
      written = ::write(fd, piece.data(), piece.size());
    } while (written < 0 && errno == EINTR);
    if (written <= 0) error = errno;
    return written;
  };
  // A standard stream has other writers: a write of at most PIPE_BUF is atomic.
  const size_t most = path.empty() ? size_t{PIPE_BUF} : SIZE_MAX;
  const uint64_t left = output.put(text, most, write);
  if (left == 0) return;
  lost += left;
  std::lock_guard lock(mutex);
  fault = fmt::format("cannot write {}: {}", path.empty() ? "the access log" : path, std::strerror(error));
}

void LineWriter::Shared::run() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  for (;;) {
    std::string text;
    bool asked = false, last = false;
    {
      std::unique_lock lock(mutex);
      work.wait(lock, [this] { return stop || reopen || !waiting.empty(); });
      text.swap(waiting);
      asked = std::exchange(reopen, false);
      last = stop;
    }
    look(asked);
    put(std::move(text));
    std::lock_guard lock(mutex);
    if (!last || !waiting.empty()) continue;
    ended = true;
    done.notify_all();
    return;
  }
}

Result<std::unique_ptr<LineWriter>> LineWriter::open(net::Loop& loop, const std::string& target) {
  auto shared = std::make_shared<Shared>();
  if (target == "stderr" || target == "stdout") {
    shared->fd = target == "stderr" ? STDERR_FILENO : STDOUT_FILENO;
  } else {
    shared->path = target;
    shared->fd = open_file(target);
    if (shared->fd < 0) return fail(fmt::format("cannot open {}: {}", target, std::strerror(errno)));
  }
  std::thread([shared] { shared->run(); }).detach();
  return std::unique_ptr<LineWriter>(new LineWriter(loop, std::move(shared)));
}

LineWriter::LineWriter(net::Loop& loop, std::shared_ptr<Shared> shared)
    : loop_(loop),
      shared_(std::move(shared)),
      now_(
          loop, [](void* self) { static_cast<LineWriter*>(self)->hand_over(); }, this),
      soon_(loop) {}

LineWriter::~LineWriter() {
  hand_over();
  std::unique_lock lock(shared_->mutex);
  shared_->stop = true;
  shared_->work.notify_one();
  shared_->done.wait_for(lock, kLastLines, [this] { return shared_->ended; });
}

void LineWriter::write(std::string_view line) {
  bool first = gathered_.empty();
  gathered_ += line;
  gathered_ += '\n';
  ++gathered_lines_;
  if (gathered_.size() >= kHandOver) {
    hand_over();
  } else if (first && loop_.now() >= handed_at_ + kApart) {
    now_.schedule();
  } else if (first) {
    soon_.start(handed_at_ + kApart - loop_.now(), [this] { hand_over(); });
  }
}

void LineWriter::hand_over() {
  soon_.stop();
  if (gathered_.empty()) return;
  handed_at_ = loop_.now();
  {
    std::lock_guard lock(shared_->mutex);
    if (shared_->waiting.size() + gathered_.size() > kMaxWaiting) {
      dropped_ += gathered_lines_;
    } else {
      lines_ += gathered_lines_;
      shared_->waiting += gathered_;
      shared_->work.notify_one();
    }
  }
  gathered_.clear();
  gathered_lines_ = 0;
}

void LineWriter::reopen() {
  hand_over();
  std::lock_guard lock(shared_->mutex);
  shared_->reopen = true;
  shared_->work.notify_one();
}

uint64_t LineWriter::dropped() const {
  return dropped_ + shared_->lost;
}

std::string LineWriter::fault() {
  std::lock_guard lock(shared_->mutex);
  return std::exchange(shared_->fault, {});
}

}  // namespace lineward::plugins
