// Time and chance as the C library, OpenSSL and the C++ library give them: in this program they come from the
// world. An executable's symbols come before those of shared libraries.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/rand.h>
#include <poll.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdint>
#include <cstring>
#include <random>

#include "sanitized.h"
#include "world.h"

namespace {

using lineward::sim::has_world;
using lineward::sim::world;

constexpr int64_t kEpoch = 1'790'000'000;  // when every world begins, by the wall clock

void fill(unsigned char* to, size_t count) {
  for (size_t i = 0; i < count; ++i)
    to[i] = static_cast<unsigned char>(world().entropy().next());
}

}  // namespace

extern "C" int clock_gettime(clockid_t id, struct timespec* at) noexcept {
  const bool real = id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE;
  if (!has_world() || (!real && id != CLOCK_MONOTONIC && id != CLOCK_MONOTONIC_COARSE))
    return static_cast<int>(syscall(SYS_clock_gettime, id, at));
  const int64_t now = world().now();
  at->tv_sec = now / 1'000'000 + (real ? kEpoch : 1);
  at->tv_nsec = now % 1'000'000 * 1000;
  return 0;
}

extern "C" ssize_t getrandom(void* to, size_t count, unsigned flags) {
  if (!has_world()) return syscall(SYS_getrandom, to, count, flags);
  fill(static_cast<unsigned char*>(to), count);
  return static_cast<ssize_t>(count);
}

extern "C" int RAND_bytes(unsigned char* to, int count) {
  if (has_world()) {
    fill(to, static_cast<size_t>(count));
    return 1;
  }
  return syscall(SYS_getrandom, to, static_cast<size_t>(count), 0) == count ? 1 : 0;
}

// The gateway's stderr belongs to the world.
extern "C" ssize_t write(int fd, const void* from, size_t count) {
  if (fd == STDERR_FILENO && has_world()) {
    world().log().append(static_cast<const char*>(from), count);
    return static_cast<ssize_t>(count);
  }
  for (;;) {
    const long done = syscall(SYS_write, fd, from, count);
    if (done >= 0 || errno != EINTR) return done;
  }
}

// And there is always room for it.
extern "C" int poll(struct pollfd* which, nfds_t count, int wait) {
  if (has_world() && count == 1 && which->fd == STDERR_FILENO) {
    which->revents = static_cast<short>(which->events & POLLOUT);
    return which->revents != 0 ? 1 : 0;
  }
  return static_cast<int>(syscall(SYS_poll, which, count, wait));
}

// A world has no terminal, and main() reports crashes in it.
extern "C" int open(const char* path, int flags, ...) {
  if (has_world() && std::strcmp(path, "/dev/tty") == 0) {
    errno = ENXIO;
    return -1;
  }
  va_list more;
  va_start(more, flags);
  const bool makes = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  const int mode = makes ? va_arg(more, int) : 0;
  va_end(more);
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

// Between two workers of one gateway.
extern "C" int socketpair(int domain, int type, int protocol, int ends[2]) noexcept {
  if (!has_world()) return static_cast<int>(syscall(SYS_socketpair, domain, type, protocol, ends));
  world().put_pair(ends);
  return 0;
}

#if !LINEWARD_SIM_SANITIZED
extern "C" int sigaction(int signal, const struct sigaction* now, struct sigaction* before) noexcept {
  using Action = int (*)(int, const struct sigaction*, struct sigaction*);
  static const auto real = reinterpret_cast<Action>(dlsym(RTLD_NEXT, "sigaction"));
  if (!has_world()) return real(signal, now, before);
  if (before != nullptr) *before = {};
  return 0;
}

// The processor would be asked what it can do, each time.
void std::random_device::_M_init(const std::string&) {}
void std::random_device::_M_fini() {}
#endif

unsigned int std::random_device::_M_getval() {
  if (has_world()) return static_cast<unsigned int>(world().entropy().next());
  unsigned int value = 0;
  return syscall(SYS_getrandom, &value, sizeof value, 0) == sizeof value ? value : 4;
}
