// Detects whether an object still exists: for callbacks that may run after its end, and for functions that
// call code that may destroy it. docs/dev/invariants.md has the rules for callbacks.
//
// An object that hands out callbacks with `this` has a Lifetime as its last member, so that it is destroyed
// first. It offers three guards:
//
//   loop.defer(lifetime_, [this] { pump(); });
//       Work that is skipped if the object is gone by then.
//
//   resolver.ask(lifetime_.guard([this](Answer answer) { use(answer); }));
//       A callback that does nothing once the object is gone.
//
//   auto watch = lifetime_.watch();
//   owner_.on_line(line);
//   if (watch.gone()) return;
//       A function that continues after calling code that may destroy the object checks whether it did.
//
// An object that may be destroyed while one of its functions is on the stack is given to Loop::retire()
// instead, if its owner can do that. It then exists until the end of the loop turn and needs no check.
//
// A destructor that calls other objects before its members are destroyed calls end() first, so that no
// callback re-enters the object.
//
// Threads: nothing is locked or atomic. The object, its watches and the guarded callbacks are made, copied,
// run and destroyed on the thread of their loop. Work for another thread names objects by a number or by a
// std::weak_ptr.
//
// Cost: 16 bytes in the object, and 8 on the heap from the first watch until the last watch is destroyed.
#pragma once

#include <cstdint>
#include <utility>

namespace lineward::net {

class Lifetime {
  struct State {
    uint32_t holders = 1;
    bool gone = false;
  };

 public:
  // Reports whether the object is gone; may outlive it. A watch made without an object, or moved from,
  // reports that it is gone.
  class Watch {
   public:
    Watch() = default;
    Watch(const Watch& other) noexcept : state_(other.state_) {
      if (state_ != nullptr) ++state_->holders;
    }
    Watch(Watch&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
    Watch& operator=(Watch other) noexcept {
      std::swap(state_, other.state_);
      return *this;
    }
    ~Watch() { let_go(state_); }
    bool gone() const { return state_ == nullptr || state_->gone; }

   private:
    friend class Lifetime;
    explicit Watch(State* state) : state_(state) { ++state_->holders; }
    State* state_ = nullptr;
  };

  Lifetime() = default;
  ~Lifetime() { end(); }
  Lifetime(const Lifetime&) = delete;
  Lifetime& operator=(const Lifetime&) = delete;

  Watch watch() {
    if (ended_) return {};
    if (state_ == nullptr) state_ = new State;
    return Watch(state_);
  }

  // Wraps `work`, with any parameters and no result, in a callable that does nothing once the object is gone.
  // State captured by `work` is freed with the callback, not with the object. `work` may destroy the object.
  template <class Work>
  auto guard(Work work) {
    return [watch = watch(), work = std::move(work)](auto&&... with) mutable -> void {
      if (!watch.gone()) work(std::forward<decltype(with)>(with)...);
    };
  }

  // Reports the object as gone to all existing and future watches.
  void end() {
    renew();
    ended_ = true;
  }
  // Reports the object as gone to all existing watches. For an object that starts again.
  void renew() {
    if (state_ == nullptr) return;
    state_->gone = true;
    let_go(std::exchange(state_, nullptr));
  }

 private:
  static void let_go(State* state) {
    if (state != nullptr && --state->holders == 0) delete state;
  }
  State* state_ = nullptr;
  bool ended_ = false;
};

}  // namespace lineward::net
