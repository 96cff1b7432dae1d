#include "net/deferred_work.h"

#include "net/loop.h"

namespace lineward::net {

void DeferredWork::run() {
  if (running_) return;
  running_ = true;
  // Work may defer more work; all of it runs before the loop sleeps.
  while (!waiting_.empty()) {
    working_.swap(waiting_);
    for (size_t i = 0; i < working_.size(); ++i) {
      const Work& work = working_[i];
      if (work.function && !(work.whose && work.whose->gone())) work.function();
      if (work.run == &Deferred::run && work.with != nullptr) work.run(work.with);
    }
    // What is retired outlives the work that was deferred together with it.
    for (size_t i = 0; i < working_.size(); ++i) {
      if (working_[i].run != nullptr && working_[i].run != &Deferred::run) working_[i].run(working_[i].with);
    }
    working_.clear();
  }
  running_ = false;
}

Deferred::Deferred(Loop& loop, void (*work)(void*), void* with)
    : queue_(loop.deferred_), work_(work), with_(with) {}

void Deferred::schedule() {
  if (scheduled_) return;
  scheduled_ = true;
  queue_.waiting_.push_back({&Deferred::run, this, {}, {}});
}

void Deferred::run(void* it) {
  auto* self = static_cast<Deferred*>(it);
  self->scheduled_ = false;
  self->work_(self->with_);
}

void Deferred::cancel() {
  if (!scheduled_) return;
  scheduled_ = false;
  for (auto* list : {&queue_.waiting_, &queue_.working_}) {
    for (DeferredWork::Work& work : *list) {
      if (work.run == &Deferred::run && work.with == this) work.with = nullptr;
    }
  }
}

}  // namespace lineward::net
