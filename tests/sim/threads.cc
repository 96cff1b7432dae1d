#include "threads.h"

#include <bits/atomic_futex.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

#include "heap.h"
#include "world.h"

namespace lineward::sim {
namespace {

thread_local Threads::Thread* self = nullptr;
thread_local int current = kNobody;

// The living threads, by their pthread_t.
std::map<pthread_t, Threads::Thread*>& known() {
  static std::map<pthread_t, Threads::Thread*> all;
  return all;
}

template <class F>
F real(const char* name, const char* version) {
  return reinterpret_cast<F>(version ? dlvsym(RTLD_NEXT, name, version) : dlsym(RTLD_NEXT, name));
}

constexpr int64_t kEver = INT64_MAX;

// As entropy.cc tells the time.
int64_t in_world(clockid_t clock, const timespec& at) {
  timespec now{};
  clock_gettime(clock, &now);
  return world().now() + (at.tv_sec - now.tv_sec) * 1'000'000 + (at.tv_nsec - now.tv_nsec) / 1000;
}

}  // namespace

Threads::Threads(World& world) : world_(world) {
  enters_heap();
  self = begun();
  self->state = Thread::State::running;
  current = 0;
}

Threads::~Threads() {
  self = nullptr;
  current = kNobody;
  leaves_heap();
}

int Threads::here() {
  return current;
}

bool Threads::inside() {
  return self != nullptr;
}

pthread_t Threads::self_id() {
  return reinterpret_cast<pthread_t>(self);
}

Threads::Thread* Threads::begun() {
  auto made = std::make_unique<Thread>();
  made->world = &world_;
  made->number = static_cast<int>(all_.size());
  all_.push_back(std::move(made));
  return all_.back().get();
}

void Threads::run(Thread* thread, const std::function<void()>& work) {
  self = thread;
  current = thread->number;
  if constexpr (!kPlayed) thread->fiber.enter();
  enters_heap();
  thread->state = Thread::State::running;
  work();
  Fiber::end_own();
  Threads& threads = thread->world->threads();
  if (threads.at_end) threads.at_end();
  thread->state = Thread::State::finished;
  threads.world_.thread_has_ended(thread->number);
  threads.wake(thread);
  Thread& next = threads.next();
  self = nullptr;
  leaves_heap();
  thread->fiber.leave(next.fiber);
}

bool Threads::is_due(const Thread& thread) const {
  switch (thread.state) {
    case Thread::State::ready: return true;
    case Thread::State::waiting: return thread.until <= world_.now();
    case Thread::State::polling: {
      if (thread.until <= world_.now()) return true;
      const auto mine = static_cast<size_t>(thread.number + 1);
      return mine < world_.events_.size() && !world_.events_[mine].empty() &&
             world_.events_[mine].front().at <= world_.now();
    }
    default: return false;
  }
}

// Clients and servers go on as well, on whatever thread comes by here.
Threads::Thread& Threads::next() {
  for (;;) {
    size_t able = 0;
    for (auto& one : all_)
      able += is_due(*one) ? 1 : 0;
    auto& nobodys = world_.events_.front();
    const bool others = !nobodys.empty() && nobodys.front().at <= world_.now();
    if (others && (able == 0 || world_.order_.percent(50))) {
      const int before = std::exchange(current, kNobody);
      world_.run_due(nobodys);
      current = before;
      continue;
    }
    if (able > 0) {
      size_t chosen = world_.order_.below(able);
      for (auto& one : all_) {
        if (is_due(*one) && chosen-- == 0) return *one;
      }
    }
    int64_t soonest = nobodys.empty() ? kEver : nobodys.front().at;
    for (auto& one : all_) {
      if (one->state != Thread::State::polling && one->state != Thread::State::waiting) continue;
      soonest = std::min(soonest, one->until);
      const auto its = static_cast<size_t>(one->number + 1);
      if (one->state == Thread::State::polling && its < world_.events_.size() && !world_.events_[its].empty())
        soonest = std::min(soonest, world_.events_[its].front().at);
    }
    if (soonest == kEver) std::abort();  // all wait for each other
    if (world_.order_.percent(25)) soonest += world_.order_.between(0, 100);
    world_.now_ = std::max(world_.now_ + 1, soonest);
  }
}

void Threads::give_way() {
  Thread* me = self;
  Thread& next_one = next();
  if (&next_one == me) {
    me->state = Thread::State::running;
    return;
  }
  next_one.state = Thread::State::running;
  Fiber::pass(me->fiber, next_one.fiber);
  me->state = Thread::State::running;
}

void Threads::poll(int64_t deadline) {
  self->state = Thread::State::polling;
  self->until = deadline;
  give_way();
}

bool Threads::wait(const void* where, int64_t until) {
  self->state = Thread::State::waiting;
  self->where = where;
  self->until = until;
  self->woken = false;
  give_way();
  return self->woken;
}

void Threads::wake(const void* where) {
  for (auto& one : all_) {
    if (one->state != Thread::State::waiting || one->where != where) continue;
    one->state = Thread::State::ready;
    one->woken = true;
  }
}

}  // namespace lineward::sim

using lineward::sim::kPlayed;
using lineward::sim::Threads;
using lineward::sim::world;

// ---- threads ----

namespace {

struct Begin {
  Threads::Thread* thread;
  void* (*start)(void*);
  void* with;

