#include "proxy/cluster/worker_pool.h"

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace lineward::cluster {
namespace {

// A loop that does not process its mailbox for this long is stuck.
constexpr std::chrono::seconds kTimeout{3};

// The state of a task, shared by two threads.
struct SharedTask {
  std::mutex mutex;
  std::condition_variable changed;
  size_t begun = 0;
  size_t done = 0;
  bool over = false;  // the wait has ended: a task that has not begun is skipped
};

}  // namespace

bool WorkerPool::run(size_t worker, const std::function<void()>& work) {
  if (worker == 0) {
    work();
    return true;
  }
  auto task = std::make_shared<SharedTask>();
  bool sent = post(worker, [task, work] {
    {
      std::lock_guard<std::mutex> lock(task->mutex);
      if (task->over) return;
      ++task->begun;
    }
    work();
    std::lock_guard<std::mutex> lock(task->mutex);
    ++task->done;
    task->changed.notify_one();
  });
  if (!sent) return false;
  std::unique_lock<std::mutex> lock(task->mutex);
  auto is_done = [&] { return task->done == 1; };
  if (task->changed.wait_for(lock, kTimeout, is_done)) return true;
  task->over = true;
  if (task->begun == 0) return false;
  task->changed.wait(lock, is_done);  // it uses this thread's objects
  return true;
}

bool WorkerPool::paused(const std::function<void()>& work) {
  auto task = std::make_shared<SharedTask>();
  size_t others = 0;
  for (size_t worker = 1; worker < size(); ++worker) {
    bool sent = post(worker, [task] {
      std::unique_lock<std::mutex> lock(task->mutex);
      if (task->over) return;
      ++task->begun;
      task->changed.notify_all();
      task->changed.wait(lock, [&] { return task->over; });
    });
    if (sent) ++others;
  }
  bool all = true;
  if (others > 0) {
    std::unique_lock<std::mutex> lock(task->mutex);
    all = task->changed.wait_for(lock, kTimeout, [&] { return task->begun == others; });
  }
  if (all) work();
  std::lock_guard<std::mutex> lock(task->mutex);
  task->over = true;
  task->changed.notify_all();
  return all;
}

}  // namespace lineward::cluster
