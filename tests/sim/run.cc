#include "run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <map>

#include "fiber.h"
#include "foundation/base/account.h"
#include "foundation/base/memory_charge.h"
#include "gateways.h"
#include "hook_service.h"
#include "http_client.h"
#include "http_server.h"
#include "stdio_client.h"
#include "stdio_server.h"

namespace lineward::sim {
namespace {

// Everything that runs in one world, in the order in which it must go.
class Stage {
 public:
  Stage(const Plan& plan, bool tell)
      : plan_(plan), world_(plan.seed), ledger_(world_, plan), gateways_(world_, ledger_, plan) {
    world_.calm = plan.calm;
    if (tell) world_.tell_all();
  }
  Verdict run();

 private:
  void begin();
  std::unique_ptr<Client> make_client(size_t index);
  void cannot_start(const std::shared_ptr<Child>& child);
  void fault(const FaultPlan& fault);
  void reload() { gateways_.raise("SIGHUP", SIGHUP); }
  void when_quiet(Time latest);
  void last_clients();
  void end_when_empty(Time wait, bool last);
  void end_as_soon_as_empty(Time latest);
  bool keeps_what_servers_said() const;
  bool is_empty(runtime::Worker& worker) const;
  bool servers_hear_of_listens() const;
  void look_at_memory();
  void check_empty(runtime::Worker& worker);
  void check_empty();

