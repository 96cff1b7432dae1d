#include "runtime/plugin_host.h"

#include <sys/wait.h>

#include <catch2/catch.hpp>

#include "foundation/process/child_process.h"
#include "foundation/process/spawner.h"

using namespace lineward;
using namespace lineward::runtime;
using plugin::PluginSet;
using std::chrono::milliseconds;

namespace {

class Slow final : public plugin::Plugin {
 public:
  std::unique_ptr<plugin::Hook> attach(plugin::ExchangeView&) override { return nullptr; }
  bool is_finishing() const override { return finishing; }
  void ending() override { ++told; }

  bool finishing = true;
  int told = 0;
};

struct World {
  World() : spawner(process::Spawner::create(loop, process::fork_spawner(&pid).value(), [] {}).value()) {}
  ~World() {
    spawner.reset();
    waitpid(pid, nullptr, 0);
  }
  // As a reload took it out of service.
  std::shared_ptr<PluginSet::Member> member() {
    auto made = std::make_shared<PluginSet::Member>();
    made->plugin = std::make_unique<Slow>();
    return made;
  }
  void pass(milliseconds time) {
    net::Timer timer(loop);
    timer.start(time, [&] { loop.defer([&] { loop.stop(); }); });
    loop.run();
  }

  net::Loop loop;
  pid_t pid = -1;
  config::Config config;
  std::unique_ptr<process::Spawner> spawner;
  PluginHost host{loop, *spawner, config, 0};
};

Slow& slow(const std::shared_ptr<PluginSet::Member>& member) {
  return static_cast<Slow&>(*member->plugin);
}

}  // namespace

TEST_CASE(
    "what a reload took out of service stays while an exchange has it, and while it has something to do") {
  World world;
  auto used = world.member();
  auto busy = world.member();
  auto done = world.member();
  const std::weak_ptr<PluginSet::Member> of_used = used, of_busy = busy, of_done = done;
  Slow& still = slow(busy);
  slow(used).finishing = slow(done).finishing = false;
  world.host.linger({used, std::move(busy), std::move(done)});
  world.pass(milliseconds(300));
  CHECK(of_done.expired());
  CHECK_FALSE(of_used.expired());
  CHECK_FALSE(of_busy.expired());
  still.finishing = false;
  used.reset();
  world.pass(milliseconds(300));
  CHECK(of_used.expired());
  CHECK(of_busy.expired());
}

TEST_CASE("of what reloads took out of service 32 stay, the newest") {
  World world;
  std::vector<std::weak_ptr<PluginSet::Member>> all;
  for (int reload = 0; reload < 20; ++reload) {
    std::vector<std::shared_ptr<PluginSet::Member>> retired{world.member(), world.member()};
    all.insert(all.end(), retired.begin(), retired.end());
    world.host.linger(std::move(retired));
  }
  for (size_t i = 0; i < all.size(); ++i) {
    INFO(i);
    CHECK(all[i].expired() == (i < 8));
  }
}

TEST_CASE("at the end all are told, once, and waited for") {
  World world;
  auto former = world.member();
  auto present = world.member();
  world.host.linger({former});
  bool over = false;
  world.host.end({present}, [&] { over = true; });
  CHECK(slow(former).told == 1);
  CHECK(slow(present).told == 1);
  CHECK_FALSE(over);
  world.pass(milliseconds(100));
  CHECK_FALSE(over);
  slow(former).finishing = false;
  world.pass(milliseconds(100));
  CHECK_FALSE(over);
  slow(present).finishing = false;
  world.pass(milliseconds(100));
  CHECK(over);
}

TEST_CASE("at the end no plugin is waited for longer than two seconds") {
  World world;
  auto present = world.member();
  bool over = false;
  const milliseconds before = world.loop.now();
  world.host.end({present}, [&] {
    over = true;
    world.loop.stop();
  });
  world.loop.run();
  CHECK(over);
  CHECK(world.loop.now() - before >= PluginHost::kFarewell);
}
