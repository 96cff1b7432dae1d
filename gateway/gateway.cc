#include "gateway.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/log.h"
#include "cli/exit_codes.h"
#include "client/http_front.h"
#include "client/stdio_front.h"
#include "config/aggregate.h"
#include "config/forward_rules.h"
#include "plugins/registry.h"
#include "routes.h"

namespace lineward {
namespace {

using std::chrono::milliseconds;

// After the last answer connections get this long to take it.
constexpr milliseconds kFarewell{1000};
constexpr milliseconds kFarewellStep{10};
constexpr milliseconds kParentCheck{500};

// What a server says of itself goes to a terminal here: nothing but printable text.
std::string printable(std::string_view text) {
  std::string out;
  for (unsigned char c : text.substr(0, 200))
    out += c < 0x20 || c == 0x7f ? '?' : static_cast<char>(c);
  return out;
}

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
  return out.size() > 100 ? out.substr(0, 97) + "..." : out;
}

}  // namespace

Gateway::Gateway(config::Config config, RunOptions options, int spawner_socket)
    : config_(std::move(config)),
      options_(std::move(options)),
      spawner_socket_(spawner_socket),
      exchanges_(loop_, config_),
      timer_(loop_),
      parent_timer_(loop_),
      stop_limit_(loop_),
      last_requests_(loop_) {}

Gateway::~Gateway() {
  loop_watch_.reset();
  log::flush();
  log::gather(nullptr);
  // Calls die before the upstreams they point to, replies before the sessions and connections they write to.
  exchanges_.when_empty(nullptr);
  memory_return_.reset();
  timer_.stop();
  parent_timer_.stop();
  stop_limit_.stop();
  last_requests_.stop();
  signals_.clear();
  operations_.reset();
  reloader_.reset();
  if (front_) front_->close_all();
  exchanges_.end_all(mcp::EndReason::cancelled_drain, "the gateway stopped");
  loop_.close_deferred();
  front_.reset();
  loop_.close_deferred();
  exchanges_.use_plugins(nullptr);
  loop_.close_deferred();
  upstreams_.reset();
  loop_.close_deferred();
  plugin_host_.reset();
  spawner_.reset();
  loop_.close_all();
}

int Gateway::start() {
  log::gather([this](bool urgent) { log_lines_.wanted(urgent); });
  auto spawner = net::Spawner::create(loop_, spawner_socket_, [this] {
    log::write(log::Level::error, "spawner.lost", {{"why", "the process that starts servers has died"}});
    finish(code(cli::ExitCode::internal));
  });
  if (!spawner) {
    log::tell(fmt::format("lineward: {}\n", spawner.error().text));
    return code(cli::ExitCode::internal);
  }
  spawner_ = std::move(*spawner);
  UpstreamSet::Events events;
  events.ready = [this](const config::Server& server, const upstream::Verdict& verdict) {
    upstream_ready(server, verdict);
  };
  events.left = [this] {
    if (reloader_) reloader_->server_left();
  };
  if (options_.exit_with_upstream) {
    events.lost = [this] {
      exit_code_ = code(cli::ExitCode::unavailable);
      drain();
    };
  }
  upstreams_ = std::make_unique<UpstreamSet>(loop_, config_, exchanges_, std::move(events));
  upstreams_->use(*spawner_);
  front_ = make_front();
  exchanges_.use_sessions(front_->sessions());
  if (!make_plugins()) return code(cli::ExitCode::bad_config);
  auto listening = front_->listen();
  if (!listening) return cannot_listen(listening.error(), "--listen :8010");
  for (const auto& server : config_.servers) {
    if (!server.disabled) upstreams_->add(server);
  }
  loop_watch_ = watch_loop();
  memory_return_ = std::make_unique<MemoryReturn>(loop_, [this] {
    return MemoryReturn::Connections{front_->connections(), front_->take_most_connections()};
  });
  const config::Server* plain = config::plain_sidecar(config_);
  upstreams_->set_sidecar(*front_, plain == nullptr ? std::string() : plain->name);
  make_reloader();
  operations_ = std::make_unique<admin::Operations>(
      admin::Sources{loop_, config_, *upstreams_, exchanges_, *front_, options_.version, options_.revision,
                     options_.source, draining_, *reloader_, loop_.now(), *loop_watch_});
  auto watched = operations_->listen();
  if (!watched) return cannot_listen(watched.error(), "--ops :9465, --admin unix:/path");
  signals_.push_back(std::make_unique<net::SignalWatch>(loop_, SIGINT, [this] { on_signal(SIGINT); }));
  signals_.push_back(std::make_unique<net::SignalWatch>(loop_, SIGTERM, [this] { on_signal(SIGTERM); }));
  signals_.push_back(std::make_unique<net::SignalWatch>(loop_, SIGHUP, [this] { hung_up(); }));
  had_terminal_ = has_terminal();
  // The first process of a container inherits what others left behind, and has to bury it.
  if (getpid() == 1) {
    signals_.push_back(std::make_unique<net::SignalWatch>(loop_, SIGCHLD, net::bury_children));
    net::bury_children();
  }
  if (options_.exit_with_parent) watch_parent();
  greet();
  return code(cli::ExitCode::ok);
}