  static void* run(void* given) {
    const Begin its = *static_cast<Begin*>(given);
    delete static_cast<Begin*>(given);
    Threads::run(its.thread, [&] { its.start(its.with); });
    return nullptr;
  }
};

}  // namespace

extern "C" int pthread_create(pthread_t* made, const pthread_attr_t* attributes, void* (*start)(void*),
                              void* with) noexcept {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const Create create = lineward::sim::real<Create>("pthread_create", nullptr);
  if (!Threads::inside()) return create(made, attributes, start, with);
  Threads::Thread* const thread = world().threads().begun();
  auto* begin = new Begin{thread, start, with};  // its own from here on
  int failed = 0;
  if constexpr (kPlayed) {
    *made = reinterpret_cast<pthread_t>(thread);
    thread->fiber.begin([](void* given) { Begin::run(given); }, begin);
  } else {
    failed = create(made, attributes, Begin::run, begin);
  }
  if (failed == 0) lineward::sim::known()[*made] = thread;
  return failed;
}

extern "C" int pthread_join(pthread_t thread, void** result) {
  using Join = int (*)(pthread_t, void**);
  static const Join join = lineward::sim::real<Join>("pthread_join", nullptr);
  if (!Threads::inside()) return join(thread, result);
  auto found = lineward::sim::known().find(thread);
  if (found != lineward::sim::known().end()) {
    while (found->second->state != Threads::Thread::State::finished)
      world().threads().wait(found->second, lineward::sim::kEver);
    lineward::sim::known().erase(found);
  }
  return kPlayed ? 0 : join(thread, result);
}

#if LINEWARD_SIM_PLAYS
extern "C" int pthread_detach(pthread_t thread) noexcept {
  if (lineward::sim::known().erase(thread) > 0) return 0;
  using Detach = int (*)(pthread_t);
  static const Detach detach = lineward::sim::real<Detach>("pthread_detach", nullptr);
  return detach(thread);
}

extern "C" pthread_t pthread_self() noexcept {
  if (Threads::inside()) return Threads::self_id();
  using Self = pthread_t (*)();
  static const Self its = lineward::sim::real<Self>("pthread_self", nullptr);
  return its();
}

// Signals of a world are the world's (World::raise), blocked or not.
extern "C" int pthread_sigmask(int how, const sigset_t* set, sigset_t* before) noexcept {
  if (Threads::inside()) {
    if (before != nullptr) sigemptyset(before);
    return 0;
  }
  using Mask = int (*)(int, const sigset_t*, sigset_t*);
  static const Mask mask = lineward::sim::real<Mask>("pthread_sigmask", nullptr);
  return mask(how, set, before);
}
#endif

// ---- what they wait with ----

extern "C" int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  using Wait = int (*)(pthread_cond_t*, pthread_mutex_t*);
  static const Wait wait = lineward::sim::real<Wait>("pthread_cond_wait", "GLIBC_2.3.2");
  if (!Threads::inside()) return wait(condition, mutex);
  pthread_mutex_unlock(mutex);
  world().threads().wait(condition, lineward::sim::kEver);
  pthread_mutex_lock(mutex);
  return 0;
}

extern "C" int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                      const struct timespec* until) {
  using Wait = int (*)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const struct timespec*);
  static const Wait wait = lineward::sim::real<Wait>("pthread_cond_clockwait", nullptr);
  if (!Threads::inside()) return wait(condition, mutex, clock, until);
  pthread_mutex_unlock(mutex);
  const bool woken = world().threads().wait(condition, lineward::sim::in_world(clock, *until));
  pthread_mutex_lock(mutex);
  return woken ? 0 : ETIMEDOUT;
}

extern "C" int pthread_cond_signal(pthread_cond_t* condition) noexcept {
  using Signal = int (*)(pthread_cond_t*);
  static const Signal signal = lineward::sim::real<Signal>("pthread_cond_signal", "GLIBC_2.3.2");
  if (!Threads::inside()) return signal(condition);
  world().threads().wake(condition);
  return 0;
}

extern "C" int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
  using Broadcast = int (*)(pthread_cond_t*);
  static const Broadcast broadcast = lineward::sim::real<Broadcast>("pthread_cond_broadcast", "GLIBC_2.3.2");
  if (!Threads::inside()) return broadcast(condition);
  world().threads().wake(condition);
  return 0;
}

// std::future waits by the kernel itself. Outside of a world no thread does.
bool std::__atomic_futex_unsigned_base::_M_futex_wait_until(unsigned* where, unsigned, bool has_timeout,
                                                            std::chrono::seconds s,
                                                            std::chrono::nanoseconds ns) {
  const timespec at{static_cast<time_t>(s.count()), static_cast<long>(ns.count())};
  return world().threads().wait(
      where, has_timeout ? lineward::sim::in_world(CLOCK_REALTIME, at) : lineward::sim::kEver);
}

bool std::__atomic_futex_unsigned_base::_M_futex_wait_until_steady(unsigned* where, unsigned,
                                                                   bool has_timeout, std::chrono::seconds s,
                                                                   std::chrono::nanoseconds ns) {
  const timespec at{static_cast<time_t>(s.count()), static_cast<long>(ns.count())};
  return world().threads().wait(
      where, has_timeout ? lineward::sim::in_world(CLOCK_MONOTONIC, at) : lineward::sim::kEver);
}

void std::__atomic_futex_unsigned_base::_M_futex_notify_all(unsigned* where) {
  if (Threads::inside()) world().threads().wake(where);
}
