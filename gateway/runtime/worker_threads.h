// The threads of all workers but the first. Each waits with its loop until all workers exist. This class
// starts and ends them; the Worker does the rest.
//
// Owned by the Gateway, used on the first worker's thread. A worker is made, used and destroyed on its own
// thread: others reach it only by posting to the WorkerPool.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "foundation/base/result.h"
#include "runtime/worker.h"

namespace lineward::runtime {

class WorkerThreads {
 public:
  // Called on the thread of the worker that it makes.
  using Make = std::function<std::unique_ptr<Worker>(size_t index, config::Config config)>;
  WorkerThreads(cluster::WorkerPool& pool, Make make) : pool_(pool), make_(std::move(make)) {}
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

  // Starts the threads; they accept from the socket that the first worker listens on. An error is one
  // sentence for operators.
  Status<> start(Worker& first);
  // Ends the loops and threads. If a thread does not end in time, the process exits with this code.
  void end(int exit_code);

  Worker& worker(size_t index) { return *threads_[index - 1].worker; }
  const admin::WorkerView& view(size_t index) const { return *threads_[index - 1].view; }
  // The oldest last turn of all loops; `first`: that of the first worker.
  uint64_t slowest_beat(uint64_t first) const;

 private:
  // `worker` lives on its thread, and is used only there.
  struct WorkerThread {
    Worker* worker = nullptr;
    std::optional<admin::WorkerView> view;
    std::thread thread;
    std::future<void> ended;
  };
  // The result of a thread's start.
  struct Begun {
    Worker* worker = nullptr;  // null: it failed to start
    std::optional<admin::WorkerView> view;
    std::string fault;
  };
  struct Socket {  // the listening socket of the first worker's front
    int descriptor = -1;
    std::string address;
    bool loopback = false;
  };
  void run(size_t index, config::Config config, Socket socket, std::promise<Begun> begun,
           const std::shared_future<bool>& go) const;

  cluster::WorkerPool& pool_;
  const Make make_;
  std::vector<WorkerThread> threads_;
};

}  // namespace lineward::runtime
