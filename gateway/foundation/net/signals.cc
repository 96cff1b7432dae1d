#include "foundation/net/signals.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

namespace lineward::net {
namespace {

void mask(int how, std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals)
    sigaddset(&set, signal);
  pthread_sigmask(how, &set, nullptr);
}

}  // namespace

SignalWatch::SignalWatch(Loop& loop, int signal, std::function<void()> arrived)
    : arrived_(std::move(arrived)) {
  LW_CHECK(handle_.open(this, [&](uv_signal_t* h) { return uv_signal_init(loop.raw(), h); }) == 0);
  uv_signal_start(
      handle_.get(),
      [](uv_signal_t* h, int) {
        if (auto* self = static_cast<SignalWatch*>(h->data)) self->arrived_();
      },
      signal);
}

// Blocked rather than ignored: libuv changes the action when a watch ends, and a signal could arrive before
// the action is set again.
void ignore_signals(std::initializer_list<int> signals) {
  mask(SIG_BLOCK, signals);
}

void hold_signals(std::initializer_list<int> signals) {
  mask(SIG_BLOCK, signals);
}

void take_signals(std::initializer_list<int> signals) {
  mask(SIG_UNBLOCK, signals);
}

void reap_children() {
  while (waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

}  // namespace lineward::net
