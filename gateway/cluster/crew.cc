#include "cluster/crew.h"

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace lineward {
namespace {

// A loop that does not come to its mailbox for so long is stuck.
constexpr std::chrono::seconds kPatience{3};

// What two threads know of one errand.
struct Errand {
  std::mutex mutex;
  std::condition_variable changed;
  size_t begun = 0;
  size_t done = 0;
  bool over = false;  // nobody waits any more: what has not begun does not
};

}  // namespace

bool Crew::run(size_t worker, const std::function<void()>& work) {
  if (worker == 0) {
    work();
    return true;
  }
  auto errand = std::make_shared<Errand>();
  bool sent = post(worker, [errand, work] {
    {
      std::lock_guard<std::mutex> lock(errand->mutex);
      if (errand->over) return;
      ++errand->begun;
    }
    work();
    std::lock_guard<std::mutex> lock(errand->mutex);
    ++errand->done;
    errand->changed.notify_one();
  });
  if (!sent) return false;
  std::unique_lock<std::mutex> lock(errand->mutex);
  auto is_done = [&] { return errand->done == 1; };
  if (errand->changed.wait_for(lock, kPatience, is_done)) return true;
  errand->over = true;
  if (errand->begun == 0) return false;
  errand->changed.wait(lock, is_done);  // it uses what is ours
  return true;
}

bool Crew::paused(const std::function<void()>& work) {
  auto errand = std::make_shared<Errand>();
  size_t others = 0;
  for (size_t worker = 1; worker < size(); ++worker) {
    bool sent = post(worker, [errand] {
      std::unique_lock<std::mutex> lock(errand->mutex);
      if (errand->over) return;
      ++errand->begun;
      errand->changed.notify_all();
      errand->changed.wait(lock, [&] { return errand->over; });
    });
    if (sent) ++others;
  }
  bool all = true;
  if (others > 0) {
    std::unique_lock<std::mutex> lock(errand->mutex);
    all = errand->changed.wait_for(lock, kPatience, [&] { return errand->begun == others; });
  }
  if (all) work();
  std::lock_guard<std::mutex> lock(errand->mutex);
  errand->over = true;
  errand->changed.notify_all();
  return all;
}

}  // namespace lineward
