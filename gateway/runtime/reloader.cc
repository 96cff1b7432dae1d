#include "runtime/reloader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>
#include <vector>

#include "config/auth_blocks.h"
#include "config/options/options.h"
#include "config/secrets.h"
#include "foundation/log/log.h"
#include "foundation/log/redaction.h"
#include "foundation/log/sanitize.h"
#include "proxy/audit/audit.h"
#include "runtime/remote_members.h"
#include "runtime/routes.h"

namespace lineward::runtime {
namespace {

using admin::PlanRow;
using admin::ReloadReport;
using config::Change;
using config::Changes;
using config::ServerChange;

constexpr size_t kMaxPlan = 2000;  // bytes in a log line
constexpr std::string_view kWatch = "watch";
// For the rest of a file that is blank when it is read.
constexpr std::chrono::milliseconds kHalfSaved{2000};
constexpr std::string_view kRestart = "needs a restart of lineward";
constexpr std::string_view kStuck = "a worker does not answer: its event loop stands still";

std::string calls_word(size_t calls) {
  return fmt::format("its {} call{} end{}", calls, calls == 1 ? "" : "s", calls == 1 ? "s" : "");
}

// For a server taken out of service by an operator: none of its processes runs.
std::string effect_on_held(Change kind) {
  return kind == Change::removed ? "" : "counts when it is started again";
}

std::string effect_of(const ServerChange& change, const exchange::ExchangeTable::Work& work) {
  std::string sessions = work.sessions == 0 ? ""
                                            : fmt::format("; its {} session{} with {}", work.sessions,
                                                          work.sessions == 1 ? " ends" : "s end",
                                                          work.sessions == 1 ? "it" : "them");
  switch (change.kind) {
    case Change::added: return "";
    case Change::adjusted: return "no restart needed";
    case Change::replaced:
      return (work.calls == 0 ? "restarts now" : "restarts when " + calls_word(work.calls)) + sessions;
    case Change::removed:
      return (work.calls == 0 ? "ends now" : "ends when " + calls_word(work.calls)) + sessions;
  }
  return "";
}

// All errors on one line of the log, each with its position.
std::string errors_of(const config::LoadResult& result) {
  std::string out;
  for (const config::Diagnostic& one : result.diagnostics) {
    if (one.severity != config::Severity::error) continue;
    std::string place = result.place_of(one);
    if (!place.empty()) place += " ";
    out += (out.empty() ? "" : " | ") + place + one.message;
    if (!one.hint.empty()) out += " (" + one.hint + ")";
  }
  return out.substr(0, kMaxPlan);
}

bool is_blank(const std::string& text) {
  return text.find_first_not_of(" \t\r\n") == std::string::npos;
}

// Included files without text, which had servers: half saved, or emptied.
std::set<std::string> emptied_files(const config::LoadResult& loaded, const std::set<std::string>& served) {
  std::set<std::string> out;
  for (const config::IncludedFile& file : loaded.included) {
    if (served.count(file.path) > 0 && is_blank(file.text)) out.insert(file.path);
  }
  return out;
}

std::set<std::string> files_served_by(const config::Config& config) {
  std::set<std::string> out;
  for (const config::Server& server : config.servers) {
    if (!server.file.empty()) out.insert(server.file);
  }
  return out;
}

std::string in_one_line(const std::vector<PlanRow>& rows) {
  std::string out;
  for (const PlanRow& row : rows) {
    out += fmt::format("{}{} {} {}{}{}", out.empty() ? "" : "; ", row.mark, row.name, row.what,
                       row.effect.empty() ? "" : ": ", row.effect);
  }
  return out.substr(0, kMaxPlan);
}

size_t count(const Changes& changes, Change kind) {
  return static_cast<size_t>(std::count_if(changes.servers.begin(), changes.servers.end(),
                                           [&](const ServerChange& one) { return one.kind == kind; }));
}

double unix_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// `gate_of`: called on the worker's thread; a worker without plugins of its own has none.
template <class F>
std::string prepare_listeners(WorkerDirectory& workers, const config::Config& next,
                              const cluster::ServerPlacement& placement, F&& gate_of) {
  std::string fault;
  for (size_t k = 0; k < workers.workers() && fault.empty(); ++k) {
    const bool done = workers.run(k, [&] {
      FurtherFronts* further = workers.worker(k).further();
      if (further == nullptr) return;
      const FurtherFronts* first = k == 0 ? nullptr : workers.worker(0).further();
      if (auto made = further->prepare(next, placement, gate_of(k), first); !made) fault = made.error().text;
    });
    if (!done) fault = kStuck;
  }
  return fault;
}

}  // namespace

Reloader::Reloader(WorkerDirectory& workers, const bool& draining, config::ReadAgain load, std::string file)
    : workers_(workers), draining_(draining), load_(std::move(load)), file_(std::move(file)) {
  files_served_ = files_served_by(config());
  counts_.last_ok_at = unix_time();
}

ReloadReport Reloader::refused(bool dry_run, std::string error) const {
  ReloadReport report;
  report.outcome = ReloadReport::Outcome::refused;
  report.dry_run = dry_run;
  report.error = std::move(error);
  log::write(log::Level::warn, "config.refused", {{"why", report.error}});
  return report;
}

ReloadReport Reloader::rejected(bool dry_run, std::string_view by, std::string error, std::string text) {
  ReloadReport report;
  report.outcome = ReloadReport::Outcome::rejected;
  report.dry_run = dry_run;
  report.error = std::move(error);
  report.report = std::move(text);
  bool again = by == kWatch && report.error == last_rejection_;  // the same file, touched
  if (dry_run || again) return report;
  last_rejection_ = report.error;
  counts_.last_ok = false;
  ++counts_.failed;
  log::write(log::Level::error, "config.rejected",
             {{"source", file_}, {"by", by}, {"why", report.error}, {"in_effect", "the one before"}});
  audit::record(audit::Kind::reload,
                {{"by", by}, {"source", file_}, {"outcome", "rejected"}, {"why", report.error}});
  return report;
}

// Some workers have applied it. It counts as failed, so that the operator repeats it.
ReloadReport Reloader::incomplete(ReloadReport report, std::string_view by) {
  report.outcome = ReloadReport::Outcome::incomplete;
  last_rejection_.clear();
  counts_.last_ok = false;
  ++counts_.failed;
  log::write(log::Level::error, "config.incomplete",
             {{"source", file_}, {"by", by}, {"why", report.error}, {"plan", in_one_line(report.rows)}});
  audit::record(audit::Kind::reload,
                {{"by", by}, {"source", file_}, {"outcome", "incomplete"}, {"why", report.error}});
  return report;
}

ReloadReport Reloader::reload(bool dry_run, std::string_view by) {
  if (dry_run || draining_ || !events_.begins) return reread(dry_run, by);
  events_.begins();
  ReloadReport report = reread(dry_run, by);
  events_.over();
  return report;
}

ReloadReport Reloader::reread(bool dry_run, std::string_view by) {
  const auto begin = net::Loop::nanoseconds();
  if (draining_) return refused(dry_run, "the gateway is stopping");
  if (!load_)
    return refused(dry_run,
                   "this gateway was started without a configuration file: there is none to read again");
  std::set<std::string> running;
  for (const config::Server& server : config().servers)
    running.insert(server.name);
  config::LoadResult loaded = load_(std::move(running));
  const bool by_watch = by == kWatch;
  if (by_watch && loaded.ok() && awaits_text(loaded)) return {};
  const bool holds = !by_watch && !dry_run && loaded.ok() && config().reload.watch && !is_blank(loaded.text);
  if (holds && awaits_text(loaded))
    return refused(dry_run, fmt::format("{} has no text and may be half saved: repeat this in two seconds",
                                        fmt::join(blank_, ", ")));
  if (!loaded.ok()) return rejected(dry_run, by, errors_of(loaded), loaded.report(false));
  config::Config next = std::move(loaded.config);
  config::note_files(next);
  if (!dry_run) files_served_ = files_served_by(next);
  Changes changes = config::compare(config(), next);
  // After a rejected file, a return to the effective configuration is reported too.
  const bool is_quiet = by_watch && counts_.last_ok;
  if (is_quiet && changes.none()) {
    last_plan_.clear();
    return {};
  }
  if (http() == nullptr) hold_back(changes, next);
  ReloadReport report;
  report.dry_run = dry_run;
  report.rows = plan(changes, next);
  std::string planned = in_one_line(report.rows);
  if (is_quiet && is_reported(changes, planned)) return {};
  report.unchanged = changes.unchanged;
  if (!loaded.diagnostics.empty()) report.report = loaded.report(false);
  if (!dry_run) {
    config::keep_fixed_settings(config(), next);
    cluster::ServerPlacement placement = workers_.placement();
    cluster::place_servers(placement, next, workers_.workers());
    if (std::string fault = prepare(next, placement); !fault.empty()) return rejected(dry_run, by, fault, {});
    report.error = apply(changes, next, placement);
  }
  for (size_t k = 0; k < workers_.workers(); ++k)
    workers_.run(k, [&] { report.in_flight += workers_.worker(k).exchanges().live().size(); });
  report.took_ms = static_cast<int64_t>((net::Loop::nanoseconds() - begin) / 1'000'000);
  if (dry_run) return report;
  if (!report.error.empty()) return incomplete(std::move(report), by);
  counts_.last_ok = true;
  counts_.last_ok_at = unix_time();
  ++counts_.ok;
  last_rejection_.clear();
  log::write(log::Level::info, "config.loaded",
             {{"source", file_},
              {"by", by},
              {"added", uint64_t{count(changes, Change::added)}},
              {"changed", uint64_t{count(changes, Change::adjusted) + count(changes, Change::replaced)}},
              {"removed", uint64_t{count(changes, Change::removed)}},
              {"unchanged", uint64_t{changes.unchanged}},
              {"calls", uint64_t{report.in_flight}},
              {"dur_ms", report.took_ms},
              {"plan", planned}});
  audit::record(audit::Kind::reload, {{"by", by}, {"source", file_}, {"outcome", "done"}, {"plan", planned}});
  last_plan_ = std::move(planned);
  return report;
}

bool Reloader::is_reported(const Changes& changes, const std::string& plan) const {
  const bool only_pending = changes.servers.empty() &&
                            std::all_of(changes.settings.begin(), changes.settings.end(),
                                        [](const config::SettingChange& one) { return one.needs_restart; });
  return only_pending && plan == last_plan_;
}

// The rest of the text brings another event. An included file that stays blank has been emptied; a blank
// configuration never counts.
bool Reloader::awaits_text(const config::LoadResult& loaded) {
  std::set<std::string> blank = emptied_files(loaded, files_served_);
  if (is_blank(loaded.text)) blank = {file_};
  const bool again = std::includes(blank_.begin(), blank_.end(), blank.begin(), blank.end());
  for (const std::string& file : blank) {
    if (blank_.count(file) > 0) continue;
    log::write(
        log::Level::warn, "config.blank",
        {{"file", file},
         {"why", file == file_ ? "it has no text: the configuration before stays in effect until it has"
                               : "it has no text: if it stays so, its servers are removed"}});
  }
  blank_ = std::move(blank);
  if (blank_.empty() || blank_.count(file_) > 0) return !blank_.empty();
  if (!again) {
    if (!blank_timer_) blank_timer_ = std::make_unique<net::Timer>(workers_.worker(0).loop());
    blank_timer_->start(kHalfSaved, [this] { watched(); });
  }
  return blank_timer_->running();
}

// A client on stdin and stdout has one server and cannot initialise again: only limits may change.
void Reloader::hold_back(Changes& changes, config::Config& next) {
  for (const ServerChange& change : changes.servers) {
    if (change.kind == Change::adjusted) continue;
    changes.settings.push_back(
        {change.name, change.name + " " + fmt::format("{}", fmt::join(change.what, ", ")), true});
    if (change.kind == Change::added)
      std::erase_if(next.servers, [&](const auto& one) { return one.name == change.name; });
    const config::Server* before = config::find_server(config(), change.name);
    if (before == nullptr || change.kind == Change::added) continue;
    auto here = std::find_if(next.servers.begin(), next.servers.end(),
                             [&](const auto& one) { return one.name == change.name; });
    if (here == next.servers.end()) {
      next.servers.push_back(*before);
    } else {
      *here = *before;  // at the same position: the order matters
    }
  }
  std::erase_if(changes.servers, [](const ServerChange& one) { return one.kind != Change::adjusted; });
}

std::optional<exchange::ExchangeTable::Work> Reloader::work_of(const std::string& server) const {
  exchange::ExchangeTable::Work all;
  bool taken = true;
  for (size_t k = 0; k < workers_.workers(); ++k) {
    const bool told = workers_.run(k, [&] {
      const auto here = workers_.worker(k).upstreams().work_of(server);
      all.calls += here.calls;
      all.sessions += here.sessions;
    });
    taken = taken && told;
  }
  if (!taken) return std::nullopt;
  return all;
}

std::vector<PlanRow> Reloader::plan(const Changes& changes, const config::Config& next) const {
  std::vector<PlanRow> rows;
  for (const ServerChange& change : changes.servers) {
    char mark = change.kind == Change::added ? '+' : change.kind == Change::removed ? '-' : '~';
    const auto work = work_of(change.name).value_or(exchange::ExchangeTable::Work{});
    rows.push_back({mark, change.name, fmt::format("{}", fmt::join(change.what, ", ")),
                    is_held(change.name) ? effect_on_held(change.kind) : effect_of(change, work)});
  }
  for (const config::SettingChange& change : changes.settings) {
    std::string what = change.what;
    if (what.rfind(change.path + " ", 0) == 0) what.erase(0, change.path.size() + 1);
    bool address = change.path == "listen.address" && !change.needs_restart;
    rows.push_back({change.needs_restart ? '!' : '~', change.path, std::move(what),
                    std::string(change.needs_restart ? kRestart
                                : address            ? "for new connections"
                                                     : "no restart needed")});
  }
  if (http() == nullptr) return rows;
  // A path may also change because another server was added or removed.
  client::PathTable after = routes(next, workers_.placement());
  for (const auto& [path, server] : http()->paths().servers) {
    auto same = after.servers.find(path);
    if (same != after.servers.end() && same->second != server) {
      auto spell = [&](const std::string& name) {
        return name == next.aggregate_server.name ? "all servers as one" : name;
      };
      rows.push_back({'~', path, "led to " + spell(server), "leads to " + spell(same->second) + " now"});
    }
    if (same != after.servers.end() || after.forward.count(server) == 0) continue;
    std::string now;
    for (const auto& [other, name] : after.servers) {
      if (name == server) now = other;
    }
    rows.push_back({'!', path, "led to " + server, "leads nowhere now: use " + now});
  }
  return rows;
}

std::string prepare_listeners(WorkerDirectory& workers, const config::Config& next) {
  return prepare_listeners(workers, next, workers.placement(),
                           [&](size_t k) { return workers.worker(k).exchanges().plugins(); });
}

std::string Reloader::prepare(const config::Config& next, const cluster::ServerPlacement& placement) {
  std::vector<size_t> moving;
  std::string fault;
  if (events_.prepare) {
    if (auto prepared = events_.prepare(next); !prepared) fault = prepared.error().text;
  }
  plugins_.assign(workers_.workers(), nullptr);
  for (size_t k = 0; k < workers_.workers() && fault.empty(); ++k) {
    bool done = workers_.run(k, [&] {
      Worker& worker = workers_.worker(k);
      // Its own: it may have missed the previous reload.
      const config::Config& now = worker.config();
      const bool others = !config::have_same_plugins(now, next);
      if (next.listen.address != now.listen.address) moving.push_back(k);
      plugins_[k] = worker.exchanges().plugins();
      if (auto made = worker.prepare_replication(next); !made) fault = made.error().text;
      if (!fault.empty() || !worker.wants_plugins(next, placement) || (plugins_[k] && !others)) return;
      auto made = worker.make_plugins(next);
      if (made) {
        plugins_[k] = std::move(*made);
      } else {
        fault = made.error().text;
      }
    });
    if (!done) fault = kStuck;
  }
  for (const size_t k : moving) {
    if (!fault.empty()) break;
    const net::Listener* first = k == 0 ? nullptr : http()->listener().newest();
    const bool done = workers_.run(k, [&] {
      client::FrontListener& listener = workers_.worker(k).http()->listener();
      auto opened = k == 0 ? listener.open_next(next.listen)
                           : listener.join_next(first->share(), first->address(), first->is_loopback());
      if (!opened) fault = opened.error().text;
    });
    if (!done) fault = kStuck;
  }
  if (fault.empty())
    fault = prepare_listeners(workers_, next, placement, [&](size_t k) { return plugins_[k]; });
  if (fault.empty()) return {};
  for (size_t k = 0; k < workers_.workers(); ++k) {
    workers_.run(k, [&] {
      plugins_[k].reset();
      if (FurtherFronts* further = workers_.worker(k).further()) further->forget();
      if (client::HttpFront* front = workers_.worker(k).http()) front->listener().forget_next();
    });
  }
  return fault;
}

// Without servers out of service: their new version comes when they are started again.
Changes Reloader::without_held(Changes changes) const {
  std::erase_if(changes.servers, [&](const ServerChange& one) { return is_held(one.name); });
  return changes;
}

std::string Reloader::apply(const Changes& changes, const config::Config& next,
                            const cluster::ServerPlacement& placement) {
  redaction::use_secrets(config::secrets_of(next));
  workers_.use_placement(placement);
  std::vector<size_t> missing;
  for (size_t k = 0; k < workers_.workers(); ++k) {
    const bool done = workers_.run(k, [&] {
      Worker& worker = workers_.worker(k);
      // Its own: it may have missed the previous reload.
      worker.apply(without_held(config::compare(worker.config(), next)), next, placement,
                   std::move(plugins_[k]));
    });
    if (!done) missing.push_back(k);
  }
  if (events_.apply) events_.apply();
  for (const ServerChange& change : changes.servers) {
    if (change.kind == Change::removed) held_.erase(change.name);
  }
  join_remote_members(workers_, config());
  server_left();
  for (size_t k = 0; k < workers_.workers(); ++k) {
    // It stays as it was, at the old address.
    if (std::find(missing.begin(), missing.end(), k) != missing.end()) continue;
    workers_.run(k, [&] {
      Worker& worker = workers_.worker(k);
      if (worker.http() != nullptr) worker.http()->listener().move();
      if (worker.http() != nullptr && k == 0) worker.http()->listener().use_access(next.listen.socket);
      if (worker.further() != nullptr) worker.further()->move();
      worker.upstreams().warm_up();
    });
  }
  log::set_level(static_cast<log::Level>(config().log.level));
  follow_watch();
  if (missing.empty()) return {};
  return fmt::format(
      "worker {} did not take it, since its event loop stands still: it goes on with what it "
      "had until the next reload",
      fmt::join(missing, ", "));
}

// ---- operations on one server ----

std::string Reloader::refusal_of(const std::string& server, admin::ServerAct act) const {
  using admin::ServerAct;
  if (draining_) return "the gateway is stopping";
  if (http() == nullptr)
    return "one client on stdin and stdout is with this server, and cannot initialise anew";
  if (config::find_server(config(), server)->disabled) return server + " is disabled in the configuration";
  if (act == ServerAct::start) return is_held(server) ? "" : server + " is in service";
  if (!is_held(server) || act == ServerAct::stop) return {};
  return server + " is out of service already; start it";
}

admin::ServerActed Reloader::unanswered(admin::ServerActed acted) {
  acted.outcome = admin::ServerActed::Outcome::unanswered;
  acted.error = kStuck;
  return acted;
}

admin::ServerActed Reloader::act(const std::string& server, admin::ServerAct act, bool force) {
  using admin::ServerAct;
  admin::ServerActed out;
  if (config::find_server(config(), server) == nullptr) {
    out.outcome = admin::ServerActed::Outcome::unknown;
    out.error = fmt::format("there is no server '{}'", sanitize(server, 100));
    return out;
  }
  out.error = refusal_of(server, act);
  if (!out.error.empty()) {
    out.outcome = admin::ServerActed::Outcome::refused;
    return out;
  }
  const auto work = work_of(server);
  bool taken = work.has_value();
  if (!taken) return unanswered(std::move(out));
  out.calls = work->calls;
  out.sessions = work->sessions;
  Worker::ServerStep step;
  step.out = act != ServerAct::start && !is_held(server);
  step.in = act == ServerAct::start || act == ServerAct::restart;
  step.why = fmt::format("{} was {} by an operator", server,
                         act == ServerAct::restart ? "restarted"
                         : act == ServerAct::drain ? "drained"
                                                   : "stopped");
  for (size_t k = 0; k < workers_.workers(); ++k) {
    const bool done = workers_.run(k, [&] {
      Worker& worker = workers_.worker(k);
      if (act == ServerAct::stop || (act == ServerAct::restart && force))
        worker.end_calls_of(server, step.why);
      worker.act(server, step);
    });
    taken = taken && done;
  }
  // The intended state is not recorded: the operator may repeat the request.
  if (!taken) return unanswered(std::move(out));
  join_remote_members(workers_, config());
  if (step.in) {
    held_.erase(server);
  } else {
    held_.insert(server);
  }
  server_left();
  for (size_t k = 0; k < workers_.workers(); ++k)
    workers_.run(k, [&] { workers_.worker(k).upstreams().warm_up(); });
  return out;
}

void Reloader::server_left() {
  std::set<std::string> leaving;
  for (size_t k = 0; k < workers_.workers(); ++k) {
    workers_.run(k, [&] {
      for (const config::Server* one : workers_.worker(k).upstreams().leaving())
        leaving.insert(one->name);
    });
  }
  for (size_t k = 0; k < workers_.workers(); ++k)
    workers_.run(k, [&] { workers_.worker(k).use_leaving(leaving); });
}

void Reloader::follow_watch() {
  net::Loop& loop = workers_.worker(0).loop();
  const bool wanted = config().reload.watch && load_;
  bool is_new = false;
  if (!wanted && blank_timer_) blank_timer_->stop();
  if (!wanted) {
    loop.retire(std::move(watch_));  // the watch may be the caller
  } else if (!watch_) {
    watch_ = std::make_unique<net::FileWatch>(loop, file_, [this] { watched(); });
    is_new = true;
  }
  std::set<Directory> directories;
  for (const std::string& one : config().include_directories) {
    if (wanted)
      directories.emplace(one, config::names_in(one, config().include, config::directory_of(file_)));
  }
  for (auto one = include_watches_.begin(); one != include_watches_.end();) {
    const bool stays = directories.count(one->first) > 0;
    if (!stays) loop.retire(std::move(one->second));
    one = stays ? std::next(one) : include_watches_.erase(one);
  }
  for (const Directory& one : directories) {
    if (include_watches_.count(one) > 0) continue;
    include_watches_[one] = std::make_unique<net::FileWatch>(
        loop, one.first,
        [names = one.second](std::string_view name) { return config::is_included(names, name); },
        [this] { watched(); });
    is_new = true;
  }
  // A new watch knows no change between the reading of a file and its own first look.
  if (is_new) loop.defer(lifetime_, [this] { reread(false, kWatch); });
}

void Reloader::watched() {
  reload(false, kWatch);
}

}  // namespace lineward::runtime
