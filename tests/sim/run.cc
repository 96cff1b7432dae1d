#include "run.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <thread>

#include "base/held_bytes.h"
#include "config/reader/load.h"
#include "http_client.h"
#include "http_server.h"
#include "metrics/stats.h"
#include "net/loop.h"
#include "net/timer_wheel.h"
#include "process/child_process.h"
#include "runtime/gateway.h"
#include "stdio_server.h"

namespace lineward::sim {
namespace {

// What this thread has counted and not told yet is told: HeldBytes keeps small sums to itself, and threads
// end here.
uint64_t held_bytes() {
  constexpr size_t kWorthTelling = 1 << 20;
  HeldBytes counter;
  counter.set(kWorthTelling);
  counter.set(0);
  return HeldBytes::total();
}

// Ends of calls as the metrics count them, by reason. The numbers are the process's: those of a world are
// what it adds.
using Ends = std::map<std::string, uint64_t, std::less<>>;

Ends counted_ends() {
  Ends all;
  const auto add = [&](const core::UpstreamStats& of) {
    const auto& ends = of.ends[static_cast<size_t>(mcp::Method::tools_call)];
    for (size_t reason = 0; reason < ends.size(); ++reason) {
      if (ends[reason] > 0) all[std::string(mcp::name(static_cast<mcp::EndReason>(reason)))] += ends[reason];
    }
  };
  for (const auto& one : core::stats().upstreams) {
    add(*one);
    if (one->routed) add(*one->routed);
  }
  return all;
}

Ends logged_ends(std::string_view log) {
  Ends all;
  for (size_t at = 0, end; (end = log.find('\n', at)) != std::string_view::npos; at = end + 1) {
    const std::string_view line = log.substr(at, end - at);
    const size_t reason = line.find(" reason=");
    if (line.find("event=call.end") == std::string_view::npos ||
        line.find("method=tools/call") == std::string_view::npos || reason == std::string_view::npos)
      continue;
    const size_t from = reason + 8;
    ++all[std::string(line.substr(from, line.find(' ', from) - from))];
  }
  return all;
}

std::string text_of(const Ends& ends) {
  std::string text;
  for (const auto& [reason, count] : ends)
    text += fmt::format("{} {} ", count, reason);
  return text;
}

// Everything that runs in one world, in the order in which it must go.
class Stage {
 public:
  Stage(const Plan& plan, bool tell) : plan_(plan), world_(plan.seed), ledger_(world_, plan) {
    world_.calm = plan.calm;
    if (tell) world_.tell_all();
  }
  Verdict run();

 private:
  void begin();
  void fault(const FaultPlan& fault);
  void reload() {
    world_.tell("SIGHUP");
    world_.raise(SIGHUP);
  }
  void last_clients();
  void look_at_memory();
  void check_metrics(const Ends& before);
  void check_empty(Worker& worker);
  void check_empty();
  void stop();

  const Plan& plan_;
  World world_;
  Ledger ledger_;
  config::Config configured_ = plan_.config;  // what a reload reads
  std::vector<std::shared_ptr<StdioServer>> processes_;
  std::vector<std::unique_ptr<HttpServer>> servers_;
  std::vector<std::unique_ptr<HttpClient>> clients_;
  std::unique_ptr<Gateway> gateway_;
};

void Stage::begin() {
  world_.spawn = [this](const net::SpawnRequest& request,
                        std::shared_ptr<Child> child) -> std::shared_ptr<Program> {
    for (size_t i = 0; i < plan_.servers.size(); ++i) {
      if (plan_.servers[i].name != request.argv.back()) continue;
      auto process = std::make_shared<StdioServer>(world_, ledger_, plan_.servers[i], i, std::move(child));
      std::erase_if(processes_, [](const auto& one) { return !one->running(); });
      processes_.push_back(process);
      process->begin();
      return process;
    }
    return nullptr;
  };
  servers_.resize(plan_.servers.size());
  for (size_t i = 0; i < plan_.servers.size(); ++i) {
    if (plan_.servers[i].http)
      servers_[i] = std::make_unique<HttpServer>(world_, ledger_, plan_.servers[i], i);
  }
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
    clients_.push_back(std::make_unique<HttpClient>(world_, ledger_, plan_, i));
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
      world_.tell("SIGTERM");
      world_.raise(SIGTERM);
    });
    return;
  }
  // When those who look whether all is well have their answers, too.
  world_.at(plan_.last + 2 * limits_of_all(plan_) + 20 * kSecond, [this] { last_clients(); });
}

