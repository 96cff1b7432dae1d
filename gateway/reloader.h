// Swaps the configuration of the running gateway: reads it again, compares, and changes what differs and
// nothing else (docs/reload.md). A bad file changes nothing.
//
// Everything happens within one callback of the loop, so that no request sees half of it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "admin/reload_door.h"
#include "client/http_front.h"
#include "config/changes.h"
#include "config/load.h"
#include "exchange/exchange_table.h"
#include "net/file_watch.h"
#include "net/loop.h"
#include "plugin/plugin_set.h"
#include "upstream_set.h"

namespace lineward {

class Reloader final : public admin::ReloadDoor {
 public:
  struct Parts {
    net::Loop& loop;
    config::Config& config;
    UpstreamSet& upstreams;
    exchange::ExchangeTable& exchanges;
    client::Front& front;
    client::HttpFront* http;  // the same, or null on stdio
    const bool& draining;
    plugin::Host& plugin_host;
  };
  // `load` reads what was read at the start; empty where there is no file. `file` is its path.
  Reloader(Parts parts, std::function<config::LoadResult()> load, std::string file);

  admin::ReloadReport reload(bool dry_run, std::string_view by) override;
  const admin::ReloadCounts& counts() const override { return counts_; }
  // As `reload.watch` says.
  void follow_watch();
  // A server that was on its way out is gone: its paths are too.
  void server_left();

 private:
  admin::ReloadReport refused(bool dry_run, std::string error) const;
  admin::ReloadReport rejected(bool dry_run, std::string_view by, std::string error, std::string report);
  // What stdio's one client would have to be told, and cannot be.
  void hold_back(config::Changes& changes, config::Config& next);
  std::vector<admin::PlanRow> plan(const config::Changes& changes, const config::Config& next) const;
  void apply(const config::Changes& changes, config::Config next, std::shared_ptr<plugin::PluginSet> plugins);
  void watched();

  Parts parts_;
  std::function<config::LoadResult()> load_;
  std::string file_;
  admin::ReloadCounts counts_;
  std::string last_rejection_;
  std::unique_ptr<net::FileWatch> watch_;
};

}  // namespace lineward
