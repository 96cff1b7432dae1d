#include "gateways.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "config/reader/load.h"
#include "foundation/base/memory_charge.h"

namespace lineward::sim {

uint64_t held_bytes() {
  constexpr size_t kWorthTelling = 1 << 20;
  MemoryCharge counter;
  counter.set(kWorthTelling);
  counter.set(0);
  return MemoryCharge::total();
}

Gateways::Gateways(World& world, Ledger& ledger, const Plan& plan)
    : world_(world),
      ledger_(ledger),
      plan_(plan),
      configured_(plan.config),
      sites_(std::max<size_t>(plan.replicas, 1)) {
  world_.threads().at_end = [] { held_bytes(); };
  before_ = counted_ends();
}

void Gateways::run(const std::function<void()>& begin) {
  if (plan_.replicas < 2) return run_alone(begin);
  run_replicas(begin);
}

// The content of the file, and the part of this replica.
config::Config Gateways::config_of(size_t replica) const {
  config::Config config = configured_;
  if (plan_.replicas < 2) return config;
  config.listen.address = address_of(replica);
  config.replicas.name = fmt::format("r{}", replica);
  return config;
}

std::unique_ptr<runtime::Gateway> Gateways::make(size_t replica) const {
  runtime::RunOptions options;
  options.version = "sim";
  options.source = "sim";
  options.quiet = true;
  options.load = [this, replica](const std::set<std::string>&) {
    config::LoadResult read;
    read.config = config_of(replica);
    return read;
  };
  return std::make_unique<runtime::Gateway>(config_of(replica), std::move(options),
                                            std::vector<int>(plan_.config.workers, 0));
}

void Gateways::run_alone(const std::function<void()>& begin) {
  Site& site = sites_.front();
  site.gateway = make(0);
  site.is_up = true;
  begin();
  const int code = site.gateway->run();
  if (code != 0) ledger_.violation("the gateway's exit code", fmt::format("{}", code));
  site.is_up = false;
  site.gateway.reset();
  // Clients see what was written before the end, and with it.
  for (int i = 0; i < 10000 && !world_.idle() && ledger_.drained; ++i) {
    if (world_.now() > ledger_.drained_at + 60 * kSecond) break;
    world_.poll(world_.now() + kSecond);
  }
}

// The first thread only waits.
void Gateways::run_replicas(const std::function<void()>& begin) {
  for (size_t i = 0; i < sites_.size(); ++i)
    world_.hosts()[address_of(i)].accept = [this, i](std::shared_ptr<Link> from) {
      join(std::move(from), i);
    };
  begin();
  for (size_t i = 0; i < sites_.size(); ++i)
    open(i);
  const auto done = [](const Site& site) { return site.done; };
  while (!stopping_ || !std::all_of(sites_.begin(), sites_.end(), done))
    world_.poll(world_.now() + 60 * kSecond);
  for (Site& site : sites_) {
    if (site.thread.joinable()) site.thread.join();
  }
  for (int i = 0; i < 2000 && ledger_.drained; ++i)
    world_.poll(world_.now() + 10 * kMillisecond);
}

// A replica has connected to another.
void Gateways::join(std::shared_ptr<Link> from, size_t replica) {
  auto to = world_.connect(address_of(replica), fmt::format("10.8.0.1:{}", 4000 + joints_.size()),
                           900 + joints_.size());
  if (!to) return from->to_gateway.reset();
  joints_.push_back(std::make_shared<Joint>(std::move(from), std::move(to)));
  joints_.back()->begin();
}

void Gateways::open(size_t replica) {
  Site& site = sites_[replica];
  if (stopping_) return;
  // Another thread joins it: an event of no thread may run on the very one that ends.
  const bool ends_here = site.thread.get_id() == std::this_thread::get_id();
  if (!site.done || ends_here) return world_.after(100 * kMillisecond, [this, replica] { open(replica); });
  if (site.thread.joinable()) site.thread.join();
  world_.tell(fmt::format("replica {} begins", replica));
  site.done = false;
  site.exit_code = 0;
  site.thread = std::thread([this, replica] { live(replica); });
}

void Gateways::live(size_t replica) {
  Site& site = sites_[replica];
  site.home = world_.home();
  site.gateway = make(replica);
  site.is_up = true;
  // Everything was stopped before this one had begun.
  if (stopping_) world_.at_home(site.home, world_.now(), [this, &site] { world_.raise(SIGTERM, site.home); });
  const int code = site.gateway->run();
  site.is_up = false;
  // An idle gateway ends before it gets the second signal.
  if (code != 0 && code != site.exit_code)
    ledger_.violation("the gateway's exit code", fmt::format("{}", code));
  site.gateway.reset();
  site.done = true;
  world_.tell(fmt::format("replica {} has ended", replica));
  world_.at_home(0, world_.now(), [] {});  // for waiters
}

void Gateways::end(size_t replica, How how) {
  Site& site = sites_[replica];
  if (!site.is_up || stopping_) return;
  site.is_up = false;
  world_.tell(fmt::format("replica {} {}", replica, how == How::now ? "is ended at once" : "is stopped"));
  world_.raise(SIGTERM, site.home);
  if (how == How::in_order) return;
  site.exit_code = 128 + SIGTERM;
  world_.raise(SIGTERM, site.home);
}

void Gateways::raise(const char* name, int signal) {
  world_.tell(name);
  for (const Site& site : sites_) {
    if (site.is_up) world_.raise(signal, site.home);
  }
}

void Gateways::stop() {
  stopping_ = true;
  raise("SIGTERM", SIGTERM);
}

void Gateways::look(Time when, const std::function<void(runtime::Worker& worker)>& at) {
  for (Site& site : sites_) {
    if (!site.is_up) continue;
    world_.at_home(site.home, when, [&site, at] {
      if (!site.is_up) return;
      auto& workers = static_cast<runtime::WorkerDirectory&>(*site.gateway);
      for (size_t i = 0; i < workers.workers(); ++i)
        at(workers.worker(i));
    });
  }
}

bool Gateways::any(const std::function<bool(runtime::Worker& worker)>& of) const {
  for (const Site& site : sites_) {
    if (!site.is_up) continue;
    auto& workers = static_cast<runtime::WorkerDirectory&>(*site.gateway);
    for (size_t i = 0; i < workers.workers(); ++i) {
      if (of(workers.worker(i))) return true;
    }
  }
  return false;
}

// ---- what they counted ----

Gateways::Ends Gateways::counted_ends() {
  Ends all;
  const auto add = [&](const metrics::UpstreamStats& of) {
    const auto& ends = of.ends[static_cast<size_t>(mcp::Method::tools_call)];
    for (size_t reason = 0; reason < ends.size(); ++reason) {
      if (ends[reason] > 0) all[std::string(mcp::name(static_cast<mcp::EndReason>(reason)))] += ends[reason];
    }
  };
  for (const auto& one : metrics::stats().upstreams) {
    add(*one);
    if (one->routed) add(*one->routed);
  }
  return all;
}

Gateways::Ends Gateways::logged_ends() const {
  Ends all;
  const std::string_view log = world_.log();
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

// Parts of other workers end with them.
void Gateways::check_metrics() {
  if (plan_.config.workers > 1) return;
  Ends counted = counted_ends();
  for (const auto& [reason, count] : before_) {
    if ((counted[reason] -= count) == 0) counted.erase(reason);
  }
  const uint64_t active = metrics::stats().http_active;
  const auto text_of = [](const Ends& ends) {
    std::string text;
    for (const auto& [reason, count] : ends)
      text += fmt::format("{} {} ", count, reason);
    return text;
  };
  const Ends logged = logged_ends();
  if (counted != logged)
    ledger_.violation("the metrics count other ends than the log has",
                      text_of(counted) + "but " + text_of(logged));
  if (active != 0)
    ledger_.violation("requests of clients are counted as active when the gateway has stopped",
                      std::to_string(active));
}

}  // namespace lineward::sim
