// Preloaded into the gateway: fails every Nth allocation, moves the wall clock, makes one read slow. Its
// actions are in a page shared through the file FAULT_HOOK; only the process named there performs them.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <new>

namespace {

// lib/hook.mjs writes the same, as 64-bit integers.
struct Page {
  std::atomic<int64_t> pid;
  std::atomic<int64_t> every;     // every so-manyth allocation fails; 0: none
  std::atomic<int64_t> clock_s;   // added to the wall clock
  std::atomic<int64_t> stall_ms;  // the next read takes so long
  std::atomic<int64_t> allocations;
  std::atomic<int64_t> failed;
};

Page* page = nullptr;
pid_t self = 0;

template <class F>
F next(const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

bool active() {
  return page != nullptr && self != 0 && page->pid.load(std::memory_order_relaxed) == self;
}

bool must_fail() {
  if (!active()) return false;
  int64_t every = page->every.load(std::memory_order_relaxed);
  if (every <= 0 || (page->allocations.fetch_add(1) + 1) % every != 0) return false;
  page->failed.fetch_add(1);
  return true;
}

__attribute__((constructor)) void begin() {
  const char* path = getenv("FAULT_HOOK");
  if (path == nullptr) return;
  int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  void* memory = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (memory == MAP_FAILED) return;
  self = getpid();
  pthread_atfork(nullptr, nullptr, [] { self = 0; });
  page = static_cast<Page*>(memory);
}

void move(struct timespec* time) {
  if (active()) time->tv_sec += page->clock_s.load(std::memory_order_relaxed);
}

}  // namespace

#pragma GCC visibility push(default)

void* operator new(size_t size) {
  static auto real = next<void* (*)(size_t)>("_Znwm");
  if (must_fail()) throw std::bad_alloc();
  return real(size);
}

extern "C" int clock_gettime(clockid_t clock, struct timespec* time) noexcept {
  static auto real = next<int (*)(clockid_t, struct timespec*)>("clock_gettime");
  int result = real(clock, time);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) move(time);
  return result;
}

extern "C" int gettimeofday(struct timeval* time, void* zone) noexcept {
  static auto real = next<int (*)(struct timeval*, void*)>("gettimeofday");
  int result = real(time, zone);
  if (result == 0 && active()) time->tv_sec += page->clock_s.load(std::memory_order_relaxed);
  return result;
}

extern "C" time_t time(time_t* out) noexcept {
  struct timespec now {};
  clock_gettime(CLOCK_REALTIME, &now);
  if (out != nullptr) *out = now.tv_sec;
  return now.tv_sec;
}

extern "C" ssize_t read(int fd, void* buffer, size_t size) {
  static auto real = next<ssize_t (*)(int, void*, size_t)>("read");
  if (active()) {
    int64_t ms = page->stall_ms.exchange(0);
    if (ms > 0) {
      struct timespec wait {
        ms / 1000, (ms % 1000) * 1000000
      };
      while (nanosleep(&wait, &wait) != 0) {
      }
    }
  }
  return real(fd, buffer, size);
}

#ifdef FAULT_MALLOC
// glibc's own: dlsym would allocate.
extern "C" void* __libc_malloc(size_t size);
extern "C" void* __libc_calloc(size_t count, size_t size);
extern "C" void* __libc_realloc(void* memory, size_t size);

extern "C" void* malloc(size_t size) noexcept {
  return must_fail() ? nullptr : __libc_malloc(size);
}
extern "C" void* calloc(size_t count, size_t size) noexcept {
  return must_fail() ? nullptr : __libc_calloc(count, size);
}
extern "C" void* realloc(void* memory, size_t size) noexcept {
  return must_fail() ? nullptr : __libc_realloc(memory, size);
}
#endif

#pragma GCC visibility pop
