// The rest of net/: wake-ups from other threads, signals, and what watches from outside, of which there is
// nothing here.
#include <utility>

#include "foundation/net/file_watch.h"
#include "foundation/net/loop_watch.h"
#include "foundation/net/signals.h"
#include "foundation/net/std_streams.h"
#include "foundation/net/wakeup.h"
#include "world.h"

namespace lineward::net {

using sim::world;

// ---- Wakeup ----

struct Wakeup::State {
  std::function<void()> woken;
  std::shared_ptr<bool> alive = std::make_shared<bool>(true);
  int home = world().home();
  bool called = false;
};

Wakeup::Wakeup(std::unique_ptr<State> state) : state_(std::move(state)) {}
Wakeup::~Wakeup() = default;

Result<std::unique_ptr<Wakeup>> Wakeup::create(Loop&, std::function<void()> woken) {
  auto state = std::make_unique<State>();
  state->woken = std::move(woken);
  return std::unique_ptr<Wakeup>(new Wakeup(std::move(state)));
}

void Wakeup::wake() {
  if (state_->called) return;
  state_->called = true;
  world().at_home(state_->home, world().now(),
                  [state = state_.get(), alive = std::weak_ptr<bool>(state_->alive)] {
                    if (alive.expired()) return;
                    state->called = false;
                    auto work = state->woken;
                    work();
                  });
}

// ---- signals ----

SignalWatch::SignalWatch(Loop&, int signal, std::function<void()> arrived) : arrived_(std::move(arrived)) {
  world().signals().push_back({signal, world().home(), [this] { arrived_(); }});
}

void ignore_signals(std::initializer_list<int>) {}

void hold_signals(std::initializer_list<int>) {}
void take_signals(std::initializer_list<int>) {}

void reap_children() {}

// ---- nothing to watch ----

struct LoopWatch::Ping {};
LoopWatch::LoopWatch(Loop& loop, Limits limits, Report report)
    : loop_(loop), begun_after_(0), limits_(limits), report_(std::move(report)), polled_(-1) {}
LoopWatch::~LoopWatch() = default;

FileWatch::Signature FileWatch::look(const std::string&) {
  return {};
}

FileWatch::FileWatch(Loop& loop, const std::string& path, std::function<void()> changed, Signature)
    : loop_(loop), path_(path), changed_(std::move(changed)), poll_(loop), settle_(loop) {}
FileWatch::FileWatch(Loop& loop, const std::string& directory, Names names, std::function<void()> changed)
    : loop_(loop),
      path_(directory),
      names_(std::move(names)),
      changed_(std::move(changed)),
      poll_(loop),
      settle_(loop) {}

// ---- stdin and stdout ----

StdStreams::StdStreams(Loop& loop, StreamCallbacks& owner)
    : loop_(loop), owner_(owner), next_read_(loop), next_look_(loop) {
  in_.streams = out_.streams = this;
}
StdStreams::~StdStreams() {
  lifetime_.end();
}

// An output without a reader shows at the next write here.
void StdStreams::watch_output() {}

Status<> StdStreams::open(int, int) {
  auto given = world().stdio().find(world().home());
  if (given == world().stdio().end()) return fail("nobody is on stdin and stdout in this world");
  for (auto [side, link] : {std::pair(&in_, given->second.in), std::pair(&out_, given->second.out)}) {
    auto stream = ByteStream::from_pipe(loop_, world().put(std::move(link)));
    if (!stream) return fail(stream.error().text);
    side->stream = std::move(*stream);
    side->stream->set_owner(side);
  }
  world().stdio().erase(given);
  return Done{};
}

void StdStreams::start_reading() {
  if (input_ended_ || broken_ || reading_) return;
  reading_ = true;
  in_.stream->start_reading();
}

void StdStreams::pause_reading() {
  reading_ = false;
  if (in_.stream) in_.stream->pause_reading();
}

void StdStreams::write(std::string bytes) {
  if (!broken_) out_.stream->write(std::move(bytes));
}

}  // namespace lineward::net
