// Work for later in a turn of the loop: what Loop::defer and Loop::retire were given, and what a Deferred
// schedules. The loop runs it; nothing here knows of libuv.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "net/lifetime.h"

namespace lineward::net {

class Deferred;
class Loop;

class DeferredWork {
 public:
  DeferredWork() = default;
  DeferredWork(const DeferredWork&) = delete;
  DeferredWork& operator=(const DeferredWork&) = delete;
  void add(std::function<void()> work) { add_function({std::move(work), {}}); }
  // Is left out when the object that `whose` is of has gone by then.
  void add(Lifetime& whose, std::function<void()> work) { add_function({std::move(work), whose.watch()}); }
  // `free` gets the object after all work that waits with it.
  void retire(void (*free)(void*), void* object) { waiting_->work.push_back({free, object}); }
  // Runs what waits, and what that adds, until nothing waits. Does nothing from inside of itself.
  void run();

 private:
  friend class Deferred;
  struct Work {
    void (*run)(void*);  // null: the next one of the functions
    void* with;
  };
  struct Function {
    std::function<void()> function;
    std::optional<Lifetime::Watch> whose;  // it is left out once that one has gone
  };
  // Most work of a call is no function, and this list is gone through with every turn: its items are small.
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
  Batch* working_ = &batches_[1];  // what is being done
  bool running_ = false;
};

// Work that an object defers again and again, as Loop::defer does. Dies with the object, and costs no memory.
// `work` may destroy it.
class Deferred {
 public:
  Deferred(Loop& loop, void (*work)(void*), void* with);
  ~Deferred() { cancel(); }
  Deferred(const Deferred&) = delete;
  Deferred& operator=(const Deferred&) = delete;

  void schedule();  // once, however often it is called until then
  void cancel();
  bool scheduled() const { return scheduled_; }

 private:
  friend class DeferredWork;
  static void run(void* self);
  DeferredWork& queue_;
  void (*work_)(void*);
  void* with_;
  bool scheduled_ = false;
};

}  // namespace lineward::net
