// The workers but the first: each on a thread of its own, which waits with its loop until all of them are
// there. How they begin and how they end; what they do meanwhile is the Worker's.
//
// Owned by the Gateway, used on the first worker's thread. A worker is made, used and destroyed on its own:
// the others touch it by what they post to the WorkerPool alone.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "runtime/worker.h"

namespace lineward {

class WorkerThreads {
 public:
  // Called on the thread of the worker that it makes.
  using Make = std::function<std::unique_ptr<Worker>(size_t index, config::Config config)>;
  WorkerThreads(WorkerPool& pool, Make make) : pool_(pool), make_(std::move(make)) {}
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

  // They take connections from the socket that the first one listens on. An error is one sentence for people.
  Status<> start(Worker& first);
  // Their loops end, and they with them. One that does not come to an end is left to the process's own, which
  // comes with this code, then.
  void end(int exit_code);

  Worker& worker(size_t index) { return *threads_[index - 1].worker; }
  const admin::WorkerView& view(size_t index) const { return *threads_[index - 1].view; }
  // When the loop turned last that has not turned for the longest; `first`: when the first worker's did.
  uint64_t slowest_beat(uint64_t first) const;

 private:
  // `worker` lives on its thread, and is touched by it alone.
  struct WorkerThread {
    Worker* worker = nullptr;
    std::optional<admin::WorkerView> view;
    std::thread thread;
    std::future<void> ended;
  };
  // What a thread tells before it goes on.
  struct Begun {
    Worker* worker = nullptr;  // null: it could not begin
    std::optional<admin::WorkerView> view;
    std::string fault;
  };
  struct Socket {  // that the first worker's front listens on
    int descriptor = -1;
    std::string address;
    bool loopback = false;
  };
  void run(size_t index, config::Config config, Socket socket, std::promise<Begun> begun,
           const std::shared_future<bool>& go) const;

  WorkerPool& pool_;
  const Make make_;
  std::vector<WorkerThread> threads_;
};

}  // namespace lineward
