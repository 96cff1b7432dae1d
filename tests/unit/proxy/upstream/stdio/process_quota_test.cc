#include "proxy/upstream/stdio/process_quota.h"

#include <list>

#include "foundation/base/account.h"
#include "unit/proxy/upstream/stdio/stdio_world.h"

using namespace lineward;
using namespace lineward::upstream;
using std::chrono::milliseconds;

namespace {

struct Prober final : EraProber {
  void ask(const core::UpstreamRequest*, Done) override {}
  bool is_busy() const override { return busy; }
  bool busy = false;
};

// Groups with processes that are requested and never begin to run: one without a waiting call is idle.
struct World final : GroupCallbacks {
  explicit World(uint32_t instances) {
    stdio.server.instances = instances;
    stdio.server.pool.prewarm = 1;
  }
  ~World() {
    for (auto& held : calls)
      held.group->withdraw(held.call);
    for (auto& held : calls)
      held.call.cancel("the test is over");
    Account::limit_shares(100);
  }

  // GroupCallbacks
  StdioHealth& health() override { return its_health; }
  Room room_for_instance(const InstanceGroup& asking, const Account* whose) override {
    return room.take(asking, whose);
  }
  bool capacity_pending() const override { return groups.leaving() > 0; }
  std::unique_ptr<StdioInstance> take_spare(const InstanceGroup&, const Account*) override { return nullptr; }
  void start_failed(const ProcessEnd&, std::deque<StdioCall*>&) override {}
  bool is_of_other_era(InstanceGroup&, const mcp::Message&) override { return false; }
  bool serves_as_modern(InstanceGroup&, const ProcessEnd&) override { return false; }
  size_t& in_flight() override { return calls_in_flight; }
  bool stopping() const override { return false; }
  void schedule_pump() override {}
  void schedule_pump(InstanceGroup&) override {}
  void take_leaving(std::unique_ptr<StdioInstance> instance) override {
    groups.take_leaving(std::move(instance));
  }
  void instance_gone(StdioInstance& instance) override { groups.free_gone(instance); }
  void instance_lost() override {}
  void group_served(InstanceGroup&) override {}

  // A group with a call; its process is requested if there is room.
  InstanceGroup& wants(const std::string& key, const AccountPtr& whose = nullptr) {
    CallerGroup plan;
    plan.key = key;
    plan.per_call = whose != nullptr;
    InstanceGroup& group = groups.get(std::move(plan));
    core::UpstreamRequest request =
        request_of(mcp::Era::modern, R"({"jsonrpc":"2.0","id":1,"method":"tools/call"})");
    core::ClientRequest from;
    from.account = whose;
    request.from = std::make_shared<const core::ClientRequest>(std::move(from));
    auto& held = calls.emplace_back(&group, stdio.made(), std::move(request));
    group.enqueue(held.call);
    group.pump();
    return group;
  }
  // The same, and then no call waits for its process any more.
  InstanceGroup& idle(const std::string& key, const AccountPtr& whose = nullptr) {
    InstanceGroup& group = wants(key, whose);
    group.withdraw(calls.back().call);
    run_for(stdio.loop, milliseconds(2));  // the next one is used later
    return group;
  }
  void next_turn() { room.count_anew(); }

  struct Held {
    Held(InstanceGroup* its_group, StdioUpstream& upstream, core::UpstreamRequest request)
        : group(its_group), call(upstream, std::move(request), asker) {}
    InstanceGroup* group;
    Asker asker;
    StdioCall call;
  };
  StdioWorld stdio;
  StdioHealth its_health{stdio.loop, stdio.server, [](const core::Failure&) {}};
  size_t calls_in_flight = 0;
  InstanceGroups groups{stdio.loop, *stdio.spawner, stdio.server, *this};
  Prober prober;
  ProcessQuota room{stdio.loop, stdio.server, groups, prober};
  Room take(const InstanceGroup& asking) { return room.take(asking, asking.caller()); }
  std::list<Held> calls;
};

}  // namespace

TEST_CASE("places are given out until all are taken, also within one turn") {
  World world(2);
  InstanceGroup& first = world.wants("a");
  CHECK(first.instances() == 1);
  CHECK(world.room.for_spares() == 1);
  // In this turn one more, though it has not been started yet.
  CHECK(world.take(first) == Room::there);
  CHECK(world.take(first) == Room::none);
  world.next_turn();
  CHECK(world.wants("b").instances() == 1);
  CHECK(world.wants("c").instances() == 0);
  CHECK(world.room.for_spares() == 0);
  CHECK(world.groups.leaving() == 0);  // both are waited for
}

TEST_CASE("if all are taken the process goes that was used longest ago and that no call waits for") {
  World world(3);
  InstanceGroup& busy = world.wants("busy");
  run_for(world.stdio.loop, milliseconds(2));
  InstanceGroup& old = world.idle("old");
  InstanceGroup& young = world.idle("young");
  world.next_turn();
  InstanceGroup& asking = world.wants("asking");
  CHECK(asking.instances() == 0);  // not before it is gone
  CHECK(old.instances() == 0);
  CHECK(young.instances() == 1);
  CHECK(busy.instances() == 1);
  CHECK(world.groups.leaving() == 1);
  CHECK(world.room.for_spares() == 0);  // it still runs

  // An ending process makes room for a group that asks, in each turn anew.
  world.next_turn();
  CHECK(world.take(asking) == Room::none);
  CHECK(world.groups.leaving() == 1);
  // For a second one another has to go; for a third there is none.
  CHECK(world.take(busy) == Room::none);
  CHECK(world.groups.leaving() == 2);
  CHECK(young.instances() == 0);
  CHECK(world.take(busy) == Room::none);
  CHECK(world.groups.leaving() == 2);
  CHECK(busy.instances() == 1);
}

