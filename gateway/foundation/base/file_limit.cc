#include "foundation/base/file_limit.h"

#include <fmt/format.h>
#include <signal.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>

namespace lineward {
namespace {

using std::chrono::milliseconds;

struct Limits {
  std::atomic<int64_t> first{0}, next{0};  // 0: none
};

struct Late {
  std::mutex mutex;
  std::set<std::string> paths;  // of threads that are behind their limit
};

Limits& limits() {
  static Limits all;
  return all;
}

// Never destroyed: a thread may come back while the process ends.
Late& late() {
  static Late& all = *new Late;
  return all;
}

struct Wait {
  std::mutex mutex;
  std::condition_variable over;
  bool done = false;
  bool given_up = false;
  int error = 0;
};

void finish(Wait& wait, const std::string& path) {
  const int error = errno;
  std::lock_guard<std::mutex> lock(wait.mutex);
  wait.done = true;
  wait.error = error;
  if (wait.given_up) {
    std::lock_guard<std::mutex> others(late().mutex);
    late().paths.erase(path);
  }
  wait.over.notify_one();
}

}  // namespace

void limit_file_waits() {
  limit_file_waits(kFileLimit, kNextFileLimit);
}

void limit_file_waits(milliseconds first, milliseconds next) {
  limits().first = first.count();
  limits().next = next.count();
}

bool within_file_limit(const std::string& path, std::function<void()> work) {
  milliseconds most{limits().first};
  if (most.count() == 0) {
    work();
    return true;
  }
  {
    std::lock_guard<std::mutex> lock(late().mutex);
    if (late().paths.count(path) > 0) return false;
    if (!late().paths.empty()) most = milliseconds(limits().next);
  }
  auto wait = std::make_shared<Wait>();
  // Signals are for the loop's thread.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool started = true;
  try {
    std::thread([wait, path, work] {
      errno = 0;
      work();
      finish(*wait, path);
    }).detach();
  } catch (const std::system_error&) {
    started = false;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!started) {  // no thread can be had
    work();
    return true;
  }
  std::unique_lock<std::mutex> lock(wait->mutex);
  if (wait->over.wait_for(lock, most, [&] { return wait->done; })) {
    errno = wait->error;
    return true;
  }
  wait->given_up = true;
  std::lock_guard<std::mutex> others(late().mutex);
  late().paths.insert(path);
  return false;
}

std::string file_is_late() {
  return fmt::format("its file system did not answer within {} ms", limits().first.load());
}

}  // namespace lineward
