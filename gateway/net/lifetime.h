// Whether an object is still there: for callbacks that may come later than its end, and for functions that
// call somebody who may end it. The rules of who may call whom, and when, are in docs/dev/invariants.md.
//
// An object that hands out callbacks with `this` in them has a Lifetime as its last member, so that it is the
// first of them to end. Three things are done with it:
//
//   loop.defer(lifetime_, [this] { pump(); });
//       Work that is left out when the object has gone by then.
//   resolver.ask(lifetime_.guard([this](Answer answer) { use(answer); }));
//       A callback that does nothing once the object has gone.
//   auto watch = lifetime_.watch();
//   owner_.on_line(line);
//   if (watch.gone()) return;
//       For a function that goes on after calling somebody who may delete the object: was it ended by that?
//
// Whoever may be deleted while one of its functions is on the stack is given to Loop::retire() instead, where
// its owner can do that: it is there until the end of the loop turn then, and nobody needs to ask.
//
// A destructor that calls others before its members go says end() first, so that none of them finds the way
// back.
//
// Threads: nothing is locked and nothing is atomic. The object, its watches and the callbacks it guards are
// made, copied, run and destroyed on the thread of their loop. What goes to another thread names objects by a
// number or by a std::weak_ptr.
//
// Cost: 16 bytes in the object, and 8 on the heap from the first watch on, until the last one has gone too.
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
  // What knows whether the object has gone, however long ago. May outlive it. One that was made without an
  // object, or moved from, says that it has gone.
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

  // `work` with any parameters and no result, as something to call that does nothing once the object has
  // gone. What `work` holds is freed with the callback, not with the object. It may end the object.
  template <class Work>
  auto guard(Work work) {
    return [watch = watch(), work = std::move(work)](auto&&... with) mutable -> void {
      if (!watch.gone()) work(std::forward<decltype(with)>(with)...);
    };
  }

  // The object has gone for all that watch, and for all that will.
  void end() {
    renew();
    ended_ = true;
  }
  // The object has gone for all that watch until now. For one that begins anew.
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