bool Gateway::make_plugins() {
  plugin_host_ = std::make_unique<PluginHost>(loop_, *spawner_, config_);
  auto made = plugin::PluginSet::make(config_, plugins::registry(), *plugin_host_);
  if (!made) {
    log::tell(fmt::format("lineward: {}\n", made.error().text));
    return false;
  }
  exchanges_.use_plugins(*made);
  front_->use_gate(*made);
  return true;
}

std::unique_ptr<client::Front> Gateway::make_front() {
  if (config_.listen.address != "stdio")
    return std::make_unique<client::HttpFront>(loop_, config_.listen, routes(config_), exchanges_);
  std::string server;
  for (const auto& one : config_.servers) {
    if (!one.disabled && server.empty()) server = one.name;
  }
  if (config::is_aggregated(config_)) server = config_.together.name;
  return std::make_unique<client::StdioFront>(loop_, config_.listen, server, exchanges_,
                                              [this](mcp::EndReason why) { client_left(why); });
}

// The only client there is, on stdio, has gone; its calls have ended.
void Gateway::client_left(mcp::EndReason why) {
  if (why == mcp::EndReason::client_too_slow) exit_code_ = code(cli::ExitCode::failure);
  if (stopping_ > 0) return;
  draining_ = true;
  timer_.stop();
  exchanges_.when_empty([this] { stop_upstreams(); });
}

int Gateway::cannot_listen(const net::ListenFailure& failure, const char* option) {
  log::tell(fmt::format("lineward: {}\n", failure.text));
  if (failure.in_use) {
    log::tell(fmt::format("  fix   choose another address ({}) or stop what listens there\n", option));
    return code(cli::ExitCode::temporary);
  }
  return failure.not_permitted ? code(cli::ExitCode::no_permission) : code(cli::ExitCode::usage);
}

void Gateway::make_reloader() {
  auto* http = dynamic_cast<client::HttpFront*>(front_.get());
  reloader_ = std::make_unique<Reloader>(
      Reloader::Parts{loop_, config_, *upstreams_, exchanges_, *front_, http, draining_, *plugin_host_},
      std::move(options_.load), options_.source);
  reloader_->follow_watch();
}

// SIGHUP is also what a process gets whose terminal has gone: then nobody is there to want a reload.
void Gateway::hung_up() {
  if (had_terminal_ && !has_terminal()) return on_signal(SIGHUP);
  reloader_->reload(false, "SIGHUP");
}

void Gateway::greet() {
  if (options_.quiet) return warm_up();
  log::tell(fmt::format("lineward {}  config: {}\n", options_.version, options_.source));
  bool unix_socket = front_->address().rfind("unix:", 0) == 0;
  if (front_->address() == "stdio") {
    log::tell(fmt::format("  MCP      stdio   {}\n", upstreams_->together() != nullptr
                                                         ? "all servers as one"
                                                         : config_.servers.front().name));
    return warm_up();
  }
  std::string base = unix_socket ? front_->address() + "#" : "http://" + front_->address();
  size_t served = upstreams_->size();
  for (const auto& server : config_.servers) {
    if (server.disabled) continue;
    std::string path = config_.listen.path + (served == 1 ? "" : "/" + server.name);
    log::tell(fmt::format("  MCP      {}{}   {}\n", base, path, server.name));
  }
  if (upstreams_->together() != nullptr)
    log::tell(
        fmt::format("  MCP      {}{}   all {} as one\n", base, config::aggregate_path(config_), served));
  if (served == 0)
    log::tell(fmt::format("  MCP      {}{}   no server is configured yet\n", base, config_.listen.path));
  if (!operations_->ops_url().empty())
    log::tell(fmt::format("  Metrics  {}/metrics   probes: /livez /readyz\n", operations_->ops_url()));
  std::fflush(stderr);
  warm_up();
}

void Gateway::warm_up() {
  log::write(log::Level::info, "listen", {{"address", front_->address()}});
  upstreams_->warm_up();
}

void Gateway::upstream_ready(const config::Server& server, const upstream::Verdict& verdict) {
  if (options_.quiet && verdict.known) return;
  if (verdict.known) {
    log::tell(fmt::format("  ready    {}   {}   {}{}{}\n", server.name, printable(command_line(server)),
                          mcp::name(verdict.era),
                          verdict.versions.empty() ? "" : " " + verdict.versions.front(),
                          verdict.server.empty() ? "" : "   " + printable(verdict.server)));
  } else {
    log::tell(
        fmt::format("  failed   {}   {} {}\n", server.name, server.name, printable(verdict.failure.text)));
    if (!verdict.failure.detail.empty())
      log::tell(fmt::format("           {}\n", printable(verdict.failure.detail)));
    if (!verdict.failure.last_stderr.empty())
      log::tell(fmt::format("    stderr {}\n", printable(verdict.failure.last_stderr)));
    // A server that wants to know who calls is there: its clients bring their credentials.
    bool asks_who =
        verdict.failure.reason == mcp::EndReason::unauthorized && is_plain_sidecar(config_, server);
    if (options_.exit_with_upstream && !asks_who) {
      exit_code_ = code(cli::ExitCode::unavailable);
      drain();
    }
  }
  std::fflush(stderr);
}

