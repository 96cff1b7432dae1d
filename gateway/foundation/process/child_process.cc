#include "foundation/process/child_process.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <uv.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <deque>
#include <map>
#include <utility>

#include "foundation/base/check.h"
#include "foundation/net/handle.h"
#include "foundation/process/spawn_wire.h"

namespace lineward::process {

namespace {

using spawning::OwnedFd;
using spawning::Reply;
using spawning::Request;

constexpr size_t kMaxWaitingSpawns = 64;  // while the socket is full; each holds four descriptors
constexpr int kRepliesPerTurn = 128;
constexpr net::milliseconds kRetryPause{10};

struct Outgoing {
  Request request;
  OwnedFd fds[spawning::kSpawnFdCount];  // spawn only
};

Unexpected<Error> no_descriptors(const char* what, int error) {
  return fail(std::string("cannot make ") + what + " for a command: " + std::strerror(error), true);
}

}  // namespace

struct Spawner::State {
  State(net::Loop& on, int fd, std::function<void()> when_lost)
      : loop(on), socket(fd), lost(std::move(when_lost)), timer(on) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    lifetime.end();
    close_socket();
  }

  struct Live {
    ChildProcess* child = nullptr;  // null once it was destroyed or has had its last event
    bool started = false;
  };

  net::Loop& loop;
  OwnedFd socket;
  net::Handle<uv_poll_t> poll;
  std::function<void()> lost;
  std::map<uint64_t, Live> live;
  std::deque<Outgoing> outgoing;
  size_t waiting_spawns = 0;  // in `outgoing`
  net::Timer timer;           // retries after ETOOMANYREFS; fails commands started after the loss
  uint64_t last_id = 0;
  bool is_lost = false;
  // Callbacks may destroy the Spawner: code that continues after one checks this first.
  net::Lifetime lifetime;

  Status<> open() {
    const int error =
        poll.open(this, [this](uv_poll_t* handle) { return uv_poll_init(loop.raw(), handle, socket.get()); });
    if (error != 0) return fail(std::string("cannot watch the spawner: ") + uv_strerror(error));
    watch();
    return Done{};
  }

  void close_socket() {
    poll.close();
    socket.reset();  // the spawner reads end of file and kills everything
  }

  void watch() {
    if (!poll) return;
    const bool blocked = !outgoing.empty() && !timer.running();
    uv_poll_start(poll.get(), blocked ? UV_READABLE | UV_WRITABLE : UV_READABLE, on_poll);
  }

  static void on_poll(uv_poll_t* handle, int status, int events) {
    auto* state = static_cast<State*>(handle->data);
    if (state == nullptr) return;
    if (status == 0 && (events & UV_WRITABLE) != 0) state->send_waiting();
    if (status != 0 || (events & UV_READABLE) != 0) state->receive();
  }

  // ---- to the spawner ----

  void post(Outgoing message) {
    if (is_lost) return;
    if (message.request.kind == Request::Kind::spawn) ++waiting_spawns;
    outgoing.push_back(std::move(message));
    if (outgoing.size() == 1) send_waiting();
  }

  void post_signal(uint64_t id, TreeSignal which) {
    if (live.count(id) == 0) return;
    const char byte = static_cast<char>(which);
    for (const auto& waiting : outgoing) {
      const Request& request = waiting.request;
      if (request.kind == Request::Kind::signal && request.id == id && request.which == byte) return;
    }
    Outgoing message;
    message.request.kind = Request::Kind::signal;
    message.request.id = id;
    message.request.which = byte;
    post(std::move(message));
  }

  void send_waiting() {
    while (!outgoing.empty() && socket.open()) {
      const Outgoing& next = outgoing.front();
      std::vector<int> fds;
      const bool spawn = next.request.kind == Request::Kind::spawn;
      for (const auto& fd : next.fds) {
        if (spawn) fds.push_back(fd.get());
      }
      if (spawning::send_message(socket.get(), encode(next.request), fds) < 0) {
        // Too many descriptors in flight: the socket counts as writable nevertheless.
        if (errno == ETOOMANYREFS || errno == ENOBUFS || errno == ENOMEM) {
          timer.start(kRetryPause, [this] { send_waiting(); });
        }
        break;  // a dead spawner is detected by reading
      }
      if (spawn) --waiting_spawns;
      outgoing.pop_front();
    }
    watch();
  }

  // ---- from the spawner ----

  void receive() {
    const auto here = lifetime.watch();
    for (int i = 0; i < kRepliesPerTurn; ++i) {
      std::string bytes;
      const ssize_t n = spawning::receive_message(socket.get(), &bytes, nullptr);
      if (n < 0 && errno == ECONNRESET) continue;  // once, when it died with unread requests; replies follow
      if (n < 0 && errno == EAGAIN) return;
      if (n <= 0) {
        lose();
        return;
      }
      Reply reply;
      if (!decode(bytes, &reply)) continue;
      dispatch(reply);
      if (here.gone() || is_lost) return;
    }
  }