  const Plan& plan_;
  World world_;
  Ledger ledger_;
  std::vector<std::shared_ptr<StdioServer>> processes_;
  std::vector<std::unique_ptr<HttpServer>> servers_;
  std::unique_ptr<HookService> hook_service_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<Time> spawnless_until_;                // no process of that server can be started
  std::map<std::string, World::Name> proper_names_;  // before something happened to them
  Gateways gateways_;
};

std::unique_ptr<Client> Stage::make_client(size_t index) {
  if (!plan_.on_stdio) return std::make_unique<HttpClient>(world_, ledger_, plan_, index);
  Random random(plan_.seed, "stdio");
  const auto pipe = [&] {
    const Weather weather = draw_weather(random, plan_.calm);
    return std::make_shared<Link>(world_, Random(random.next()), weather, "stdio");
  };
  World::Std& std = world_.stdio()[0];
  std = {pipe(), pipe()};
  return std::make_unique<StdioClient>(world_, ledger_, plan_, index, std.in, std.out);
}

void Stage::begin() {
  world_.spawn = [this](const process::SpawnRequest& request,
                        std::shared_ptr<Child> child) -> std::shared_ptr<Program> {
    for (size_t i = 0; i < plan_.servers.size(); ++i) {
      if (plan_.servers[i].name != request.argv.back()) continue;
      if (world_.now() < spawnless_until_[i]) {
        world_.after(kMillisecond, [this, child] { cannot_start(child); });
        return nullptr;
      }
      auto process = std::make_shared<StdioServer>(world_, ledger_, plan_.servers[i], i, std::move(child));
      std::erase_if(processes_, [](const auto& one) { return !one->running(); });
      processes_.push_back(process);
      process->begin();
      return process;
    }
    return nullptr;
  };
  spawnless_until_.resize(plan_.servers.size());
  servers_.resize(plan_.servers.size());
  for (size_t i = 0; i < plan_.servers.size(); ++i) {
    if (plan_.servers[i].http)
      servers_[i] = std::make_unique<HttpServer>(world_, ledger_, plan_.servers[i], i);
  }
  if (plan_.policies.hooks) hook_service_ = std::make_unique<HookService>(world_, plan_);
  for (size_t i = 0; i < plan_.servers.size(); ++i) {
    for (const Time pulse : plan_.servers[i].pulses) {
      world_.at(pulse, [this, i] {
        world_.tell(fmt::format("s{} tells who listens", i));
        if (servers_[i]) servers_[i]->pulse();
        for (auto& process : std::vector(processes_)) {
          if (process->index() == i) process->pulse();
        }
      });
    }
  }
  for (size_t i = 0; i < plan_.clients.size(); ++i) {
    clients_.push_back(make_client(i));
    if (!plan_.clients[i].dropped) clients_.back()->begin();
  }
  if (plan_.narrow && plan_.config.workers == 1) world_.at_home(0, 0, [this] { look_at_memory(); });
  for (const FaultPlan& one : plan_.faults) {
    if (!one.dropped) world_.at(one.at, [this, &one] { fault(one); });
  }
  if (plan_.drain_at >= 0) {
    world_.at(plan_.drain_at, [this] {
      ledger_.drained = true;
      ledger_.drained_at = world_.now();
      gateways_.stop();
    });
    return;
  }
  // After the answers to the last probes, too; some of these come one after the other.
  Time latest = plan_.last + 2 * limits_of_all(plan_) + 20 * kSecond;
  for (const ClientPlan& client : plan_.clients) {
    for (const CallPlan& call : client.calls)
      latest = std::max(latest, call.at + limits_of_all(plan_));
  }
  world_.at(plan_.last + 20 * kSecond, [this, latest] { when_quiet(latest); });
}

// Idle time, a large part of a world, shows nothing.
void Stage::when_quiet(Time latest) {
  size_t planned = 0;
  for (const ClientPlan& client : plan_.clients) {
    for (const CallPlan& call : client.calls)
      planned += client.dropped || call.dropped ? 0 : 1;
  }
  const auto over = [](const auto& one) { return one.second.ended >= 0 || one.second.left >= 0; };
  const auto& calls = ledger_.calls();
  if (world_.now() >= latest || (calls.size() >= planned && std::all_of(calls.begin(), calls.end(), over)))
    return last_clients();
  world_.at(std::min(latest, world_.now() + 2 * kSecond), [this, latest] { when_quiet(latest); });
}

void Stage::cannot_start(const std::shared_ptr<Child>& child) {
  child->out->to_gateway.end();
  child->err->to_gateway.end();
  child->in->from_gateway.close_reader();
  world_.in_home(child->home, [child] {
    if (child->on_failed) child->on_failed(EMFILE);
  });
}

void Stage::fault(const FaultPlan& fault) {
  const size_t index = fault.server;
  const Time until = world_.now() + fault.length;
  const bool has_origins = index < plan_.servers.size() && plan_.servers[index].origins > 1;
  const int origin = has_origins ? fault.origin : -1;
  switch (fault.kind) {
    case FaultPlan::Kind::kill:
      for (auto& process : processes_) {
        if (process->index() == index && process->running()) {
          process->exit(0, SIGKILL);
          break;
        }
      }
      break;
    case FaultPlan::Kind::stall:
      for (auto& process : processes_) {
        if (process->index() == index) process->stall(until);
      }
      if (servers_[index]) servers_[index]->stall_all(until, origin);
      break;
    case FaultPlan::Kind::reset:
      if (servers_[index]) servers_[index]->reset_all(origin);
      break;
    case FaultPlan::Kind::refuse:
    case FaultPlan::Kind::silence: {
      if (!servers_[index]) break;
      for (size_t i = 0; i < plan_.servers[index].origins; ++i) {
        if (origin >= 0 && i != static_cast<size_t>(origin)) continue;
        auto& host = world_.hosts()[address_of_origin(index, i)];
        bool& flag = fault.kind == FaultPlan::Kind::refuse ? host.refuses : host.silent;
        flag = true;
        world_.at(until, [&flag] { flag = false; });
      }
      if (fault.kind == FaultPlan::Kind::refuse) servers_[index]->reset_all(origin);
      break;
    }
    case FaultPlan::Kind::spawnless: spawnless_until_[index] = until; break;
    case FaultPlan::Kind::crowded: world_.crowded_until = std::max(world_.crowded_until, until); break;
    case FaultPlan::Kind::nameless:
    case FaultPlan::Kind::slow_name: {
      auto found = world_.names().find(plan_.servers[index].name + ".sim");
      if (found == world_.names().end()) break;
      World::Name& name = found->second;
      const World::Name before = proper_names_.try_emplace(found->first, name).first->second;
      if (fault.kind == FaultPlan::Kind::nameless) {
        name.addresses.clear();
      } else {
        name.delay = 20 * kSecond;
      }
      world_.at(until, [&name, before] { name = before; });
      break;
    }
    case FaultPlan::Kind::halt:
    case FaultPlan::Kind::stop:
      gateways_.end(index,
                    fault.kind == FaultPlan::Kind::halt ? Gateways::How::now : Gateways::How::in_order);
      world_.at(until, [this, index] { gateways_.open(index); });
      break;
    case FaultPlan::Kind::jump: world_.jump(std::min(fault.length, kSecond)); break;
    case FaultPlan::Kind::reload: {
      config::Config& configured = gateways_.configured();
      config::Server& server = configured.servers[index];
      if (fault.how == 1) server.limits.max_queue += 10;
      if (fault.how == 4) server.limits.max_in_flight = places_after(fault);
      if (fault.how == 2) server.env.emplace_back("GENERATION", std::to_string(world_.now()));
      if (fault.how == 2 && !server.url.empty())
        server.headers.emplace_back("X-Generation", std::to_string(world_.now()));
      // The last one that is left is served at the path of all.
      const auto served = std::count_if(configured.servers.begin(), configured.servers.end(),
                                        [](const auto& one) { return !one.disabled; });
      if (fault.how == 3 && served > (configured.aggregate.enabled ? 2 : 1)) {
        server.disabled = true;
        world_.at(until, [this, &server] {
          server.disabled = false;
          reload();
        });
      }
      reload();
      break;
    }
  }
}

// Clients go; what they had must go too, by the limits that there are for it.
void Stage::last_clients() {
  world_.tell("the clients go");
  for (const auto& [tag, record] : ledger_.calls()) {
    if (record.ended < 0 && record.left < 0) ledger_.violation("a call never ended", tag);
  }
  // With the one on stdio the gateway ends.
  for (auto& client : clients_) {
    if (!plan_.on_stdio) client->leave();
  }
  const auto& listen = plan_.config.listen;
  Time wait = (listen.session_idle + listen.resume_window).count() * kMillisecond + 10 * kSecond;
  for (const auto& server : plan_.config.servers)
    wait = std::max(wait, server.timeouts.cancel_grace.count() * kMillisecond +
                              (listen.session_idle + listen.resume_window).count() * kMillisecond +
                              10 * kSecond);
  // Half of the worlds see what idles come to its end as well; nothing is learnt from that in each.
  const bool quickly = !plan_.on_stdio && Random(plan_.seed, "how it ends").percent(50);
  if (quickly) return end_as_soon_as_empty(world_.now() + wait);
  gateways_.look(world_.now() + wait, [this](runtime::Worker& worker) { check_empty(worker); });
  end_when_empty(wait, false);
}

void Stage::end_as_soon_as_empty(Time latest) {
  world_.after(2 * kSecond, [this, latest] {
    const auto is_left = [this](runtime::Worker& worker) { return !is_empty(worker); };
    if (world_.now() < latest && (gateways_.any(is_left) || servers_hear_of_listens()))
      return end_as_soon_as_empty(latest);
    gateways_.look(world_.now(), [this](runtime::Worker& worker) { check_empty(worker); });
    end_when_empty(0, false);
  });
}

bool Stage::is_empty(runtime::Worker& worker) const {
  // Each of several threads keeps its own counts at first.
  const bool alone = plan_.config.workers == 1 && plan_.replicas == 1;
  const bool holds = alone && held_bytes() != 0 && !keeps_what_servers_said();
  return !holds && worker.exchanges().live().size() == 0 && worker.front().connections() == 0 &&
         worker.front().sessions().ids().empty() && worker.front().backlog() == 0;
}

bool Stage::servers_hear_of_listens() const {
  return std::any_of(processes_.begin(), processes_.end(),
                     [](const auto& one) { return one->running() && one->listens() > 0; }) ||
         std::any_of(servers_.begin(), servers_.end(),
                     [](const auto& one) { return one && one->listens() > 0; });
}

// Processes and sessions that idle hold what is known of them until they have idled for too long.
void Stage::end_when_empty(Time wait, bool last) {
  // The threads report their own counts first.
  for (size_t i = 1; i < world_.threads().count(); ++i)
    world_.at_home(static_cast<int>(i), world_.now() + wait, [] { held_bytes(); });
  world_.at_home(0, world_.now() + wait + kSecond, [this, last] {
    const bool holds = held_bytes() != 0 && !keeps_what_servers_said();
    // Health checks have a period, and hold bytes while they are under way: the second look has another
    // phase.
    if (!last && (holds || servers_hear_of_listens()))
      return end_when_empty(60 * kSecond + 137 * kMillisecond, true);
    check_empty();
    if (plan_.on_stdio) return clients_.front()->leave();
    gateways_.stop();
  });
}

// The other threads do not run meanwhile.
void Stage::check_empty(runtime::Worker& worker) {
  auto& exchanges = worker.exchanges();
  if (exchanges.live().size() != 0)
    ledger_.violation("calls are left when all clients have gone",
                      fmt::format("{}", exchanges.live().size()));
  if (plan_.on_stdio) return;  // its client is still there
  if (worker.front().connections() != 0)
    ledger_.violation("connections are left when all clients have gone",
                      fmt::format("{}", worker.front().connections()));
  if (!worker.front().sessions().ids().empty())
    ledger_.violation("sessions are left when all clients have gone",
                      fmt::format("{}", worker.front().sessions().ids().size()));
  if (worker.front().backlog() != 0) ledger_.violation("bytes wait for clients that have gone", "");
}

// Descriptions of tools, and cacheable results: these stay with the gateway.
bool Stage::keeps_what_servers_said() const {
  for (size_t i = 0; i < plan_.servers.size(); ++i) {
    if (plan_.servers[i].describes || plan_.config.servers[i].cache.enabled) return true;
  }
  return false;
}

// The owners of what is held, for the story.
std::string held_as_what() {
  std::string out;
  for (size_t i = 0; i < kHeldNames.size(); ++i) {
    const uint64_t bytes = MemoryCharge::total(static_cast<Held>(i));
    if (bytes != 0) out += fmt::format(" {} {}", kHeldNames[i], bytes);
  }
  return out;
}

// The client on stdio is still there, and the session that it may have, which listens.
void Stage::check_empty() {
  if (plan_.on_stdio) return;
  for (auto& process : processes_) {
    if (process->running() && process->listens() > 0)
      ledger_.violation("a server has listens left when all clients have gone",
                        fmt::format("s{}", process->index()));
  }
  for (size_t i = 0; i < servers_.size(); ++i) {
    // A goodbye may be lost on the way to a server that cannot be reached.
    bool reachable = true;
    for (const FaultPlan& fault : plan_.faults)
      reachable = reachable && (!fault.strikes(i) || fault.kind == FaultPlan::Kind::reload);
    // A session that any replica may go on with ends with its client's goodbye alone.
    reachable = reachable && (plan_.replicas < 2 || plan_.servers[i].modern) && !plan_.replica_ends();
    if (reachable && servers_[i] && servers_[i]->listens() > 0)
      ledger_.violation("a server has listens left when all clients have gone", fmt::format("s{}", i));
  }
  const bool keeps = keeps_what_servers_said();
  for (size_t i = 0; i < plan_.clients.size() && !keeps; ++i) {
    const uint64_t held = Account::of(share_of(plan_, i))->held();
    if (held != 0)
      ledger_.violation("a caller's share counts bytes when all clients have gone",
                        fmt::format("{} of client {}", held, i));
  }
  if (held_bytes() != 0 && !keeps)
    ledger_.violation("bytes are counted as held when all clients have gone",
                      fmt::format("{}:{}", MemoryCharge::total(), held_as_what()));
}

// Now and then: what is held for clients is within what they may have, but for what comes from servers just
// now.
void Stage::look_at_memory() {
  const uint64_t most = plan_.config.listen.max_buffered_bytes_per_principal;
  size_t clients = 0, calls = 0;
  for (const ClientPlan& client : plan_.clients)
    clients += client.dropped ? 0 : 1;
  // A parked call waits on, also when a try to go on with it was refused.
  for (const auto& [tag, record] : ledger_.calls()) {
    const auto park = plan_.config.servers[record.plan->server].timeouts.park.count() * kMillisecond;
    const Time until = record.ended + (record.was_parked ? park : 0);
    calls += record.ended < 0 || world_.now() < until ? 1 : 0;
  }
  const uint64_t bound = most * clients + 100'000 + calls * 350'000;
  if (held_bytes() > bound)
    ledger_.violation("more is held for clients than they may have",
                      fmt::format("{} of {} with {} calls:{}", held_bytes(), bound, calls, held_as_what()));
  if (world_.now() < plan_.last + limits_of_all(plan_))
    world_.at_home(0, world_.now() + 100 * kMillisecond, [this] { look_at_memory(); });
}

Verdict Stage::run() {
  gateways_.run([this] { begin(); });
  gateways_.check_metrics();
  if (world_.open_handles != 0)
    ledger_.violation("streams are left when the gateway has gone", fmt::format("{}", world_.open_handles));
  if (world_.descriptors() != 0)
    ledger_.violation("descriptors are left when the gateway has gone",
                      fmt::format("{}", world_.descriptors()));
  if (held_bytes() != 0)
    ledger_.violation("bytes are counted as held when the gateway has gone",
                      fmt::format("{}:{}", MemoryCharge::total(), held_as_what()));
  for (size_t i = 0; i < servers_.size(); ++i) {
    // A session that any replica may go on with ends with its client's goodbye alone.
    const bool all_well = plan_.faults.empty() && !ledger_.drained && plan_.replicas < 2;
    if (all_well && servers_[i] && servers_[i]->sessions() > 0)
      ledger_.violation("a server has sessions left when the gateway has gone",
                        fmt::format("s{} has {}", i, servers_[i]->sessions()));
  }
  ledger_.judge();
  Verdict verdict;
  verdict.ok = !ledger_.failed();
  if (!verdict.ok) {
    verdict.what = ledger_.violations().front().what;
    verdict.details = ledger_.violations().front().details;
  }
  verdict.hash = world_.hash();
  verdict.lasted = world_.now();
  verdict.turns = world_.turns;
  verdict.calls = ledger_.calls().size();
  if (world_.telling()) {
    for (const Told& told : world_.story())
      verdict.story += fmt::format("{:12.6f}  {}\n", static_cast<double>(told.at) / kSecond, told.text);
    verdict.story += "log:\n" + world_.log();
  }
  return verdict;
}

}  // namespace

// On a thread of its own: what the gateway keeps for a thread begins anew.
Verdict run(const Plan& plan, bool tell) {
  Verdict verdict;
  on_own_thread([&] {
    Stage stage(plan, tell);
    verdict = stage.run();
  });
  return verdict;
}

Plan shrink(Plan plan, const std::string& what, size_t& tried) {
  auto still = [&](const Plan& smaller) {
    ++tried;
    const Verdict verdict = run(smaller, false);
    return !verdict.ok && verdict.what == what;
  };
  // A flag that leaves something out, and one after the other of them.
  for (bool better = true; better && tried < 2000;) {
    better = false;
    auto attempt = [&](bool& dropped) {
      if (dropped) return;
      dropped = true;
      if (still(plan))
        better = true;
      else
        dropped = false;
    };
    for (ClientPlan& client : plan.clients)
      attempt(client.dropped);
    for (FaultPlan& fault : plan.faults)
      attempt(fault.dropped);
    for (ClientPlan& client : plan.clients) {
      if (client.dropped) continue;
      if (client.listens_at >= 0) attempt(client.listens_dropped);
      for (Stray& stray : client.strays)
        attempt(stray.dropped);
      for (CallPlan& call : client.calls)
        attempt(call.dropped);
    }
    for (ClientPlan& client : plan.clients) {
      if (client.dropped) continue;
      for (CallPlan& call : client.calls) {
        for (size_t i = 0; !plan.calm && !call.is_probe && !call.dropped && i < call.ops.size();) {
          const Op op = call.ops[i];
          call.ops.erase(call.ops.begin() + static_cast<std::ptrdiff_t>(i));
          if (still(plan)) {
            better = true;
          } else {
            call.ops.insert(call.ops.begin() + static_cast<std::ptrdiff_t>(i), op);
            ++i;
          }
        }
      }
    }
  }
  return plan;
}

}  // namespace lineward::sim
