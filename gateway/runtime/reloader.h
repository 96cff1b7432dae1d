// Reloads the configuration of the running gateway: reads it, compares, and changes only the differences
// (docs/reload.md). An invalid file changes nothing.
//
// On each worker everything happens within one callback of its loop, so that no request sees a partial
// change. The first worker, where this lives, waits for the others.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/reader/changes.h"
#include "config/reader/load.h"
#include "foundation/net/file_watch.h"
#include "foundation/net/lifetime.h"
#include "foundation/net/loop.h"
#include "operate/admin/reload_api.h"
#include "proxy/client/endpoint/http_front.h"
#include "proxy/exchange/exchange_table.h"
#include "proxy/plugin/plugin_set.h"
#include "runtime/worker_directory.h"

namespace lineward::runtime {

// Called around each attempt, including failed ones.
struct ReloadEvents {
  std::function<void()> begins;
  std::function<void()> over;
  // A part that all workers share, without a worker of its own: may refuse the configuration, and takes it.
  std::function<Status<>(const config::Config& next)> prepare;
  std::function<void()> apply;
};

// Opens the further listeners of `next` that are not open yet, on all workers. Returns the error, or empty.
std::string prepare_listeners(WorkerDirectory& workers, const config::Config& next);

class Reloader {
 public:
  // `load` reads what was read at the start; empty where there is no file. `file` is its path.
  Reloader(WorkerDirectory& workers, const bool& draining, config::ReadAgain load, std::string file);

  admin::ReloadReport reload(bool dry_run, std::string_view by);
  const admin::ReloadCounts& counts() const { return counts_; }
  admin::ServerActed act(const std::string& server, admin::ServerAct act, bool force);
  bool is_held(const std::string& server) const { return held_.count(server) > 0; }
  void tell(ReloadEvents events) { events_ = std::move(events); }
  // Starts or stops watching the file and the directories of `include`, according to `reload.watch`.
  void follow_watch();
  // A leaving server is gone: removes its paths.
  void server_left();

 private:
  admin::ReloadReport reread(bool dry_run, std::string_view by);
  admin::ReloadReport refused(bool dry_run, std::string error) const;
  admin::ReloadReport rejected(bool dry_run, std::string_view by, std::string error, std::string report);
  // A worker did not apply it; `report.error` names the worker.
  admin::ReloadReport incomplete(admin::ReloadReport report, std::string_view by);
  // Removes changes that a stdio client would have to be notified of, but cannot.
  void hold_back(config::Changes& changes, config::Config& next);
  std::vector<admin::PlanRow> plan(const config::Changes& changes, const config::Config& next) const;
  // The steps that may fail, on each worker, before anything changes; an error, or empty.
  std::string prepare(const config::Config& next, const cluster::ServerPlacement& placement);
  // The workers that did not apply it, or empty.
  std::string apply(const config::Changes& changes, const config::Config& next,
                    const cluster::ServerPlacement& placement);
  config::Changes without_held(config::Changes changes) const;
  static admin::ServerActed unanswered(admin::ServerActed acted);
  // The sum over all workers; nullopt if a worker does not answer.
  std::optional<exchange::ExchangeTable::Work> work_of(const std::string& server) const;
  std::string refusal_of(const std::string& server, admin::ServerAct act) const;
  const config::Config& config() const { return workers_.worker(0).config(); }
  client::HttpFront* http() const { return workers_.worker(0).http(); }
  void watched();
  // Whether a watched file seems to be half saved; if so, it is read again later.
  bool awaits_text(const config::LoadResult& loaded);
  // A watch has nothing to report: the changes only need a restart, and the last report had the same plan.
  bool is_reported(const config::Changes& changes, const std::string& plan) const;

  WorkerDirectory& workers_;
  const bool& draining_;
  std::vector<std::shared_ptr<plugin::PluginSet>> plugins_;  // of each worker, while they change
  config::ReadAgain load_;
  std::string file_;
  ReloadEvents events_;
  admin::ReloadCounts counts_;
  std::string last_rejection_, last_plan_;
  std::unique_ptr<net::FileWatch> watch_;
  using Directory = std::pair<std::string, std::vector<std::string>>;  // and the globs of its names
  std::map<Directory, std::unique_ptr<net::FileWatch>> include_watches_;
  std::set<std::string> files_served_;  // included ones that had servers when they were last read
  std::set<std::string> blank_;         // files without text at the last look of a watch
  std::unique_ptr<net::Timer> blank_timer_;
  std::set<std::string> held_;  // servers taken out of service by an operator
  net::Lifetime lifetime_;
};

}  // namespace lineward::runtime