TEST_CASE("a group that asks does not lose its own process for it") {
  World world(1);
  InstanceGroup& group = world.idle("a");
  world.next_turn();
  CHECK(world.take(group) == Room::none);
  CHECK(group.instances() == 1);
  CHECK(world.groups.leaving() == 0);
}

TEST_CASE(
    "a process that was started ahead counts for its caller, which gets none beyond its share that another "
    "wants") {
  Account::limit_shares(50);
  const AccountPtr a = Account::of("principal a"), b = Account::of("principal b");
  World world(4);
  InstanceGroup& first = world.wants("a1", a);
  InstanceGroup& other = world.wants("b1", b);
  world.next_turn();
  CHECK_FALSE(world.room.take_spare(first, first.caller()));  // there is none
  world.groups.fill_spares(1);
  world.next_turn();
  CHECK(world.room.take_spare(first, first.caller()));
  CHECK(world.room.take_spare(first, first.caller()));  // lent: no call waits
  world.next_turn();
  world.wants("a2", a);
  world.next_turn();
  CHECK(world.take(other) == Room::none);  // one runs ahead, and there are three
  world.next_turn();
  CHECK_FALSE(world.room.take_spare(first, first.caller()));
  CHECK(world.room.take_spare(other, other.caller()));
  world.groups.retire_spares();
  CHECK(world.groups.spares() == 0);
  world.groups.fill_spares(1);
  CHECK(world.groups.spares() == 0);  // none is started any more
}

TEST_CASE(
    "a caller has more than its share of processes until another waits, and gives back what has no call") {
  Account::limit_shares(50);
  const AccountPtr a = Account::of("principal a"), b = Account::of("principal b");
  World world(4);
  InstanceGroup& busy = world.wants("a1", a);
  run_for(world.stdio.loop, milliseconds(2));
  InstanceGroup& second = world.idle("a2", a);
  InstanceGroup& third = world.wants("a3", a);
  CHECK(third.instances() == 1);  // the third of four, half of which are its share
  InstanceGroup& fourth = world.wants("a4", a);
  CHECK(fourth.instances() == 1);
  world.next_turn();
  // In a full server it makes room with its own.
  InstanceGroup& fifth = world.wants("a5", a);
  CHECK(fifth.instances() == 0);
  CHECK(second.instances() == 0);
  CHECK(world.groups.leaving() == 1);
  world.next_turn();
  InstanceGroup& others = world.wants("b1", b);
  CHECK(others.instances() == 0);
  // The ending process counts for the other, which has none: the first has its share.
  world.next_turn();
  CHECK(world.room.is_beyond_share(fifth));
  CHECK_FALSE(world.room.is_beyond_share(others));
  CHECK(busy.instances() == 1);
}

TEST_CASE("state that has a name is never beyond its caller's share") {
  Account::limit_shares(50);
  const AccountPtr a = Account::of("principal a");
  World world(4);
  world.stdio.server.isolation = config::Isolation::principal;
  CHECK(world.wants("a1", a).instances() == 1);
  CHECK(world.wants("a2", a).instances() == 1);
  CHECK(world.wants("a3", a).instances() == 0);
  CHECK(world.groups.find("a3")->without_room_since() != milliseconds::max());
}

TEST_CASE(
    "a caller without a share in a full server gets a place, and any caller's idle process goes for it") {
  Account::limit_shares(50);
  const AccountPtr a = Account::of("principal a"), b = Account::of("principal b");
  World world(2);
  InstanceGroup& of_a = world.idle("a", a);
  InstanceGroup& of_nobody = world.idle("shared");
  world.next_turn();
  world.wants("b", b);
  CHECK(of_a.instances() == 0);
  CHECK(of_nobody.instances() == 1);
}

TEST_CASE("processes that were started ahead take places, and are started only where there are some") {
  World world(3);
  world.stdio.server.pool.prewarm = 2;
  world.wants("a");
  CHECK(world.room.for_spares() == 2);
  world.groups.fill_spares(world.room.for_spares());
  CHECK(world.groups.spares() == 2);
  CHECK(world.room.for_spares() == 0);
  world.next_turn();
  CHECK(world.wants("b").instances() == 0);
  world.groups.retire_spares();
  CHECK(world.room.for_spares() == 0);  // they are ending
}

TEST_CASE("the era probe's process counts, no other process is ended for it") {
  World world(2);
  world.prober.busy = true;
  InstanceGroup& first = world.idle("a");
  CHECK(first.instances() == 1);
  world.next_turn();
  InstanceGroup& second = world.wants("b");
  CHECK(second.instances() == 0);
  CHECK(first.instances() == 1);
  world.prober.busy = false;
  world.next_turn();
  CHECK(world.take(second) == Room::there);
}

TEST_CASE("beside the era probe's process none runs of a server that is to have one alone") {
  World world(64);
  world.stdio.server.isolation = config::Isolation::shared;
  world.prober.busy = true;
  CHECK(world.wants("a").instances() == 0);
  world.prober.busy = false;
  world.next_turn();
  CHECK(world.wants("b").instances() == 1);
}
