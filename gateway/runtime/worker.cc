#include "runtime/worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "config/aggregate.h"
#include "config/forward_rules.h"
#include "config/reader/changes.h"
#include "config/shares.h"
#include "foundation/log/log.h"
#include "foundation/net/loop_watch.h"
#include "foundation/process/child_process.h"
#include "plugins/registry.h"
#include "proxy/client/stdio/stdio_front.h"
#include "proxy/cluster/worker_pool.h"
#include "proxy/core/gate.h"
#include "proxy/metrics/stats.h"
#include "runtime/memory_return.h"
#include "runtime/routes.h"

namespace lineward::runtime {
namespace {

using std::chrono::milliseconds;

// Time for connections to read the last answer.
constexpr milliseconds kLastAnswers{1000};
constexpr milliseconds kLastAnswersStep{10};
constexpr milliseconds kBeat{1000};

}  // namespace

Worker::OwnStats::OwnStats(bool own) {
  if (own) mine = std::make_unique<metrics::GatewayStats>();
  metrics::use_stats(mine.get());
}

Worker::OwnStats::~OwnStats() {
  metrics::use_stats(nullptr);
}

Worker::Worker(config::Config config, Place place, int spawner_socket, WorkerEvents events)
    : config_(std::move(config)),
      place_(std::move(place)),
      spawner_socket_(spawner_socket),
      events_(std::move(events)),
      stats_(place_.index != 0),
      exchanges_(loop_, config_),
      grace_(loop_),
      last_requests_(loop_),
      last_answers_(loop_),
      heart_(loop_) {}

Worker::~Worker() {
  loop_watch_.reset();
  log_lines_.stop();
  log::flush();
  log::gather(nullptr);
  if (mailbox_) mailbox_->close();
  // Calls are destroyed before the upstreams they point to, replies before the sessions and connections they
  // write to.
  exchanges_.when_empty(nullptr);
  memory_return_.reset();
  for (net::Timer* timer : {&grace_, &last_requests_, &last_answers_, &heart_})
    timer->stop();
  // Calls are ended before connections close: a lost connection would otherwise look like a client's
  // disconnect. A connection with its answer does not begin its next request.
  if (front_) front_->drain();
  if (further_) further_->drain();
  exchanges_.end_all(mcp::EndReason::cancelled_drain, "the gateway stopped");
  loop_.close_deferred();
  if (further_) further_->close_all();
  if (front_) front_->close_all();
  loop_.close_deferred();
  further_.reset();
  loop_.close_deferred();
  front_.reset();
  loop_.close_deferred();
  exchanges_.use_plugins(nullptr);
  loop_.close_deferred();
  upstreams_.reset();
  loop_.close_deferred();
  plugin_host_.reset();
  loop_.close_deferred();  // processes of plugins that a reload removed
  spawner_.reset();
  loop_.close_all();
}

Status<> Worker::prepare() {
  log::gather([this](bool urgent) { log_lines_.wanted(urgent); });
  log::when_left_out([this] { log_lines_.left_out(); });
  auto mailbox = net::Mailbox::create(loop_);
  if (!mailbox) return fail(mailbox.error().text, true);
  mailbox_ = std::move(*mailbox);
  place_.pool->enter(place_.index, mailbox_);
  auto spawner = process::Spawner::create(loop_, spawner_socket_, [this] { events_.spawner_lost(); });
  if (!spawner) return fail(spawner.error().text, true);
  spawner_ = std::move(*spawner);
  UpstreamSet::Events events;
  events.ready = [this](const config::Server& server, const upstream::EraVerdict& verdict) {
    events_.ready(server.name, verdict);
  };
  events.left = [this] { events_.left(); };
  if (events_.lost) events.lost = [this] { events_.lost(); };
  exchanges_.park_table().use_states(place_.states);
  exchanges_.share_in_flight(place_.in_flight);
  exchanges_.live().number_calls(place_.index, place_.pool->size());
  if (place_.cancel_settled) exchanges_.log().use_reporter(place_.cancel_settled);
  UpstreamSet::Place at{mailbox_, place_.index, place_.pool->size(), place_.names};
  upstreams_ = std::make_unique<UpstreamSet>(loop_, config_, exchanges_, std::move(at), std::move(events));
  upstreams_->use(*spawner_);
  make_front();
  exchanges_.sessions().use_sessions(front_->sessions());
  plugin_host_ = std::make_unique<PluginHost>(loop_, *spawner_, config_, place_.index);
  if (wants_plugins(config_, place_.placement)) {
    auto plugins = make_plugins(config_);
    if (!plugins) return fail(plugins.error().text);
    exchanges_.use_plugins(*plugins);
    front_->use_gate(*plugins);
  }
  if (auto made = prepare_replication(config_); !made) return made;
  if (further_) further_->use_replicas(replication_);
  use_replication(std::move(replication_), http_, exchanges_);
  beat();
  return Done{};
}

void Worker::make_front() {
  config::use_shares(config_.listen);
  if (config_.listen.address != "stdio") {
    client::PathTable paths = routes(config_, place_.placement);
    // The aggregate's members on other workers have not joined yet: until use_leaving() all go to the first.
    paths.placement.erase(config_.aggregate_server.name);
    auto http =
        std::make_unique<client::HttpFront>(loop_, config_.listen, std::move(paths), exchanges_, place_.caps);
    http_ = http.get();
    http_->use_tls(place_.tls);
    if (place_.pool->size() > 1)
      http_->use_neighbours({place_.index, place_.pool->size(), place_.hand_on, place_.hand_on_new});
    front_ = std::move(http);
    if (place_.further.parts)
      further_ = std::make_unique<FurtherFronts>(loop_, exchanges_, front_->sessions(), place_.further);
    return;
  }
  std::string server;
  for (const auto& one : config_.servers) {
    if (!one.disabled && server.empty()) server = one.name;
  }
  if (config::is_aggregated(config_)) server = config_.aggregate_server.name;
  front_ = std::make_unique<client::StdioFront>(loop_, config_.listen, server, exchanges_,
                                                [this](mcp::EndReason why) { events_.client_left(why); });
}

Result<std::shared_ptr<plugin::PluginSet>> Worker::make_plugins(const config::Config& next) {
  return plugin::PluginSet::make(next, plugins::registry(), *plugin_host_, exchanges_.plugins().get());
}

// Plugins are needed only where calls are answered.
bool Worker::wants_plugins(const config::Config& config, const cluster::ServerPlacement& placement) const {
  if (place_.index == 0 || cluster::is_aggregate_on_all(placement, config)) return true;
  return std::any_of(placement.begin(), placement.end(),
                     [&](const auto& one) { return one.second.home == place_.index || one.second.shared; });
}

Status<> Worker::prepare_replication(const config::Config& next) {
  auto made = make_replication(loop_, next, http_ != nullptr);
  if (!made) return Unexpected<Error>{made.error()};
  replication_ = std::move(*made);
  return Done{};
}

Status<> Worker::listen() {
  return front_->listen();
}

Status<> Worker::listen_with(int socket, std::string address, bool loopback) {
  return http_->listen_with(socket, std::move(address), loopback);
}

void Worker::serve() {
  for (const auto& server : config_.servers) {
    if (!server.disabled && hosts(server.name)) add_server(server);
  }
  loop_watch_ = watch_loop();
  memory_return_ = std::make_unique<MemoryReturn>(loop_, [this] {
    MemoryReturn::Connections now{front_->connections(), front_->take_most_connections()};
    if (further_) {
      now.now += further_->connections();
      now.most += further_->take_most_connections();
    }
    return now;
  });
  const config::Server* plain = config::plain_sidecar(config_);
  upstreams_->set_sidecar(*front_, plain == nullptr ? std::string() : plain->name);
}

void Worker::add_server(const config::Server& server) {
  upstreams_->add(server, cluster::place_of(place_.placement, server.name));
}

void Worker::apply(const config::Changes& changes, config::Config next, cluster::ServerPlacement placement,
                   std::shared_ptr<plugin::PluginSet> plugins) {
  using config::Change;
  config_ = std::move(next);
  config::use_shares(config_.listen);
  const cluster::ServerPlacement places_before = std::exchange(place_.placement, std::move(placement));
  if (further_) {
    further_->use(config_);
    further_->use_replicas(replication_);
    further_->use_gate(plugins);
  }
  use_replication(std::move(replication_), http_, exchanges_);
  front_->use_gate(plugins);
  if (auto before = exchanges_.plugins()) plugin_host_->linger(before->replaced_by(plugins.get()));
  exchanges_.use_plugins(std::move(plugins));
  for (const config::ServerChange& change : changes.servers) {
    const bool lives_here = hosts(change.name);
    // A limit may decide whether one worker or all of them serve it.
    const bool moves = cluster::shared_server(places_before, change.name) !=
                       cluster::shared_server(place_.placement, change.name);
    const Change kind = change.kind == Change::adjusted && moves ? Change::replaced : change.kind;
    if (kind == Change::removed || kind == Change::replaced) {
      const bool replaced = kind == Change::replaced;
      upstreams_->retire(change.name,
                         replaced ? exchange::Retirement::replaced : exchange::Retirement::removed,
                         change.name + (replaced ? " was changed by a reload" : " was removed by a reload"),
                         replaced && !lives_here);
    }
    const config::Server* server = config::find_server(config_, change.name);
    if (kind == Change::adjusted) upstreams_->adjust(*server);
    if (lives_here && (kind == Change::added || kind == Change::replaced)) add_server(*server);
  }
  upstreams_->sort_members();
  const config::Server* plain = config::plain_sidecar(config_);
  upstreams_->set_sidecar(*front_, plain == nullptr ? std::string() : plain->name);
}

void Worker::act(const std::string& server, const ServerStep& step) {
  const bool lives_here = hosts(server);
  const config::Server* config = config::find_server(config_, server);
  if (config == nullptr) return;
  if (step.out)
    upstreams_->retire(server, step.in ? exchange::Retirement::replaced : exchange::Retirement::removed,
                       step.why);
  if (!step.in || !lives_here) return;
  add_server(*config);
  const config::Server* plain = config::plain_sidecar(config_);
  upstreams_->set_sidecar(*front_, plain == nullptr ? std::string() : plain->name);
}

void Worker::end_calls_of(const std::string& server, const std::string& why) {
  exchanges_.park_table().end_at(server, why);
  for (exchange::Exchange* exchange : exchanges_.live().all()) {
    if (exchange->server_name() == server && !exchange->ended())
      exchange->cancel(mcp::EndReason::cancelled_operator, why);
  }
}

void Worker::end_lease(const std::string& token) {
  for (const auto& id : front_->sessions().ids()) {
    const auto* session = front_->sessions().find(id);
    if (session != nullptr && session->lease == token) exchanges_.session_ended(id);
  }
  exchanges_.park_table().end_of_lease(token, "its client has ended");
  for (const config::Server& server : config_.servers) {
    core::Upstream* upstream = upstreams_->find(server.name);
    if (upstream != nullptr)
      upstream->close_scope({.session = {}, .principal = std::string(core::kAnonymous), .affinity = token});
  }
}

std::vector<std::string> Worker::leases() {
  std::set<std::string> out = exchanges_.park_table().leases();
  for (const auto& id : front_->sessions().ids()) {
    const auto* session = front_->sessions().find(id);
    if (session != nullptr && !session->lease.empty()) out.insert(session->lease);
  }
  return {out.begin(), out.end()};
}

void Worker::use_leaving(const std::set<std::string>& leaving) {
  if (http_ != nullptr) http_->use_paths(routes(config_, place_.placement, http_->paths(), leaving));
  if (further_) further_->use_paths(config_, place_.placement, leaving);
}

void Worker::drain(std::function<void()> done) {
  front_->drain();
  if (further_) further_->drain();
  exchanges_.end_listens();
  for (const auto& id : front_->sessions().ids()) {
    if (auto* session = front_->sessions().find(id)) session->end_get_streams();
  }
  drain_until_ = loop_.now() + config_.shutdown.drain;
  grace_.start(config_.shutdown.drain, [this] {
    exchanges_.end_all(mcp::EndReason::cancelled_drain, "the gateway is stopping and its grace is over");
  });
  when_over(std::move(done));
}

void Worker::when_over(std::function<void()> done) {
  over_ = std::move(done);
  exchanges_.when_empty([this] { calls_over(); });
}

// A request may still arrive on an open connection: it is answered like the others.
void Worker::calls_over() {
  if (!over_) return;
  // A request that waited for the last one may have begun when that ended.
  if (exchanges_.live().size() > 0) return exchanges_.when_empty([this] { calls_over(); });
  const size_t unanswered = front_->unanswered() + (further_ ? further_->unanswered() : 0);
  if (unanswered == 0 || loop_.now() >= drain_until_) return std::exchange(over_, nullptr)();
  last_requests_.start(kLastAnswersStep, [this] { exchanges_.when_empty([this] { calls_over(); }); });
}

void Worker::end_calls(std::function<void()> done) {
  grace_.stop();
  over_ = nullptr;
  exchanges_.when_empty(std::move(done));
}

void Worker::stop(std::function<void()> done) {
  grace_.stop();
  // A request that arrives now is answered as well, while the plugins can still record it.
  exchanges_.end_all(mcp::EndReason::cancelled_drain, "the gateway is stopping");
  auto left = std::make_shared<size_t>(2);
  auto one_less = [this, left, done = std::move(done)] {
    if (--*left > 0) return;
    const auto plugins = exchanges_.plugins();
    plugins ? plugin_host_->end(plugins->members(), done) : done();
  };
  upstreams_->stop(one_less);
  // The last answers are being sent: wait until clients have read them, for slow clients until the grace
  // period ends.
  auto deadline = std::max(drain_until_, loop_.now() + kLastAnswers);
  auto polite = loop_.now() + kLastAnswers;
  auto step = std::make_shared<std::function<void()>>();
  *step = [this, deadline, polite, one_less, weak = std::weak_ptr<std::function<void()>>(step)] {
    const size_t backlog = front_->backlog() + (further_ ? further_->backlog() : 0);
    const size_t connections = front_->connections() + (further_ ? further_->connections() : 0);
    const bool taken = backlog == 0 && loop_.now() >= polite;
    if (connections == 0 || taken || loop_.now() >= deadline) return one_less();
    last_answers_.start(kLastAnswersStep, [again = weak.lock()] { (*again)(); });
  };
  (*step)();
}

void Worker::beat() {
  const uint64_t now = net::Loop::nanoseconds();
  beat_at_.store(now, std::memory_order_relaxed);
  const uint64_t due = now + static_cast<uint64_t>(std::chrono::nanoseconds(kBeat).count());
  heart_.start(kBeat, [this, due] {
    const uint64_t at = net::Loop::nanoseconds();
    const std::chrono::nanoseconds late(at > due ? at - due : 0);
    metrics::stats().loop_lag.observe(late);
    lags_[beats_++ % lags_.size()] = std::chrono::duration<double>(late).count();
    metrics::stats().loop_lag_now = *std::max_element(lags_.begin(), lags_.end());
    beat();
  });
}

admin::WorkerView Worker::view() {
  return {loop_,
          [this](const std::string& name) { return upstreams_->find(name); },
          [this] { return upstreams_->leaving(); },
          [this] { return upstreams_->aggregate(); },
          exchanges_,
          *front_,
          metrics::stats(),
          *loop_watch_,
          [this] {
            std::vector<admin::ListenerView> out;
            if (!further_) return out;
            for (const FurtherFronts::View& one : further_->view())
              out.push_back({one.name, one.front});
            return out;
          }};
}

std::unique_ptr<net::LoopWatch> Worker::watch_loop() {
  net::LoopWatch::Limits limits{config_.watchdog.warn, config_.watchdog.abort};
  return std::make_unique<net::LoopWatch>(loop_, limits, [](const net::LoopWatch::Stall& stall) {
    log::write_aside(stall.aborting ? log::Level::error : log::Level::warn, "loop.stall",
                     {{"held_up_ms", stall.held_up.count()},
                      {"without_cpu_ms", stall.starved.count()},
                      {"then", stall.aborting ? "abort" : ""},
                      {"stack", stall.stack}});
  });
}

}  // namespace lineward::runtime