int Gateway::run() {
  if (int failed = start(); failed != code(cli::ExitCode::ok)) return failed;
  loop_.run();
  loop_watch_.reset();
  return exit_code_;
}

void Gateway::on_signal(int signal) {
  if (std::exchange(signalled_, true)) {
    // A second one: now. The spawner ends every process when our socket closes.
    log::write(log::Level::warn, "stop", {{"why", "second signal"}});
    return finish(128 + signal);
  }
  drain();
}

void Gateway::drain() {
  if (draining_) return;
  draining_ = true;
  log::write(log::Level::info, "drain",
             {{"calls", exchanges_.size()}, {"limit_ms", config_.shutdown.drain.count()}});
  if (exchanges_.size() > 0 && !options_.quiet) {
    log::tell(fmt::format("draining: {} calls, up to {} ms (Ctrl-C again stops now)\n", exchanges_.size(),
                          config_.shutdown.drain.count()));
  }
  auto begin = [this] {
    front_->drain();
    exchanges_.end_listens();
    for (const auto& id : front_->sessions().ids()) {
      if (auto* session = front_->sessions().find(id)) session->end_get_streams();
    }
    drain_until_ = loop_.now() + config_.shutdown.drain;
    timer_.start(config_.shutdown.drain, [this] {
      exchanges_.end_all(mcp::EndReason::cancelled_drain, "the gateway is stopping and its grace is over");
    });
    exchanges_.when_empty([this] { calls_over(); });
  };
  if (config_.shutdown.delay.count() > 0 && front_->address() != "stdio") {
    timer_.start(config_.shutdown.delay, begin);
  } else {
    begin();
  }
}

// A request may be on its way on a connection that is open: it is answered like the others.
void Gateway::calls_over() {
  if (stopping_ > 0) return;
  if (front_->unanswered() == 0 || loop_.now() >= drain_until_) return stop_upstreams();
  last_requests_.start(kFarewellStep, [this] { exchanges_.when_empty([this] { calls_over(); }); });
}

void Gateway::stop_upstreams() {
  if (stopping_ > 0) return;
  stopping_ = 2;
  auto one_less = [this] {
    if (--stopping_ == 0) finish(exit_code_);
  };
  upstreams_->stop(one_less);
  // A process that cannot be killed (it hangs in the kernel) must not keep us: the spawner goes on trying.
  milliseconds longest{0};
  for (const auto& server : config_.servers) {
    longest = std::max(longest, server.stop.stdin_grace + server.stop.term_grace);
  }
  stop_limit_.start(
      longest + (drain_until_ > loop_.now() ? drain_until_ - loop_.now() : milliseconds(0)) + kFarewell * 5,
      [this] {
        log::write(log::Level::warn, "stop", {{"why", "a server's process did not end"}});
        finish(exit_code_);
      });
  // The last answers are on their way: wait for the clients to take them, slow ones as long as the grace
  // lasts.
  auto deadline = std::max(drain_until_, loop_.now() + kFarewell);
  auto polite = loop_.now() + kFarewell;
  auto step = std::make_shared<std::function<void()>>();
  *step = [this, deadline, polite, one_less, weak = std::weak_ptr<std::function<void()>>(step)] {
    bool taken = front_->backlog() == 0 && loop_.now() >= polite;
    if (front_->connections() == 0 || taken || loop_.now() >= deadline) return one_less();
    timer_.start(kFarewellStep, [again = weak.lock()] { (*again)(); });
  };
  (*step)();
}

void Gateway::finish(int exit) {
  exit_code_ = exit;
  log::write(log::Level::info, "stop", {{"code", exit}});
  loop_.stop();
}

std::unique_ptr<net::LoopWatch> Gateway::watch_loop() {
  net::LoopWatch::Limits limits{config_.watchdog.warn, config_.watchdog.abort};
  return std::make_unique<net::LoopWatch>(
      loop_, limits, [](milliseconds held_up, const std::string& stack, bool aborting) {
        log::write_aside(
            aborting ? log::Level::error : log::Level::warn, "loop.stall",
            {{"held_up_ms", held_up.count()}, {"then", aborting ? "abort" : ""}, {"stack", stack}});
      });
}

void Gateway::watch_parent() {
  pid_t parent = getppid();
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  parent_timer_.start(kParentCheck, [this, parent] {
    if (getppid() != parent) return drain();
    watch_parent();
  });
}

}  // namespace lineward