  void dispatch(const Reply& reply) {
    const auto found = live.find(reply.id);
    if (found == live.end()) return;
    Live& entry = found->second;
    switch (reply.kind) {
      case Reply::Kind::started: {
        entry.started = true;
        if (entry.child == nullptr) return;
        entry.child->pid_ = reply.pid;
        if (auto started = std::exchange(entry.child->events_.started, nullptr)) started(reply.pid);
        return;
      }
      case Reply::Kind::failed: end_failed(std::exchange(entry.child, nullptr), reply.failure); return;
      case Reply::Kind::exited: end_exited(std::exchange(entry.child, nullptr), reply.status); return;
      case Reply::Kind::gone: {
        const Live last = entry;
        live.erase(found);
        end_lost(last);
        return;
      }
    }
  }

  // Each of these may destroy the child, and this object too: no member may be used after the call.
  static void end_failed(ChildProcess* child, const Error& failure) {
    if (child == nullptr) return;
    child->running_ = false;
    if (auto failed = std::exchange(child->events_.failed, nullptr)) failed(failure);
  }
  static void end_exited(ChildProcess* child, ExitStatus status) {
    if (child == nullptr) return;
    child->running_ = false;
    if (auto exited = std::exchange(child->events_.exited, nullptr)) exited(status);
  }
  static void end_lost(const Live& entry) {
    if (entry.started) {
      end_exited(entry.child, {.code = 0, .signal = SIGKILL});
    } else {
      end_failed(entry.child, {.text = {}, .code = EPIPE, .place = "spawner"});
    }
  }

  void lose() {
    if (is_lost) return;
    is_lost = true;
    close_socket();
    outgoing.clear();
    waiting_spawns = 0;
    timer.stop();
    const auto here = lifetime.watch();
    end_all();
    if (here.gone()) return;
    if (auto call = std::exchange(lost, nullptr)) call();
  }

  void end_all() {
    const auto here = lifetime.watch();
    while (!here.gone() && !live.empty()) {
      const Live entry = live.begin()->second;
      live.erase(live.begin());
      end_lost(entry);
    }
  }
};

// ---- Spawner ----

Result<std::unique_ptr<Spawner>> Spawner::create(net::Loop& loop, int socket, std::function<void()> lost) {
  auto state = std::make_unique<State>(loop, socket, std::move(lost));
  if (auto opened = state->open(); !opened) return Unexpected<Error>{opened.error()};
  return std::unique_ptr<Spawner>(new Spawner(std::move(state)));
}

Spawner::Spawner(std::unique_ptr<State> state) : state_(std::move(state)) {}

Spawner::~Spawner() {
  for (const auto& [id, entry] : state_->live)
    LW_CHECK(entry.child == nullptr);  // a child must not outlive its spawner
}

Result<std::unique_ptr<ChildProcess>> Spawner::start(const SpawnRequest& request,
                                                     ChildProcess::Events events) {
  const std::string command = spawning::encode(request);
  if (command.size() > spawning::kMaxCommandBytes) {
    return fail("the command with its environment has " + std::to_string(command.size()) +
                " bytes; the limit is " + std::to_string(spawning::kMaxCommandBytes));
  }
  if (state_->waiting_spawns >= kMaxWaitingSpawns) {
    return fail(std::to_string(kMaxWaitingSpawns) + " commands are waiting to be started already", true);
  }
  Outgoing message;
  message.request.id = ++state_->last_id;
  OwnedFd ours[spawning::kStdioCount];
  for (size_t i = 0; i < spawning::kStdioCount; ++i) {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0) return no_descriptors("pipes", errno);
    const bool is_stdin = i == 0;
    ours[i].reset(is_stdin ? ends[1] : ends[0]);
    message.fds[i].reset(is_stdin ? ends[0] : ends[1]);
    if (::fcntl(ours[i].get(), F_SETFL, O_NONBLOCK) != 0) return no_descriptors("pipes", errno);
  }
  OwnedFd& memory = message.fds[spawning::kStdioCount];
  memory.reset(::memfd_create("lineward-command", MFD_CLOEXEC));
  if (!memory.open() || !spawning::write_all(memory.get(), command)) return no_descriptors("memory", errno);

  std::unique_ptr<ChildProcess> child(new ChildProcess(*this, message.request.id, std::move(events)));
  for (size_t i = 0; i < spawning::kStdioCount; ++i)
    child->fds_[i] = ours[i].release();
  state_->live[message.request.id].child = child.get();
  if (state_->is_lost) {
    State* state = state_.get();
    state->timer.start(net::milliseconds(0), [state] { state->end_all(); });
  } else {
    state_->post(std::move(message));
  }
  return child;
}

size_t Spawner::live() const {
  return state_->live.size();
}

// ---- ChildProcess ----

ChildProcess::~ChildProcess() {
  const auto found = spawner_.state_->live.find(id_);
  if (found != spawner_.state_->live.end()) found->second.child = nullptr;
  if (running_) spawner_.state_->post_signal(id_, TreeSignal::kill);
  for (const int fd : fds_) {
    if (fd >= 0) ::close(fd);
  }
}

void ChildProcess::signal(TreeSignal which) {
  spawner_.state_->post_signal(id_, which);
}

}  // namespace lineward::process
