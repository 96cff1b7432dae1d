// What the servers of this room look at. All of it outlives them.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "admin/reload_door.h"
#include "client/front.h"
#include "config/config.h"
#include "core/upstream.h"
#include "exchange/exchange_table.h"
#include "net/loop.h"
#include "net/loop_watch.h"

namespace lineward::admin {

class UpstreamFinder {
 public:
  // Null for one that is disabled, or gone.
  virtual core::Upstream* find(const std::string& name) const = 0;
  // Those that a reload replaced or removed and that still have calls.
  virtual std::vector<const config::Server*> leaving() const = 0;
  // All servers as one, where they are served so; else null.
  virtual const config::Server* together() const = 0;

 protected:
  ~UpstreamFinder() = default;
};

struct Sources {
  net::Loop& loop;
  const config::Config& config;
  const UpstreamFinder& upstreams;
  exchange::ExchangeTable& exchanges;
  client::Front& front;
  std::string version, revision;
  std::string config_source;
  const bool& draining;
  ReloadDoor& reload;
  std::chrono::milliseconds started;  // Loop::now() at the start
  const net::LoopWatch& loop_watch;

  core::Upstream* upstream(const std::string& name) const { return upstreams.find(name); }
  // Those of the configuration, all of them as one, then those that were removed from it and still have
  // calls.
  std::vector<const config::Server*> servers() const {
    std::vector<const config::Server*> out;
    for (const auto& server : config.servers)
      out.push_back(&server);
    if (const config::Server* all = upstreams.together()) out.push_back(all);
    for (const config::Server* old : upstreams.leaving()) {
      bool shown = std::any_of(out.begin(), out.end(), [&](auto* one) { return one->name == old->name; });
      if (!shown) out.push_back(old);
    }
    return out;
  }
  core::UpstreamStatus status(const config::Server& server) const {
    core::UpstreamStatus status;
    status.state =
        server.disabled ? core::UpstreamStatus::State::disabled : core::UpstreamStatus::State::draining;
    if (const core::Upstream* running = upstream(server.name)) status = running->status();
    return status;
  }
};

}  // namespace lineward::admin
