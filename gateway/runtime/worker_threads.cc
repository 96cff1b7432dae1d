#include "runtime/worker_threads.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "foundation/base/account.h"
#include "foundation/log/log.h"
#include "operate/cli/exit_codes.h"
#include "proxy/cluster/worker_pool.h"

namespace lineward::runtime {
namespace {

// Time for a worker to end after its loop has.
constexpr std::chrono::seconds kTimeout{5};

}  // namespace

// Signals are delivered to the first worker.
Status<> WorkerThreads::start(Worker& first_worker) {
  std::promise<bool> gate;
  std::shared_future<bool> go = gate.get_future().share();
  sigset_t all, before;
  sigfillset(&all);
  for (int own : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGURG})
    sigdelset(&all, own);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::string fault;
  if (pool_.size() > 1) Account::use_parts(0, pool_.size());
  threads_.resize(pool_.size() - 1);
  for (size_t index = 1; index < pool_.size() && fault.empty(); ++index) {
    const net::Listener& first = *first_worker.http()->listener().newest();
    std::promise<Begun> begun;
    auto told = begun.get_future();
    std::promise<void> ended;
    WorkerThread& thread = threads_[index - 1];
    thread.ended = ended.get_future();
    thread.thread = std::thread([this, index, config = first_worker.config(), listener = first.share(),
                                 address = first.address(), loopback = first.is_loopback(),
                                 begun = std::move(begun), ended = std::move(ended), go]() mutable {
      run(index, std::move(config), {listener, std::move(address), loopback}, std::move(begun), go);
      ended.set_value();
    });
    Begun is = told.get();
    thread.worker = is.worker;
    if (is.view) thread.view.emplace(*is.view);
    fault = std::move(is.fault);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  gate.set_value(fault.empty());
  if (!fault.empty()) return fail(fault);
  return Done{};
}

void WorkerThreads::run(size_t index, config::Config config, Socket socket, std::promise<Begun> begun,
                        const std::shared_future<bool>& go) const {
  Account::use_parts(index, pool_.size());
  const std::unique_ptr<Worker> made = make_(index, std::move(config));
  Worker& worker = *made;
  Begun told;
  auto prepared = worker.prepare();
  if (prepared) {
    auto listening = worker.listen_with(socket.descriptor, std::move(socket.address), socket.loopback);
    if (!listening) prepared = fail(listening.error().text);
  } else {
    ::close(socket.descriptor);
  }
  if (prepared) {
    worker.serve();
    told.worker = &worker;
    told.view.emplace(worker.view());
  } else {
    told.fault = prepared.error().text;
  }
  const bool begins = told.worker != nullptr;
  begun.set_value(std::move(told));
  if (begins && go.get()) worker.loop().run();
}

void WorkerThreads::end(int exit_code) {
  for (size_t index = 1; index <= threads_.size(); ++index) {
    if (threads_[index - 1].worker != nullptr)
      pool_.post(index, [worker = threads_[index - 1].worker] { worker->stop_loop(); });
  }
  for (WorkerThread& thread : threads_) {
    if (!thread.thread.joinable()) continue;
    if (thread.ended.wait_for(kTimeout) != std::future_status::ready) {
      log::write(log::Level::error, "stop", {{"why", "a worker does not come to an end"}});
      log::flush();
      _exit(exit_code != 0 ? exit_code : static_cast<int>(cli::ExitCode::internal));
    }
    thread.thread.join();
  }
  threads_.clear();
}

uint64_t WorkerThreads::slowest_beat(uint64_t first) const {
  uint64_t slowest = first;
  for (const WorkerThread& thread : threads_)
    slowest = std::min(slowest, thread.worker->beat_at());
  return slowest;
}

}  // namespace lineward::runtime
