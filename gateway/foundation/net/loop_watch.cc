#include "foundation/net/loop_watch.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <uv.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <mutex>
#include <string_view>

#include "foundation/base/check.h"
#include "foundation/base/sanitized.h"
#include "foundation/net/handle.h"
#include "foundation/net/loop.h"

namespace lineward::net {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLook{25};
constexpr milliseconds kIdleLook{50};
constexpr int kIdleLooks = 2;  // then the loop counts as idle
constexpr milliseconds kForStack{200};
constexpr int kMaxFrames = 48;
// Ignored by default, and not used otherwise here.
constexpr int kAsk = SIGURG;

// Global, since a signal handler has no other place for them.
std::array<void*, kMaxFrames> frames;
constexpr int kAsked = -1, kAnswering = -2;
std::atomic<int> depth{kAsked};  // then the number of frames

void on_asked(int) {
  // A handler asked earlier may run late: it must not write while another answer is made or read.
  int expected = kAsked;
  if (!depth.compare_exchange_strong(expected, kAnswering, std::memory_order_acq_rel)) return;
  int before = errno;
  // backtrace() crashes in ThreadSanitizer's signal delivery.
  int found = 0;
  if constexpr (!kThreadSanitizer) found = backtrace(frames.data(), kMaxFrames);
  depth.store(found, std::memory_order_release);
  errno = before;
}

// Serializes requests for stacks.
std::mutex asking;
int watches = 0;  // guarded by `asking`

std::string stack_of(pthread_t thread) {
  std::lock_guard<std::mutex> lock(asking);
  if (depth.load(std::memory_order_acquire) == kAnswering) return {};
  depth.store(kAsked, std::memory_order_release);
  if (pthread_kill(thread, kAsk) != 0) return {};
  int found = -1;
  for (milliseconds waited{0}; waited < kForStack && found < 0; ++waited) {
    poll(nullptr, 0, 1);
    found = depth.load(std::memory_order_acquire);
  }
  std::string text;
  // The first frame is on_asked itself, the second the signal's.
  for (int i = 2; i < found; ++i) {
    void* frame = frames[static_cast<size_t>(i)];
    Dl_info info{};
    if (dladdr(frame, &info) == 0 || info.dli_fname == nullptr) continue;
    std::string_view object = info.dli_fname;
    object.remove_prefix(object.rfind('/') + 1);
    text += fmt::format("{}{}+{:#x}", text.empty() ? "" : " ", object,
                        static_cast<char*>(frame) - static_cast<char*>(info.dli_fbase));
  }
  return text;
}

}  // namespace

struct LoopWatch::Ping {
  Handle<uv_async_t> handle;
};

LoopWatch::LoopWatch(Loop& loop, Limits limits, Report report)
    : loop_(loop),
      begun_after_(loop.turn()),
      limits_(limits),
      report_(std::move(report)),
      polled_(uv_backend_fd(loop.raw())),
      ping_(std::make_unique<Ping>()),
      watched_(pthread_self()) {
  const auto init = [&](uv_async_t* h) { return uv_async_init(loop.raw(), h, [](uv_async_t*) {}); };
  LW_CHECK(ping_->handle.open(this, init) == 0);
  uv_unref(reinterpret_cast<uv_handle_t*>(ping_->handle.get()));
  backtrace(frames.data(), 1);  // loads its libraries now, not in the handler
  {
    std::lock_guard<std::mutex> lock(asking);
    struct sigaction action {};
    action.sa_handler = on_asked;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    if (watches++ == 0) sigaction(kAsk, &action, nullptr);
  }
  LW_CHECK(pipe2(wake_, O_CLOEXEC) == 0);
  sched_ = open(fmt::format("/proc/self/task/{}/schedstat", gettid()).c_str(), O_RDONLY | O_CLOEXEC);
  syscall_ = open(fmt::format("/proc/self/task/{}/syscall", gettid()).c_str(), O_RDONLY | O_CLOEXEC);
  // Signals are delivered to the loop's thread.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { watch(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

LoopWatch::~LoopWatch() {
  close(wake_[1]);
  thread_.join();
  close(wake_[0]);
  if (sched_ >= 0) close(sched_);
  if (syscall_ >= 0) close(syscall_);
  {
    std::lock_guard<std::mutex> lock(asking);
    if (--watches == 0) signal(kAsk, SIG_DFL);
  }
  ping_->handle.close();
}

// Total until now: the second number is the nanoseconds that its thread waited for a processor.
milliseconds LoopWatch::starved() const {
  std::array<char, 96> text{};
  unsigned long long waited = 0;
  if (sched_ < 0 || pread(sched_, text.data(), text.size() - 1, 0) <= 0) return milliseconds(0);
  if (std::sscanf(text.data(), "%*u %llu", &waited) != 1) return milliseconds(0);
  return std::chrono::duration_cast<milliseconds>(std::chrono::nanoseconds(waited));
}

// Whether the kernel says that the thread waits for the loop's events, and not for others in a callback.
// False if it does not say.
bool LoopWatch::waits() const {
  std::array<char, 160> text{};
  long call = -1;
  unsigned long descriptor = 0;
  if (syscall_ < 0 || pread(syscall_, text.data(), text.size() - 1, 0) <= 0) return false;
  if (std::sscanf(text.data(), "%ld %lx", &call, &descriptor) != 2) return false;  // "running"
  if (descriptor != static_cast<unsigned long>(polled_)) return false;
  const std::initializer_list<long> polls{
#ifdef SYS_epoll_wait
      SYS_epoll_wait,
#endif
#ifdef SYS_epoll_pwait2
      SYS_epoll_pwait2,
#endif
      SYS_epoll_pwait};
  return std::find(polls.begin(), polls.end(), call) != polls.end();
}

// A loop that does not turn may be idle: the kernel tells its system call, or else the watch asks it to turn
// once. Alternative: libuv could report its idle time (UV_METRICS_IDLE_TIME), but then polls twice and reads
// the clock twice whenever no event is ready.
void LoopWatch::watch() {
  uint64_t turns = 0;
  milliseconds held_up{0}, starved_before{0};
  bool told = false;
  bool asked = false;
  int idle = 0;  // looks in a row that found it waiting
  pollfd end{wake_[0], POLLIN, 0};
  while (poll(&end, 1, static_cast<int>((idle < kIdleLooks ? kLook : kIdleLook).count())) == 0) {
    uint64_t turns_now = loop_.turn();
    const bool turned = turns_now == begun_after_ || turns_now != turns;
    if (turned || waits()) {
      idle = turned ? 0 : idle + 1;
      turns = turns_now;
      held_up = milliseconds(0);
      told = asked = false;
      continue;
    }
    idle = 0;
    if (!asked) {
      asked = true;
      uv_async_send(ping_->handle.get());
      continue;
    }
    if (held_up.count() == 0) starved_before = starved();
    held_up += kLook;
    if (held_up < limits_.warn && (limits_.abort.count() == 0 || held_up < limits_.abort)) continue;
    milliseconds without = std::clamp(starved() - starved_before, milliseconds(0), held_up);
    bool aborting = limits_.abort.count() > 0 && held_up - without >= limits_.abort;
    if (!aborting && (told || held_up < limits_.warn)) continue;
    if (!told) stalls_.fetch_add(1, std::memory_order_relaxed);
    told = true;
    report_({held_up, without, stack_of(watched_), aborting});
    if (aborting) std::abort();
  }
}

}  // namespace lineward::net
