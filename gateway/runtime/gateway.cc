#include "runtime/gateway.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "config/aggregate.h"
#include "config/forward_rules.h"
#include "config/secrets.h"
#include "foundation/base/file_limit.h"
#include "foundation/log/log.h"
#include "foundation/log/redaction.h"
#include "foundation/log/sanitize.h"
#include "foundation/net/activation_sockets.h"
#include "foundation/process/processors.h"
#include "operate/cli/exit_codes.h"
#include "operate/cli/local_address.h"
#include "proxy/aggregate/lists.h"
#include "proxy/aggregate/shared_names.h"
#include "proxy/audit/audit_log.h"
#include "runtime/remote_members.h"

namespace lineward::runtime {
namespace {

using std::chrono::milliseconds;

// Extra time for a part that should have ended long ago, up to five times.
constexpr milliseconds kOverdue{1000};
constexpr milliseconds kParentCheck{500};

constexpr int code(cli::ExitCode exit) {
  return static_cast<int>(exit);
}

bool has_terminal() {
  int terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
  if (terminal >= 0) close(terminal);
  return terminal >= 0;
}

bool is_plain_sidecar(const config::Config& config, const config::Server& server) {
  const config::Server* plain = config::plain_sidecar(config);
  return plain != nullptr && plain->name == server.name;
}

std::string command_line(const config::Server& server) {
  std::string out = server.url.empty() ? server.command : server.url.substr(0, server.url.find('?'));
  for (const auto& arg : server.args)
    out += " " + arg;
  return out;
}

std::string stopping_text(size_t calls) {
  return fmt::format("stopping: {} call{} left", calls, calls == 1 ? "" : "s");
}

// A client can verify the key without an authority.
std::string self_signed_text(const net::CurrentTls& tls, const std::string& url) {
  const net::TlsListenerPtr now = tls.get();
  if (!now) return {};
  const net::Certificate& own = *now->certificates().front();
  return fmt::format(
      "  TLS      self-signed until the next start, SHA-256 {}\n"
      "           curl -k --pinnedpubkey sha256//{} {}\n",
      own.fingerprint(), own.key_pin(), url);
}

admin::ReloadControls reload_controls(Reloader& reloader) {
  return {.reload = [&reloader](bool dry_run, std::string_view by) { return reloader.reload(dry_run, by); },
          .counts = [&reloader]() -> const admin::ReloadCounts& { return reloader.counts(); },
          .act = [&reloader](const std::string& server, admin::ServerAct act,
                             bool force) { return reloader.act(server, act, force); },
          .is_held = [&reloader](const std::string& server) { return reloader.is_held(server); }};
}

std::function<std::vector<int64_t>()> shared_by(const std::unique_ptr<share::LeaseHost>* leases) {
  if (leases == nullptr) return {};
  return [leases] {
    std::vector<int64_t> pids;
    if (*leases) {
      for (const pid_t pid : (*leases)->pids())
        pids.push_back(pid);
    }
    return pids;
  };
}

}  // namespace

size_t Gateway::workers_of(const config::Config& config) {
  if (config.listen.address == "stdio") return 1;
  constexpr size_t kMost = 64;
  return config.workers > 0 ? config.workers : std::min(process::available_processors(), kMost);
}

Gateway::Gateway(config::Config config, RunOptions options, std::vector<int> spawner_sockets)
    : options_(std::move(options)),
      spawner_sockets_(std::move(spawner_sockets)),
      pool_(spawner_sockets_.size()),
      threads_(pool_, [this](size_t index, config::Config its) {
        return std::make_unique<Worker>(std::move(its), place(index), spawner_sockets_[index], events(index));
      }) {
  redaction::use_secrets(config::secrets_of(config));
  config::note_files(config);
  cluster::place_servers(placement_, config, pool_.size());
  if (pool_.size() > 1) names_ = std::make_shared<aggregate::SharedNames>(aggregate::kMaxSeen);
  first_ = std::make_unique<Worker>(std::move(config), place(0), spawner_sockets_[0], events(0));
  net::Loop& loop = first_->loop();
  delay_ = std::make_unique<net::Timer>(loop);
  parent_timer_ = std::make_unique<net::Timer>(loop);
  stop_limit_ = std::make_unique<net::Timer>(loop);
}

Gateway::~Gateway() {
  delay_.reset();
  parent_timer_.reset();
  stop_limit_.reset();
  signals_.clear();
  service_.reset();
  if (operations_) first_->plugin_host().use_metrics(nullptr);
  operations_.reset();
  leases_.reset();
  log_limit_.reset();
  keeper_.reset();
  reloader_.reset();
  tls_.stop();
  threads_.end(exit_code_);
  first_.reset();
  audit::use(nullptr);
}

// Before anything is served.
int Gateway::start_audit() {
  const config::Audit& config = first_->config().audit;
  if (config.path.empty()) return code(cli::ExitCode::ok);
  auto opened = audit::AuditLog::open(config, options_.version);
  if (!opened) {
    log::tell(fmt::format("lineward: {}\n", opened.error().text));
    return code(cli::ExitCode::bad_config);
  }
  audit_ = std::move(*opened);
  audit::use(audit_);
  return code(cli::ExitCode::ok);
}

int Gateway::start() {
  // Watched as long as the gateway exists, in addition to other watches (the access logs). When its last
  // watch ends, the signal gets its default action back, which would end the process.
  signals_.push_back(std::make_unique<net::SignalWatch>(first_->loop(), SIGUSR1, [this] {
    if (audit_) audit_->reopen();
  }));
  if (int failed = start_audit(); failed != code(cli::ExitCode::ok)) return failed;
  auto prepared = first_->prepare();
  if (!prepared) {
    log::tell(fmt::format("error: {}\n  where  {}\n  fix    lineward validate, and lineward help plugins\n",
                          prepared.error().text, options_.source));
    return code(prepared.error().retryable ? cli::ExitCode::internal : cli::ExitCode::bad_config);
  }
  if (auto made = tls_.prepare(first_->config()); !made) {
    log::tell(fmt::format("error: {}\n  where  {}\n", made.error().text, options_.source));
    return code(cli::ExitCode::bad_config);
  }
  tls_.use();
  watch_signals();
  auto listening = first_->listen();
  if (!listening) return cannot_listen(listening.error(), "--listen :8010");
  first_->serve();
  first_view_.emplace(first_->view());
  if (auto started = threads_.start(*first_); !started) {
    log::tell(fmt::format("lineward: {}\n", started.error().text));
    return code(cli::ExitCode::internal);
  }
  join_remote_members(*this, first_->config());
  for (size_t k = 0; k < pool_.size(); ++k)
    pool_.run(k, [&] { worker(k).use_leaving({}); });
  if (int failed = open_listeners(); failed != code(cli::ExitCode::ok)) return failed;
  net::Loop& loop = first_->loop();
  limit_file_waits();  // a reload, and what watches files, must not hold the loops up
  reloader_ = std::make_unique<Reloader>(*this, draining_, std::move(options_.load), options_.source);
  service_ = std::make_unique<ServiceReport>(loop, options_.service, [this] { return slowest_beat(); });
  reloader_->tell({[this] { service_->reloading(); }, [this] { service_->reloaded(); },
                   [this](const config::Config& next) { return tls_.prepare(next); },
                   [this] { tls_.use(); }});
  tls_.watch(loop, first_->config());
  reloader_->follow_watch();
  operations_ = std::make_unique<admin::Operations>(
      admin::Sources{loop, first_->config(), *this, options_.version, options_.revision, options_.source,
                     draining_, reload_controls(*reloader_), loop.now(),
                     [this](const std::string& listener) { return tls_.current(listener); },
                     shared_by(options_.lease_path.empty() ? nullptr : &leases_)});
  first_->plugin_host().use_metrics(
      [this](metrics::MetricSnapshot& metrics) { return operations_->read_metrics(metrics); });
  auto watched = operations_->listen();
  if (!watched) {
    const std::string& ops = first_->config().ops.address;
    const bool of_ops = !ops.empty() && watched.error().text.find(ops) != std::string::npos;
    return cannot_listen(watched.error(),
                         of_ops ? "--ops 127.0.0.1:9465, or --ops off" : "--admin unix:/path");
  }
  if (int failed = all_sockets_taken(); failed != code(cli::ExitCode::ok)) return failed;
  // The first process of a container inherits orphaned processes and must reap them.
  if (getpid() == 1) {
    signals_.push_back(std::make_unique<net::SignalWatch>(loop, SIGCHLD, net::reap_children));
    net::reap_children();
  }
  if (options_.exit_with_parent) watch_parent();
  if (int failed = start_sharing(); failed != code(cli::ExitCode::ok)) return failed;
  print_banner();
  service_->ready(fmt::format("serving at {}", first_->front().address()));
  return code(cli::ExitCode::ok);
}

// `lineward stdio --share`: this is the shared gateway, or a client's front of it.
int Gateway::start_sharing() {
  net::Loop& loop = first_->loop();
  if (options_.keeper >= 0) {
    auto stream = net::ByteStream::from_socket(loop, options_.keeper);
    if (!stream) {
      log::tell(fmt::format("lineward: {}\n", stream.error().text));
      return code(cli::ExitCode::internal);
    }
    keeper_ = std::move(*stream);
    keeper_->set_owner(this);
    keeper_->start_reading();
    first_->upstreams().assume_both_eras();
  }
  if (options_.lease_path.empty()) return code(cli::ExitCode::ok);
  share::LeaseHost::Events events;
  events.ended = [this](const std::string& token) { first_->end_lease(token); };
  events.tokens = [this] { return first_->leases(); };
  events.idle = [this] { drain(); };
  leases_ = std::make_unique<share::LeaseHost>(loop, options_.lease_path, std::move(events));
  auto listening = leases_->listen();
  if (!listening) {
    leases_.reset();
    return cannot_listen(listening.error(), "XDG_RUNTIME_DIR");
  }
  log_limit_ = std::make_unique<share::LogLimit>(loop);
  if (options_.ready) options_.ready();
  return code(cli::ExitCode::ok);
}

// Without its lease the shared gateway may end at any moment, and this client has no part in it.
void Gateway::on_end(int) {
  keeper_->close();
  log::write(log::Level::error, "share.keeper_lost", {{"why", "the process that keeps the lease has died"}});
  finish(code(cli::ExitCode::internal));
}

// Runs before the listener is visible: a supervisor that waits for it may stop the gateway at once, and
// expects an orderly end. Signals that arrive before the loop runs are delivered when it does.
void Gateway::watch_signals() {
  net::Loop& loop = first_->loop();
  signals_.push_back(std::make_unique<net::SignalWatch>(loop, SIGINT, [this] { on_signal(SIGINT); }));
  signals_.push_back(std::make_unique<net::SignalWatch>(loop, SIGTERM, [this] { on_signal(SIGTERM); }));
  signals_.push_back(std::make_unique<net::SignalWatch>(loop, SIGHUP, [this] { hung_up(); }));
  had_terminal_ = has_terminal();
  net::take_signals({SIGHUP});  // held since the beginning of main
}

// A socket that is never accepted from would keep its clients waiting for ever.
int Gateway::all_sockets_taken() const {
  const auto left = net::activation_sockets().untaken();
  if (left.empty()) return code(cli::ExitCode::ok);
  const config::Config& config = first_->config();
  log::tell(fmt::format(
      "lineward: the service manager passes a socket at {}, and the configuration names no such address "
      "(listen.address is {}, ops.address {})\n"
      "  fix   write the same address as ListenStream= of the socket unit and in the configuration, or "
      "disable the "
      "socket unit\n",
      fmt::join(left, ", "), config.listen.address, config.ops.address));
  return code(cli::ExitCode::bad_config);
}

// ---- the workers ----

Worker::Place Gateway::place(size_t index) {
  Worker::Place place{index,  &pool_,         placement_, caps_,   in_flight_, states_,
                      names_, tls_.current(), nullptr,    nullptr, nullptr,    {}};
  place.further = further_place(index);
  place.hand_on = [this](size_t to, client::MovedConnection connection) {
    pool_.post(to, [target = &worker(to), moving = std::move(connection)]() mutable {
      target->http()->adopt(std::move(moving));
    });
  };
  place.hand_on_new = [this](size_t to, client::NewConnection connection) {
    pool_.post(to, [target = &worker(to), moving = std::move(connection)]() mutable {
      target->http()->adopt(std::move(moving));
    });
  };
  place.cancel_settled = [this](size_t caller, uint64_t tag, const metrics::CancelReport& report) {
    if (caller >= pool_.size()) return;
    pool_.post(caller, [target = &worker(caller), tag, report] {
      target->exchanges().log().on_cancel_settled(tag, report);
    });
  };
  return place;
}

// Called on any worker's thread.
ListenerParts Gateway::parts_of(const std::string& listener) {
  ListenerParts parts;
  parts.tls = tls_.current(listener);
  const std::lock_guard<std::mutex> lock(caps_mutex_);
  auto& caps = further_caps_[listener];
  if (!caps) caps = std::make_shared<client::ConnectionCaps>();
  parts.caps = caps;
  return parts;
}

// A listener that a reload removes may be gone at the other worker; its connection is closed then.
FurtherFronts::Place Gateway::further_place(size_t index) {
  FurtherFronts::Place place;
  place.index = index;
  place.workers = pool_.size();
  place.parts = [this](const std::string& listener) { return parts_of(listener); };
  place.hand_on = [this](size_t to, const std::string& listener, client::MovedConnection connection) {
    pool_.post(to, [this, target = &worker(to), listener, moving = std::move(connection)]() mutable {
      if (client::HttpFront* front = target->further()->find(listener))
        return front->adopt(std::move(moving));
      parts_of(listener).caps->leave(moving.peer);
    });
  };
  place.hand_on_new = [this](size_t to, const std::string& listener, client::NewConnection connection) {
    pool_.post(to, [this, target = &worker(to), to, listener, moving = std::move(connection)]() mutable {
      if (client::HttpFront* front = target->further()->find(listener))
        return front->adopt(std::move(moving));
      const auto caps = parts_of(listener).caps;
      caps->arrived_at(to);
      caps->leave(moving.peer);
    });
  };
  return place;
}

int Gateway::open_listeners() {
  std::string fault = prepare_listeners(*this, first_->config());
  if (!fault.empty()) {
    log::tell(fmt::format("lineward: {}\n", fault));
    return code(cli::ExitCode::temporary);
  }
  for (size_t index = 0; index < pool_.size(); ++index) {
    run(index, [this, index] {
      if (FurtherFronts* further = worker(index).further()) {
        further->use(worker(index).config());
        further->move();
      }
    });
  }
  return code(cli::ExitCode::ok);
}

void Gateway::on_first(size_t index, std::function<void()> work) {
  if (index == 0) return work();
  pool_.post(0, std::move(work));
}

bool Gateway::paused(const std::function<void()>& work) {
  return pool_.paused([&] {
    refresh_remote_members(*this);
    work();
  });
}

// Runs a worker's events on the first worker's thread.
WorkerEvents Gateway::events(size_t index) {
  auto here = [this, index](std::function<void()> work) { on_first(index, std::move(work)); };
  WorkerEvents events;
  events.ready = [this, here](const std::string& server, const upstream::EraVerdict& verdict) {
    here([this, server, verdict] { upstream_ready(server, verdict); });
  };
  events.left = [this, here] {
    here([this] {
      if (reloader_) reloader_->server_left();
    });
  };
  if (options_.exit_with_upstream) {
    events.lost = [this, here] {
      here([this] {
        exit_code_ = code(cli::ExitCode::unavailable);
        drain();
      });
    };
  }
  events.spawner_lost = [this, here] {
    here([this] {
      log::write(log::Level::error, "spawner.lost", {{"why", "a process that starts servers has died"}});
      finish(code(cli::ExitCode::internal));
    });
  };
  events.client_left = [this](mcp::EndReason why) { client_left(why); };
  return events;
}

template <class F>
void Gateway::on_each(F&& work) {
  for (size_t index = 0; index < pool_.size(); ++index) {
    Worker* one = &worker(index);
    if (index == 0) {
      work(*one);
    } else {
      pool_.post(index, [one, work] { work(*one); });
    }
  }
}

// The only client, on stdio, has disconnected; its calls have ended.
void Gateway::client_left(mcp::EndReason why) {
  if (why == mcp::EndReason::client_too_slow) exit_code_ = code(cli::ExitCode::failure);
  if (stopping_) return;
  draining_ = true;
  delay_->stop();
  first_->end_calls([this] { stop_upstreams(); });
}

int Gateway::cannot_listen(const Error& failure, const char* option) {
  log::tell(fmt::format("lineward: {}\n", failure.text));
  if (failure.code == EADDRINUSE) {
    log::tell(fmt::format("  fix   choose another address ({}) or stop what listens there\n", option));
    return code(cli::ExitCode::temporary);
  }
  if (failure.code == EACCES || failure.code == EPERM) return code(cli::ExitCode::no_permission);
  // A missing interface, directory or name server may appear a moment later.
  log::tell(fmt::format("  fix   give an address of this machine ({}), or start Lineward when it is there\n",
                        option));
  return code(cli::ExitCode::temporary);
}

// SIGHUP is also sent when the terminal closes: that is not a request to reload.
void Gateway::hung_up() {
  if (had_terminal_ && !has_terminal()) return on_signal(SIGHUP);
  reloader_->reload(false, "SIGHUP");
}

void Gateway::print_banner() {
  if (options_.quiet) return warm_up();
  const config::Config& config = first_->config();
  // Written in one piece: a script that reads one address in it may look for the next at once.
  std::string text = fmt::format("lineward {}  config: {}{}\n", options_.version, options_.source,
                                 pool_.size() > 1 ? fmt::format("  workers: {}", pool_.size()) : "");
  const std::string address = first_->front().address();
  const bool aggregated = first_->upstreams().aggregate() != nullptr;
  bool unix_socket = address.rfind("unix:", 0) == 0;
  if (address == "stdio") {
    text += fmt::format("  MCP      stdio   {}\n",
                        aggregated ? "all servers as one" : config.servers.front().name);
    log::tell(text);
    return warm_up();
  }
  // An address that a client can use: "every interface" is not one.
  const std::string scheme = tls_.current()->get() ? "https://" : "http://";
  const std::string local = cli::reachable(scheme + address);
  std::string base = unix_socket ? address + "#" : local;
  auto served = static_cast<size_t>(std::count_if(config.servers.begin(), config.servers.end(),
                                                  [](const auto& server) { return !server.disabled; }));
  for (const auto& server : config.servers) {
    if (server.disabled) continue;
    std::string path = served == 1 ? config.listen.path : config.listen.below(server.name);
    text += fmt::format("  MCP      {}{}   {}\n", base, path, server.name);
  }
  if (aggregated)
    text += fmt::format("  MCP      {}{}   all {} as one\n", base, config::aggregate_path(config), served);
  if (served == 0)
    text += fmt::format("  MCP      {}{}   no server is configured yet\n", base, config.listen.path);
  if (!unix_socket && local != scheme + address)
    text += fmt::format("           on every interface of this machine ({})\n", address);
  if (config.listen.tls.self_signed) text += self_signed_text(*tls_.current(), base + config.listen.path);
  for (const config::FurtherListen& one : config.listeners) {
    const client::HttpFront* front = first_->further() ? first_->further()->find(one.name) : nullptr;
    if (front == nullptr) continue;
    const std::string at = front->address();
    const bool path = at.rfind("unix:", 0) == 0;
    const std::string url =
        path ? at + "#" : cli::reachable((one.listen.tls.enabled() ? "https://" : "http://") + at);
    text += fmt::format("  MCP      {}{}   listener {}\n", url, one.listen.path, one.name);
    if (one.listen.tls.self_signed) text += self_signed_text(*tls_.current(one.name), url + one.listen.path);
  }
  if (!operations_->ops_url().empty())
    text += fmt::format("  Metrics  {}/metrics   probes: /livez /readyz\n", operations_->ops_url());
  if (!operations_->admin_url().empty())
    text += fmt::format("  Admin    {}/api/v1\n", operations_->admin_url());
  log::tell(text);
  std::fflush(stderr);
  warm_up();
}

void Gateway::warm_up() {
  log::write(log::Level::info, "listen", {{"address", first_->front().address()}});
  // A client of `lineward stdio` shows its era with its first message. A probe would run beside the process
  // of that client, which may be meant to be the only one.
  const config::Config& config = first_->config();
  const bool one_process = (first_->front().address() == "stdio" || leases_) &&
                           first_->upstreams().aggregate() == nullptr && !config.servers.empty() &&
                           config.servers.front().url.empty();
  if (one_process) return;
  on_each([](Worker& worker) { worker.upstreams().warm_up(); });
}

void Gateway::upstream_ready(const std::string& name, const upstream::EraVerdict& verdict) {
  const config::Server* found = config::find_server(first_->config(), name);
  if (found == nullptr) return;  // a reload has just removed it
  const config::Server& server = *found;
  if (options_.quiet && verdict.known) return;
  if (verdict.known) {
    log::tell(fmt::format("  ready    {}   {}   {}{}{}\n", server.name, sanitize(command_line(server), 100),
                          mcp::name(verdict.era),
                          verdict.versions.empty() ? "" : " " + verdict.versions.front(),
                          verdict.server.empty() ? "" : "   " + sanitize(verdict.server)));
  } else {
    log::tell(fmt::format("  failed   {}   {} {}\n", server.name, server.name,
                          sanitize(verdict.failure.text, 500)));
    if (!verdict.failure.detail.empty())
      log::tell(fmt::format("           {}\n", sanitize(verdict.failure.detail)));
    if (!verdict.failure.last_stderr.empty())
      log::tell(fmt::format("    stderr {}\n", sanitize(verdict.failure.last_stderr)));
    // A server that answers 401 is available: its clients bring their credentials.
    bool asks_who =
        verdict.failure.reason == mcp::EndReason::unauthorized && is_plain_sidecar(first_->config(), server);
    if (options_.exit_with_upstream && !asks_who) {
      exit_code_ = code(cli::ExitCode::unavailable);
      drain();
    }
  }
  std::fflush(stderr);
}

int Gateway::run() {
  if (int failed = start(); failed != code(cli::ExitCode::ok)) return failed;
  first_->loop().run();
  // The exit code is decided.
  net::ignore_signals({SIGINT, SIGTERM, SIGHUP, SIGUSR1});
  return exit_code_;
}

void Gateway::on_signal(int signal) {
  audit::record(audit::Kind::action, {{"action", "stop"}, {"who", "signal"}, {"signal", signal}});
  if (std::exchange(signalled_, true)) {
    // A second signal ends the process at once. The spawner ends every child process when the gateway's
    // socket closes.
    log::write(log::Level::warn, "stop", {{"why", "second signal"}});
    return finish(128 + signal);
  }
  drain();
}

size_t Gateway::calls_in_flight() {
  size_t calls = 0;
  for (size_t index = 0; index < pool_.size(); ++index)
    run(index, [&] { calls += worker(index).exchanges().live().size(); });
  return calls;
}

// A process that cannot be killed (it hangs in the kernel) must not block the exit: the spawner keeps trying.
milliseconds Gateway::stop_time() const {
  milliseconds longest{0};
  for (const auto& server : first_->config().servers)
    longest = std::max(longest, server.stop.stdin_grace + server.stop.term_grace);
  return longest + kOverdue * 5 + PluginHost::kFarewell;
}

void Gateway::drain() {
  if (draining_) return;
  draining_ = true;
  const size_t calls = calls_in_flight();
  const config::Shutdown& limits = first_->config().shutdown;
  log::write(log::Level::info, "drain", {{"calls", uint64_t{calls}}, {"limit_ms", limits.drain.count()}});
  if (calls > 0 && !options_.quiet)
    log::tell(fmt::format("draining: {} call{}, up to {} ms (Ctrl-C again stops now)\n", calls,
                          calls == 1 ? "" : "s", limits.drain.count()));
  service_->stopping(limits.delay + limits.drain + stop_time(),
                     [this] { return stopping_text(calls_in_flight()); });
  if (limits.delay.count() > 0 && first_->front().address() != "stdio") {
    delay_->start(limits.delay, [this] { begin_drain(); });
  } else {
    begin_drain();
  }
}

void Gateway::begin_drain() {
  drain_until_ = first_->loop().now() + first_->config().shutdown.drain;
  not_over_ = pool_.size();
  on_each([this](Worker& worker) {
    worker.drain([this, index = worker.index()] { on_first(index, [this] { one_over(); }); });
  });
  // After the socket for MCP: a client that finds no lease starts another gateway at the same place.
  if (leases_) leases_->close();
}

// A call may have reached a finished worker while another was not done yet.
void Gateway::one_over() {
  if (--not_over_ > 0 || stopping_) return;
  if (pool_.size() == 1) return stop_upstreams();
  bool idle = true;
  paused([&] {
    for (size_t index = 0; index < pool_.size(); ++index)
      idle = idle && worker(index).idle();
  });
  if (idle || first_->loop().now() >= drain_until_) return stop_upstreams();
  not_over_ = pool_.size();
  on_each([this](Worker& worker) {
    // By a message from the first worker too: this function is on the stack.
    worker.when_over([this] { pool_.post(0, [this] { one_over(); }); });
  });
}

void Gateway::stop_upstreams() {
  if (std::exchange(stopping_, true)) return;
  const auto now = first_->loop().now();
  stop_limit_->start(stop_time() + (drain_until_ > now ? drain_until_ - now : milliseconds(0)), [this] {
    log::write(log::Level::warn, "stop", {{"why", "a server's process did not end"}});
    finish(exit_code_);
  });
  not_stopped_ = pool_.size();
  on_each([this](Worker& worker) {
    worker.stop([this, index = worker.index()] { on_first(index, [this] { one_stopped(); }); });
  });
}

void Gateway::one_stopped() {
  if (--not_stopped_ == 0) finish(exit_code_);
}

void Gateway::finish(int exit) {
  exit_code_ = exit;
  log::write(log::Level::info, "stop", {{"code", exit}});
  first_->stop_loop();
}

void Gateway::watch_parent() {
  pid_t parent = getppid();
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  parent_timer_->start(kParentCheck, [this, parent] {
    if (getppid() != parent) return drain();
    watch_parent();
  });
}

}  // namespace lineward::runtime