void Stage::fault(const FaultPlan& fault) {
  const size_t index = fault.server;
  const Time until = world_.now() + fault.length;
  const std::string address = fmt::format("10.1.0.{}:9000", index + 1);
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
      if (servers_[index]) servers_[index]->stall_all(until);
      break;
    case FaultPlan::Kind::reset:
      if (servers_[index]) servers_[index]->reset_all();
      break;
    case FaultPlan::Kind::refuse:
    case FaultPlan::Kind::silence: {
      if (!servers_[index]) break;
      auto& host = world_.hosts()[address];
      bool& flag = fault.kind == FaultPlan::Kind::refuse ? host.refuses : host.silent;
      flag = true;
      if (fault.kind == FaultPlan::Kind::refuse) servers_[index]->reset_all();
      world_.at(until, [&flag] { flag = false; });
      break;
    }
    case FaultPlan::Kind::jump: world_.jump(std::min(fault.length, kSecond)); break;
    case FaultPlan::Kind::reload: {
      config::Server& server = configured_.servers[index];
      if (fault.how == 1) server.limits.max_queue += 10;
      if (fault.how == 4) server.limits.max_in_flight = places_after(fault);
      if (fault.how == 2) server.env.emplace_back("GENERATION", std::to_string(world_.now()));
      if (fault.how == 2 && !server.url.empty())
        server.headers.emplace_back("X-Generation", std::to_string(world_.now()));
      // The last one that is left is served at the path of all.
      const auto served = std::count_if(configured_.servers.begin(), configured_.servers.end(),
                                        [](const auto& one) { return !one.disabled; });
      if (fault.how == 3 && served > (configured_.aggregate.enabled ? 2 : 1)) {
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
  for (auto& client : clients_)
    client->leave();
  const auto& listen = plan_.config.listen;
  Time wait = (listen.session_idle + listen.resume_window).count() * kMillisecond + 10 * kSecond;
  for (const auto& server : plan_.config.servers)
    wait = std::max(wait, server.timeouts.cancel_grace.count() * kMillisecond +
                              (listen.session_idle + listen.resume_window).count() * kMillisecond +
                              10 * kSecond);
  // What the threads have counted and kept to themselves is told first.
  for (size_t i = 1; i < plan_.config.workers; ++i)
    world_.at_home(static_cast<int>(i), world_.now() + wait, [] { held_bytes(); });
  world_.at_home(0, world_.now() + wait + kSecond, [this] {
    auto& workers = static_cast<WorkerDirectory&>(*gateway_);
    for (size_t i = 0; i < workers.workers(); ++i)
      check_empty(workers.worker(i));
    check_empty();
    stop();
  });
}

// Nothing turns on the other threads while this one looks.
void Stage::check_empty(Worker& worker) {
  auto& exchanges = worker.exchanges();
  if (exchanges.live().size() != 0)
    ledger_.violation("calls are left when all clients have gone",
                      fmt::format("{}", exchanges.live().size()));
  if (worker.front().connections() != 0)
    ledger_.violation("connections are left when all clients have gone",
                      fmt::format("{}", worker.front().connections()));
  if (!worker.front().sessions().ids().empty())
    ledger_.violation("sessions are left when all clients have gone",
                      fmt::format("{}", worker.front().sessions().ids().size()));
  if (worker.front().backlog() != 0) ledger_.violation("bytes wait for clients that have gone", "");
}

void Stage::check_empty() {
  for (auto& process : processes_) {
    if (process->running() && process->listens() > 0)
      ledger_.violation("a server has listens left when all clients have gone",
                        fmt::format("s{}", process->index()));
  }
  for (size_t i = 0; i < servers_.size(); ++i) {
    // A goodbye may be lost on the way to a server that cannot be reached.
    bool reachable = true;
    for (const FaultPlan& fault : plan_.faults)
      reachable = reachable && (fault.dropped || fault.server != i || fault.kind == FaultPlan::Kind::jump ||
                                fault.kind == FaultPlan::Kind::reload);
    if (reachable && servers_[i] && servers_[i]->listens() > 0)
      ledger_.violation("a server has listens left when all clients have gone", fmt::format("s{}", i));
  }
  bool keeps = false;  // what servers said of their tools, and what they allowed to keep
  for (size_t i = 0; i < plan_.servers.size(); ++i)
    keeps = keeps || plan_.servers[i].describes || plan_.config.servers[i].cache.enabled;
  if (held_bytes() != 0 && !keeps)
    ledger_.violation("bytes are counted as held when all clients have gone",
                      fmt::format("{}", HeldBytes::total()));
}

// Now and then: what is held for clients is within what they may have, but for what comes from servers just
// now.
void Stage::look_at_memory() {
  const uint64_t most = plan_.config.listen.max_buffered_bytes_per_principal;
  size_t clients = 0, calls = 0;
  for (const ClientPlan& client : plan_.clients)
    clients += client.dropped ? 0 : 1;
  for (const auto& [tag, record] : ledger_.calls())
    calls += record.ended < 0 ? 1 : 0;
  const uint64_t bound = most * clients + 100'000 + calls * 350'000;
  if (held_bytes() > bound)
    ledger_.violation("more is held for clients than they may have",
                      fmt::format("{} of {} with {} calls", held_bytes(), bound, calls));
  if (world_.now() < plan_.last + limits_of_all(plan_))
    world_.at_home(0, world_.now() + 100 * kMillisecond, [this] { look_at_memory(); });
}

// Those of other workers end with them.
void Stage::check_metrics(const Ends& before) {
  if (plan_.config.workers > 1) return;
  Ends counted = counted_ends();
  for (const auto& [reason, count] : before) {
    if ((counted[reason] -= count) == 0) counted.erase(reason);
  }
  const Ends logged = logged_ends(world_.log());
  if (counted != logged)
    ledger_.violation("the metrics count other ends than the log has",
                      text_of(counted) + "but " + text_of(logged));
  if (core::stats().http_active != 0)
    ledger_.violation("requests of clients are counted as active when the gateway has stopped",
                      std::to_string(core::stats().http_active));
}

void Stage::stop() {
  world_.tell("SIGTERM");
  world_.raise(SIGTERM);
}

Verdict Stage::run() {
  RunOptions options;
  options.version = "sim";
  options.source = "sim";
  options.quiet = true;
  options.load = [this] {
    config::LoadResult read;
    read.config = configured_;
    return read;
  };
  gateway_ =
      std::make_unique<Gateway>(plan_.config, std::move(options), std::vector<int>(plan_.config.workers, 0));
  world_.threads().at_end = [] { held_bytes(); };
  begin();
  const Ends before = counted_ends();
  const int code = gateway_->run();
  if (code != 0) ledger_.violation("the gateway's exit code", fmt::format("{}", code));
  // Clients see what was written before the end.
  for (int i = 0; i < 10000 && !world_.idle() && ledger_.drained; ++i) {
    if (world_.now() > ledger_.drained_at + 60 * kSecond) break;
    world_.poll(world_.now() + kSecond);
  }
  gateway_.reset();
  if (ledger_.drained) {
    for (int i = 0; i < 10000 && !world_.idle(); ++i)
      world_.poll(world_.now());
  }
  check_metrics(before);
  if (world_.open_handles != 0)
    ledger_.violation("streams are left when the gateway has gone", fmt::format("{}", world_.open_handles));
  if (world_.descriptors() != 0)
    ledger_.violation("descriptors are left when the gateway has gone",
                      fmt::format("{}", world_.descriptors()));
  if (held_bytes() != 0)
    ledger_.violation("bytes are counted as held when the gateway has gone",
                      fmt::format("{}", HeldBytes::total()));
  for (size_t i = 0; i < servers_.size(); ++i) {
    const bool all_well = plan_.faults.empty() && !ledger_.drained;
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
  std::thread([&] {
    Stage stage(plan, tell);
    verdict = stage.run();
  }).join();
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
      for (CallPlan& call : client.calls)
        attempt(call.dropped);
    }
    for (ClientPlan& client : plan.clients) {
      if (client.dropped) continue;
      for (CallPlan& call : client.calls) {
        for (size_t i = 0; !plan.calm && !call.dropped && i < call.ops.size();) {
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
