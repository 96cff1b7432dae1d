#include "foundation/net/deferred_work.h"

#include <utility>

#include "foundation/net/loop.h"

namespace lineward::net {

void DeferredWork::run() {
  if (running_) return;
  running_ = true;
  // Deferred work may defer more work; all of it runs before the loop sleeps.
  while (!waiting_->work.empty()) {
    std::swap(working_, waiting_);
    Batch& now = *working_;
    bool retired = false;
    size_t next_function = 0;
    for (size_t i = 0; i < now.work.size(); ++i) {
      const Work& work = now.work[i];
      if (work.run == &Deferred::run) {
        if (work.with != nullptr) work.run(work.with);
      } else if (work.run != nullptr) {
        retired = true;
      } else {
        const Function& one = now.functions[next_function++];
        if (one.function && !(one.whose && one.whose->gone())) one.function();
      }
    }
    // A retired object outlives work deferred together with it.
    for (size_t i = 0; retired && i < now.work.size(); ++i) {
      const Work& work = now.work[i];
      if (work.run != nullptr && work.run != &Deferred::run) work.run(work.with);
    }
    now.work.clear();
    now.functions.clear();
  }
  running_ = false;
}

Deferred::Deferred(Loop& loop, void (*work)(void*), void* with)
    : queue_(loop.deferred_), work_(work), with_(with) {}

void Deferred::schedule() {
  if (scheduled_) return;
  scheduled_ = true;
  queue_.waiting_->work.push_back({&Deferred::run, this});
}

void Deferred::run(void* it) {
  auto* self = static_cast<Deferred*>(it);
  self->scheduled_ = false;
  self->work_(self->with_);
}

void Deferred::cancel() {
  if (!scheduled_) return;
  scheduled_ = false;
  for (auto* batch : {queue_.waiting_, queue_.working_}) {
    for (DeferredWork::Work& work : batch->work) {
      if (work.run == &Deferred::run && work.with == this) work.with = nullptr;
    }
  }
}

}  // namespace lineward::net
