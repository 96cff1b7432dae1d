// Work for later in a loop turn, from Loop::defer, Loop::retire and Deferred. The loop runs it; this file is
// independent of libuv.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "foundation/net/lifetime.h"

namespace lineward::net {

class Deferred;
class Loop;

class DeferredWork {
 public:
  DeferredWork() = default;
  DeferredWork(const DeferredWork&) = delete;
  DeferredWork& operator=(const DeferredWork&) = delete;
  void add(std::function<void()> work) { add_function({std::move(work), {}}); }
  // The work is skipped if the object owning `whose` is gone by then.
  void add(Lifetime& whose, std::function<void()> work) { add_function({std::move(work), whose.watch()}); }
  // Calls `free` with the object after all work queued with it.
  void retire(void (*free)(void*), void* object) { waiting_->work.push_back({free, object}); }
  // Runs queued work, and work it adds, until none is left. Does nothing if called recursively.
  void run();

 private:
  friend class Deferred;
  struct Work {
    void (*run)(void*);  // null: run the next of the functions
    void* with;
  };
  struct Function {
    std::function<void()> function;
    std::optional<Lifetime::Watch> whose;  // the work is skipped once this object is gone
  };
  // Most deferred work of a call is not a std::function, and this list is walked every turn: its items are
  // small.
  struct Batch {
    std::vector<Work> work;
    std::vector<Function> functions;
  };
  void add_function(Function function) {
    waiting_->work.push_back({nullptr, nullptr});
    waiting_->functions.push_back(std::move(function));
  }
  Batch batches_[2];
  Batch* waiting_ = &batches_[0];
  Batch* working_ = &batches_[1];  // being run
  bool running_ = false;
};

// Work that an object defers repeatedly, like Loop::defer. It ends with the object and allocates nothing.
// `work` may destroy the object.
class Deferred {
 public:
  Deferred(Loop& loop, void (*work)(void*), void* with);
  ~Deferred() { cancel(); }
  Deferred(const Deferred&) = delete;
  Deferred& operator=(const Deferred&) = delete;

  void schedule();  // idempotent until the work has run
  void cancel();
  bool scheduled() const { return scheduled_; }
  // Does this work from now on.
  void use(void (*work)(void*)) { work_ = work; }

 private:
  friend class DeferredWork;
  static void run(void* self);
  DeferredWork& queue_;
  void (*work_)(void*);
  void* with_;
  bool scheduled_ = false;
};

}  // namespace lineward::net
