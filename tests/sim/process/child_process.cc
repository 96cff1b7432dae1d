// net/child_process.h: commands are programs of the world (stdio_server.h).
#include "foundation/process/child_process.h"

#include <cerrno>
#include <csignal>
#include <map>
#include <utility>

#include "foundation/base/check.h"
#include "world.h"

namespace lineward::process {

using sim::world;

struct Spawner::State {
  struct Live {
    ChildProcess* child = nullptr;
    std::shared_ptr<sim::Child> process;
  };
  std::map<uint64_t, Live> live;
  uint64_t last_id = 0;

  void end_failed(uint64_t id, int error) {
    auto found = live.find(id);
    if (found == live.end()) return;
    ChildProcess* child = std::exchange(found->second.child, nullptr);
    gone(id);
    if (child == nullptr) return;
    child->running_ = false;
    if (auto failed = std::exchange(child->events_.failed, nullptr))
      failed({.text = {}, .code = error, .place = "exec"});
  }
  void end_exited(uint64_t id, int code, int signal) {
    auto found = live.find(id);
    if (found == live.end()) return;
    ChildProcess* child = std::exchange(found->second.child, nullptr);
    if (child == nullptr) return;
    child->running_ = false;
    if (auto exited = std::exchange(child->events_.exited, nullptr)) exited({.code = code, .signal = signal});
  }
  void started(uint64_t id, int64_t pid) {
    auto found = live.find(id);
    if (found == live.end() || found->second.child == nullptr) return;
    ChildProcess& child = *found->second.child;
    child.pid_ = static_cast<pid_t>(pid);
    if (auto told = std::exchange(child.events_.started, nullptr)) told(child.pid_);
  }
  void gone(uint64_t id) {
    if (live.erase(id) > 0) --world().live_children();
  }
};

Result<std::unique_ptr<Spawner>> Spawner::create(net::Loop&, int, std::function<void()>) {
  return std::unique_ptr<Spawner>(new Spawner(std::make_unique<State>()));
}

Spawner::Spawner(std::unique_ptr<State> state) : state_(std::move(state)) {}

Spawner::~Spawner() {
  for (const auto& [id, entry] : state_->live) {
    LW_CHECK(entry.child == nullptr);  // it would outlive its spawner
    auto& process = *entry.process;
    process.on_started = nullptr;
    process.on_failed = nullptr;
    process.on_exited = nullptr;
    process.on_gone = nullptr;
  }
}

Result<std::unique_ptr<ChildProcess>> Spawner::start(const SpawnRequest& request,
                                                     ChildProcess::Events events) {
  const uint64_t id = ++state_->last_id;
  std::unique_ptr<ChildProcess> child(new ChildProcess(*this, id, std::move(events)));
  auto process = std::make_shared<sim::Child>();
  process->home = world().home();
  sim::Random random(world().seed(), request.argv.back(), static_cast<uint64_t>(world().next_pid()));
  const auto pipe = [&] {
    return std::make_shared<sim::Link>(world(), sim::Random(random.next()),
                                       sim::draw_weather(random, world().calm), "pipe");
  };
  process->in = pipe();
  process->out = pipe();
  process->err = pipe();
  child->fds_[0] = world().put(process->in);
  child->fds_[1] = world().put(process->out);
  child->fds_[2] = world().put(process->err);
  State* state = state_.get();
  process->on_started = [state, id](int64_t pid) { state->started(id, pid); };
  process->on_failed = [state, id](int error) { state->end_failed(id, error); };
  process->on_exited = [state, id](int code, int signal) { state->end_exited(id, code, signal); };
  process->on_gone = [state, id] { state->gone(id); };
  state->live[id] = {child.get(), process};
  ++world().live_children();
  process->program = world().spawn(request, process);
  return child;
}

size_t Spawner::live() const {
  return state_->live.size();
}

ChildProcess::~ChildProcess() {
  auto found = spawner_.state_->live.find(id_);
  if (found != spawner_.state_->live.end()) {
    found->second.child = nullptr;
    if (running_ && found->second.process->program) found->second.process->program->told('K');
  }
  for (const int fd : fds_) {
    if (fd >= 0) {
      if (auto link = world().take(fd)) {
        link->from_gateway.end();
        link->to_gateway.close_reader();
      }
    }
  }
}

void ChildProcess::signal(TreeSignal which) {
  auto found = spawner_.state_->live.find(id_);
  if (found != spawner_.state_->live.end() && found->second.process->program)
    found->second.process->program->told(static_cast<char>(which));
}

}  // namespace lineward::process
