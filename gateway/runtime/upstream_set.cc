#include "runtime/upstream_set.h"

#include <algorithm>
#include <utility>

#include "config/aggregate.h"
#include "config/remembers.h"
#include "proxy/aggregate/aggregate_upstream.h"
#include "proxy/cluster/remote_upstream.h"
#include "proxy/upstream/bridge/modern_bridge.h"
#include "proxy/upstream/http/http_upstream.h"
#include "proxy/upstream/layers/identity_upstream.h"
#include "proxy/upstream/layers/listen_hub.h"
#include "proxy/upstream/layers/probe_upstream.h"
#include "proxy/upstream/layers/remembered_changes.h"
#include "proxy/upstream/layers/remembering_upstream.h"
#include "proxy/upstream/layers/result_cache.h"
#include "proxy/upstream/layers/tool_upstream.h"
#include "proxy/upstream/stdio/stdio_upstream.h"

extern char** environ;

namespace lineward::runtime {
UpstreamSet::UpstreamSet(net::Loop& loop, const config::Config& config, exchange::ExchangeTable& exchanges,
                         Place place, Events events)
    : loop_(loop),
      config_(config),
      exchanges_(exchanges),
      place_(std::move(place)),
      events_(std::move(events)),
      remote_(loop, [this] { return exchanges_.plugins(); }) {
  auto members = std::make_unique<aggregate::AggregateUpstream>(
      loop_, config_.aggregate, config_.aggregate_server, config_.listen, place_.names);
  aggregate_.members = members.get();
  auto bridge = std::make_unique<upstream::ModernBridge>(loop_, std::move(members), config_.aggregate_server);
  aggregate_.upstream = std::make_unique<upstream::ProbeUpstream>(loop_, std::move(bridge), config_.listen);
  exchanges_.servers().add(*aggregate_.upstream, config_.aggregate_server);
}

UpstreamSet::~UpstreamSet() = default;

void UpstreamSet::add(const config::Server& server, const cluster::ServerPlace& at) {
  leave_remote(server.name);  // it may have lived on another worker until now
  auto made = std::make_unique<Running>();
  Running& one = *made;
  one.server = server;
  const bool is_home = at.home == place_.worker;
  if (at.shared) one.shared = {at.shared, place_.mailbox, place_.worker, at.home, place_.workers};
  std::unique_ptr<core::Upstream> transport;
  upstream::RememberingUpstream* memory = nullptr;
  auto ready = [this, &one](const upstream::EraVerdict& verdict) {
    for (const auto& there : one.call_servers) {
      if (there) there->tell_state();
    }
    // The verdict of a replaced version may be late.
    if (find_running(one.server.name) == &one) events_.ready(one.server, verdict);
  };
  if (!server.url.empty()) {
    auto http = std::make_unique<upstream::HttpUpstream>(loop_, one.server, one.shared);
    one.http = http.get();
    if (at.era) http->publish_era(at.era);
    if (is_home) one.warm_up = [http = http.get(), ready] { http->warm_up(ready); };
    transport = std::move(http);
  } else {
    auto stdio = std::make_unique<upstream::StdioUpstream>(loop_, *spawner_, one.server);
    one.warm_up = [stdio = stdio.get(), ready] { stdio->warm_up(ready); };
    if (at.era) stdio->publish_era(at.era);
    if (events_.lost) {
      stdio->on_lost([this, &one] {
        if (find_running(one.server.name) == &one) events_.lost();
      });
    }
    if (config::remembers(one.server)) {
      transport = remembering(one.server, std::move(stdio), memory);
    } else {
      transport = std::move(stdio);
    }
  }
  if (!one.server.identity.meta.empty())
    transport = std::make_unique<upstream::IdentityUpstream>(std::move(transport), one.server);
  // From the server to its callers: remembered answers, identity of callers, tool catalog, shared listens,
  // cached results, changes of remembered lists, the bridge between eras, then Lineward's own answers.
  auto tools = std::make_unique<upstream::ToolUpstream>(loop_, std::move(transport), one.server);
  upstream::ToolUpstream* catalog = tools.get();
  auto listens = std::make_unique<upstream::ListenHub>(loop_, std::move(tools), one.server);
  upstream::ListenHub* hub = listens.get();
  auto cache = std::make_unique<upstream::ResultCache>(loop_, std::move(listens), one.server,
                                                       one.shared ? one.shared.version->changes : nullptr);
  hub->watch([cache = cache.get()](const mcp::Message& notification) { cache->changed(notification); });
  if (memory != nullptr) {
    memory->on_changed([tools = catalog, cache = cache.get()](const mcp::Message& notification) {
      if (mcp::method_of(notification.method()) == mcp::Method::tools_list_changed) tools->list_changed();
      cache->changed(notification);
    });
  }
  std::unique_ptr<core::Upstream> shown = std::move(cache);
  if (memory != nullptr) {
    auto changes = std::make_unique<upstream::RememberedChanges>(loop_, std::move(shown));
    memory->use(*changes);
    shown = std::move(changes);
  }
  if (memory != nullptr) memory->on_described([this, &one] { described(one); });
  auto bridge = std::make_unique<upstream::ModernBridge>(loop_, std::move(shown), one.server);
  one.upstream = std::make_unique<upstream::ProbeUpstream>(loop_, std::move(bridge), config_.listen);
  exchanges_.servers().add(*one.upstream, one.server);
  running_.push_back(std::move(made));
  auto leases = exchanges_.servers().leases(*one.upstream);
  one.guarded = std::make_unique<plugin::GuardedUpstream>(loop_, *one.upstream, one.server,
                                                          [this] { return exchanges_.plugins(); });
  join(one.server, *one.guarded, std::move(leases));
}

void UpstreamSet::described(const Running& one) {
  for (const auto& there : one.call_servers) {
    if (there) there->tell_described();
  }
  if (find_running(one.server.name) == &one) aggregate_.members->described(one.server.name);
}

void UpstreamSet::assume_both_eras() {
  for (auto& one : running_) {
    if (one->http != nullptr) one->http->assume_both_eras();
  }
}

std::unique_ptr<core::Upstream> UpstreamSet::remembering(const config::Server& server,
                                                         std::unique_ptr<upstream::StdioUpstream> stdio,
                                                         upstream::RememberingUpstream*& memory) {
  upstream::StdioUpstream* below = stdio.get();
  upstream::RememberingUpstream::Transport transport;
  transport.is_running = [below](const core::UpstreamRequest& request) {
    return below->is_running_for(request);
  };
  transport.era_for = [below](const core::Scope& scope) { return below->known_era_for(scope); };
  transport.is_awaited = [below](const std::string& group) { return below->is_awaited(group); };
  transport.assume = [below](const upstream::EraVerdict& verdict) { below->assume_era(verdict); };
  transport.doubt = [below] { below->doubt_era(); };
  transport.line = &spawner_->own_starts();
  auto made = std::make_unique<upstream::RememberingUpstream>(loop_, std::move(stdio), server, environ,
                                                              std::move(transport));
  memory = made.get();
  below->on_era([memory = made.get()](const upstream::EraVerdict& verdict) { memory->note_era(verdict); });
  return made;
}

void UpstreamSet::join(const config::Server& server, plugin::GuardedUpstream& guarded,
                       std::function<std::shared_ptr<void>()> lease) {
  aggregate_.members->join(server, guarded, std::move(lease));
  sort_members();
}

void UpstreamSet::sort_members() {
  std::vector<std::string> order;
  for (const auto& each : config_.servers) {
    if (!each.disabled) order.push_back(each.name);
  }
  aggregate_.members->sort(order);
}

std::vector<RemoteServer> UpstreamSet::show_new(size_t worker) {
  std::vector<RemoteServer> out;
  for (auto& one : running_) {
    if (one->shared) continue;  // that worker has its own
    one->call_servers.resize(place_.workers);
    auto& there = one->call_servers.at(worker);
    if (there) continue;
    auto lease = exchanges_.servers().leases(*one->upstream)();
    there = std::make_shared<cluster::RemoteCallServer>(loop_, *one->upstream, std::move(lease), worker);
    out.push_back({one->server, {place_.mailbox, there}, cluster::state_of(*one->upstream)});
  }
  return out;
}

void UpstreamSet::not_taken(size_t worker, const std::string& name) {
  Running* one = find_running(name);
  if (one != nullptr && worker < one->call_servers.size()) one->call_servers[worker].reset();
}

void UpstreamSet::settle_remote(std::vector<RemoteServer> shown) {
  leave_remote();
  for (RemoteServer& one : shown) {
    // This worker may have missed that it left.
    aggregate_.members->leave(one.server.name);
    remote_.retire(one.server.name);
    join_remote(std::move(one));
  }
}

void UpstreamSet::leave_remote(const std::string& name) {
  for (Left& one : std::exchange(left_remote_, {})) {
    if (!name.empty() && one.name != name) {
      left_remote_.push_back(std::move(one));
      continue;
    }
    aggregate_.members->leave(one.name, one.why);
    remote_.retire(one.name);
  }
}

void UpstreamSet::join_remote(RemoteServer shown) {
  RemoteMembers::Member& one = remote_.add(std::move(shown), place_.mailbox);
  exchanges_.servers().hear_cancels(one.server.name);
  one.remote->on_described([this, &one] { aggregate_.members->described(one.server.name); });
  join(one.server, *one.guarded, RemoteMembers::leases(one));
}

const config::Server* UpstreamSet::aggregate() const {
  return config::is_aggregated(config_) ? &config_.aggregate_server : nullptr;
}

void UpstreamSet::adjust(const config::Server& server) {
  Running* one = find_running(server.name);
  if (one == nullptr) return remote_.adjust(server);
  one->server = server;
  one->upstream->notice(core::UpstreamNotice::reconfigured);
}

void UpstreamSet::retire(const std::string& name, exchange::Retirement how, const std::string& why,
                         bool goes_elsewhere) {
  const std::string final_why = how == exchange::Retirement::replaced ? std::string() : why;
  auto found = std::find_if(running_.begin(), running_.end(),
                            [&](const auto& one) { return one->server.name == name; });
  if (found == running_.end()) {
    left_remote_.push_back({name, final_why, nullptr});
    return;
  }
  Running& one = **found;
  if (goes_elsewhere) {
    left_remote_.push_back({name, final_why, exchanges_.servers().leases(*one.upstream)()});
  } else {
    aggregate_.members->leave(name, final_why);
  }
  leaving_.push_back(std::move(*found));
  running_.erase(found);
  if (one.shared) one.shared.server->retire(one.shared.version);
  one.upstream->notice(core::UpstreamNotice::retired);
  exchanges_.retire_upstream(*one.upstream, how, why, lifetime_.guard([this, &one] { stop_one(one); }));
}

void UpstreamSet::stop_one(Running& one) {
  if (std::exchange(one.stopping, true)) return;
  // It is on the stack.
  one.upstream->stop(lifetime_.guard([this, &one] { loop_.defer(lifetime_, [this, &one] { left(one); }); }));
}

void UpstreamSet::left(Running& one) {
  if (stopped_) {  // the gateway stops; calls may still point to it
    if (--stopping_ == 0) std::exchange(stopped_, nullptr)();
    return;
  }
  auto found =
      std::find_if(leaving_.begin(), leaving_.end(), [&](const auto& each) { return each.get() == &one; });
  if (found == leaving_.end()) return;
  loop_.retire(std::move(*found));
  leaving_.erase(found);
  events_.left();
}

void UpstreamSet::warm_up() {
  for (auto& one : running_) {
    if (one->warm_up) std::exchange(one->warm_up, nullptr)();
  }
}

void UpstreamSet::set_sidecar(client::Front& front, const std::string& name) {
  upstream::HttpUpstream* plain = nullptr;
  for (auto& one : running_) {
    if (one->http == nullptr) continue;
    const bool is_plain = one->server.name == name;
    one->http->set_credentials(is_plain ? upstream::HttpFailures::Credentials::of_clients
                                        : upstream::HttpFailures::Credentials::of_gateway);
    if (is_plain) plain = one->http;
  }
  core::FetchDocument fetch;
  if (plain != nullptr) {
    fetch = [plain](const std::string& path, core::DocumentDone done) {
      plain->fetch_document(path, std::move(done));
    };
  }
  front.use_documents(std::move(fetch));
}

core::Upstream* UpstreamSet::find(const std::string& name) const {
  Running* one = find_running(name);
  if (one == nullptr && name == aggregate_.upstream->name()) return aggregate_.upstream.get();
  return one != nullptr ? one->upstream.get() : nullptr;
}

UpstreamSet::Running* UpstreamSet::find_running(const std::string& name) const {
  for (const auto& one : running_) {
    if (one->server.name == name) return one.get();
  }
  return nullptr;
}

std::vector<const config::Server*> UpstreamSet::leaving() const {
  std::vector<const config::Server*> out;
  for (const auto& one : leaving_)
    out.push_back(&one->server);
  return out;
}

exchange::ExchangeTable::Work UpstreamSet::work_of(const std::string& name) const {
  using exchange::ExchangeTable;
  const Running* one = find_running(name);
  ExchangeTable::Work work = one != nullptr ? exchanges_.work_of(*one->upstream) : ExchangeTable::Work{};
  const auto routed = exchanges_.load(name, ExchangeTable::CameTo::aggregate);
  work.calls += routed.in_flight + routed.waiting + exchanges_.park_table().count_routed_to(name);
  return work;
}

void UpstreamSet::stop(std::function<void()> done) {
  stopped_ = std::move(done);
  aggregate_.upstream->stop([] {});
  std::vector<Running*> all;
  for (auto* list : {&running_, &leaving_}) {
    for (auto& one : *list)
      all.push_back(one.get());
  }
  stopping_ = all.size();
  if (all.empty()) return loop_.defer(std::exchange(stopped_, nullptr));
  for (Running* one : all)
    stop_one(*one);
}

}  // namespace lineward::runtime
