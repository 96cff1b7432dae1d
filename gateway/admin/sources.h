// What the servers of this room look at. All of it outlives them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/front.h"
#include "config/config.h"
#include "core/upstream.h"
#include "exchange/exchange_table.h"
#include "net/loop.h"
#include "net/loop_watch.h"

namespace lineward::admin {

struct Sources {
  net::Loop& loop;
  const config::Config& config;
  const std::vector<std::unique_ptr<core::Upstream>>& upstreams;
  exchange::ExchangeTable& exchanges;
  client::Front& front;
  std::string version, revision;
  std::string config_source;
  const bool& draining;
  std::chrono::milliseconds started;  // Loop::now() at the start
  const net::LoopWatch& loop_watch;

  // Null for one that is disabled.
  core::Upstream* upstream(const std::string& name) const {
    for (const auto& one : upstreams) {
      if (one->name() == name) return one.get();
    }
    return nullptr;
  }
  core::UpstreamStatus status(const config::Server& server) const {
    core::UpstreamStatus status;
    status.state = core::UpstreamStatus::State::disabled;
    if (const core::Upstream* running = upstream(server.name)) status = running->status();
    return status;
  }
};

}  // namespace lineward::admin
