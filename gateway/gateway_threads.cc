// The part of gateway.h that is about its workers' threads: how they begin, what they tell, how they end.
#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "base/log.h"
#include "cli/exit_codes.h"
#include "gateway.h"
#include "remote_members.h"

namespace lineward {
namespace {

// So long may a worker take to end when its loop has.
constexpr std::chrono::seconds kPatience{5};

constexpr int code(cli::ExitCode exit) {
  return static_cast<int>(exit);
}

}  // namespace

Worker::Place Gateway::place(size_t index) {
  Worker::Place place{index, &crew_, homes_, caps_, in_flight_, states_, nullptr, nullptr};
  place.hand_on = [this](size_t to, client::MovedConnection connection) {
    crew_.post(to, [target = &worker(to), moving = std::move(connection)]() mutable {
      target->http()->adopt(std::move(moving));
    });
  };
  if (index != 0) {
    place.cancel_settled = [this](uint64_t tag, const core::CancelReport& report) {
      crew_.post(0, [this, tag, report] { first_->exchanges().log().on_cancel_settled(tag, report); });
    };
  }
  return place;
}

void Gateway::on_first(size_t index, std::function<void()> work) {
  if (index == 0) return work();
  crew_.post(0, std::move(work));
}

bool Gateway::paused(const std::function<void()>& work) {
  return crew_.paused([&] {
    refresh_remote_members(*this);
    work();
  });
}

// What a worker tells is heard on the first one's thread.
WorkerEvents Gateway::events(size_t index) {
  auto here = [this, index](std::function<void()> work) { on_first(index, std::move(work)); };
  WorkerEvents events;
  events.ready = [this, here](const std::string& server, const upstream::Verdict& verdict) {
    here([this, server, verdict] { upstream_ready(server, verdict); });
  };
  events.left = [this, here] {
    here([this] {
      if (reloader_) reloader_->server_left();
    });
  };
  if (options_.exit_with_upstream) {
    events.lost = [this, here] {
      here([this] {
        exit_code_ = code(cli::ExitCode::unavailable);
        drain();
      });
    };
  }
  events.spawner_lost = [this, here] {
    here([this] {
      log::write(log::Level::error, "spawner.lost", {{"why", "a process that starts servers has died"}});
      finish(code(cli::ExitCode::internal));
    });
  };
  events.client_left = [this](mcp::EndReason why) { client_left(why); };
  return events;
}

// Each on a thread of its own, which waits with its loop until all are there. Signals are the first one's.
int Gateway::start_others() {
  std::promise<bool> gate;
  std::shared_future<bool> go = gate.get_future().share();
  sigset_t all, before;
  sigfillset(&all);
  for (int own : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGURG})
    sigdelset(&all, own);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::string fault;
  hands_.resize(crew_.size() - 1);
  for (size_t index = 1; index < crew_.size() && fault.empty(); ++index) {
    const net::Listener& first = *first_->http()->listener().newest();
    std::promise<Begun> begun;
    auto told = begun.get_future();
    std::promise<void> ended;
    Hand& hand = hands_[index - 1];
    hand.ended = ended.get_future();
    hand.thread = std::thread([this, index, config = first_->config(), listener = first.share(),
                               address = first.address(), loopback = first.is_loopback(),
                               begun = std::move(begun), ended = std::move(ended), go]() mutable {
      be_worker(index, std::move(config), {listener, std::move(address), loopback}, std::move(begun), go);
      ended.set_value();
    });
    Begun is = told.get();
    hand.worker = is.worker;
    if (is.view) hand.view.emplace(*is.view);
    fault = std::move(is.fault);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  gate.set_value(fault.empty());
  if (fault.empty()) return code(cli::ExitCode::ok);
  log::tell(fmt::format("lineward: {}\n", fault));
  return code(cli::ExitCode::internal);
}

void Gateway::be_worker(size_t index, config::Config config, Socket socket, std::promise<Begun> begun,
                        const std::shared_future<bool>& go) {
  Worker worker(std::move(config), place(index), spawner_sockets_[index], events(index));
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

// Their loops end, and they with them. One that does not come to an end is left to the process's own.
void Gateway::end_hands() {
  for (size_t index = 1; index <= hands_.size(); ++index) {
    if (hands_[index - 1].worker != nullptr)
      crew_.post(index, [worker = hands_[index - 1].worker] { worker->stop_loop(); });
  }
  for (Hand& hand : hands_) {
    if (!hand.thread.joinable()) continue;
    if (hand.ended.wait_for(kPatience) != std::future_status::ready) {
      log::write(log::Level::error, "stop", {{"why", "a worker does not come to an end"}});
      log::flush();
      _exit(exit_code_ != 0 ? exit_code_ : code(cli::ExitCode::internal));
    }
    hand.thread.join();
  }
  hands_.clear();
}

uint64_t Gateway::slowest_beat() const {
  uint64_t slowest = first_->beat_at();
  for (const Hand& hand : hands_)
    slowest = std::min(slowest, hand.worker->beat_at());
  return slowest;
}

}  // namespace lineward
