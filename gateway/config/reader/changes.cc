#include "config/reader/changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

#include "config/aggregate.h"
#include "config/options/options.h"
#include "config/options/read_value.h"
#include "config/reader/variables.h"

namespace lineward::config {
namespace {

constexpr size_t kMaxFileBytes = 1 << 20;
constexpr std::string_view kStdio = "stdio";
constexpr std::string_view kServers = "mcpServers";

// Values that may hold a secret or are too long are not shown, only reported as changed.
bool is_shown(const Option& option) {
  static constexpr std::array<std::string_view, 3> kPlain{"command", "cwd", "isolation"};
  if (option.kind == Kind::list || option.kind == Kind::map || option.kind == Kind::names) return false;
  if (option.kind != Kind::text || !option.per_server()) return true;
  return std::find(kPlain.begin(), kPlain.end(), option.key()) != kPlain.end();
}

// The names in a map with different values. Names of environment variables and headers are not secrets.
std::string map_change(const std::string& key, const std::vector<std::pair<std::string, std::string>>& now,
                       const std::vector<std::pair<std::string, std::string>>& next) {
  std::string out;
  auto add = [&](const std::string& name, const char* how) {
    out += fmt::format("{}{}.{} {}", out.empty() ? "" : ", ", key, clip(name), how);
  };
  auto find = [](const auto& map, const std::string& name) {
    return std::find_if(map.begin(), map.end(), [&](const auto& entry) { return entry.first == name; });
  };
  for (const auto& [name, value] : next) {
    auto before = find(now, name);
    if (before == now.end()) {
      add(name, "added");
    } else if (before->second != value) {
      add(name, "changed");
    }
  }
  for (const auto& [name, value] : now) {
    if (find(next, name) == next.end()) add(name, "removed");
  }
  return out.empty() ? key + " changed" : out;
}

std::string describe(const Option& option, const Config& now, const Server& now_server, const Config& next,
                     const Server& next_server) {
  std::string key = option.key();
  if (key == "env") return map_change(key, now_server.env, next_server.env);
  if (key == "headers") return map_change(key, now_server.headers, next_server.headers);
  if (!is_shown(option)) return key + " changed";
  auto text = [&](const Config& config, const Server& server) {
    std::string shown = option.shown(config, server);
    return shown.empty() ? std::string("(none)") : clip(shown);
  };
  return fmt::format("{} {} → {}", key, text(now, now_server), text(next, next_server));
}

ServerChange compare_servers(const Server& now, const Server& next) {
  ServerChange change{Change::adjusted, next.name, {}};
  const Config unused;
  // Origins come and go in place; the others keep their connections and sessions.
  const bool have_origins = !now.urls.empty() && !next.urls.empty();
  for (const Option& option : options()) {
    if (!option.per_server() || option.same(unused, now, unused, next)) continue;
    if (option.key() == "url" && have_origins) continue;  // that of the first of them
    change.what.push_back(describe(option, unused, now, unused, next));
    if (!is_adjustable(option.key())) change.kind = Change::replaced;
  }
  if (now.urls != next.urls) {
    change.what.emplace_back("urls changed");
    if (!have_origins) change.kind = Change::replaced;
  }
  if (now.withheld_env != next.withheld_env) {
    change.what.emplace_back("inherited environment changed");
    change.kind = Change::replaced;
  }
  if (now.identity != next.identity) {
    change.what.emplace_back("what it is told about callers changed");
    change.kind = Change::replaced;
  }
  if (now.method_timeouts != next.method_timeouts) change.what.emplace_back("methods changed");
  if (now.tool_timeouts != next.tool_timeouts || now.tools.shown != next.tools.shown)
    change.what.emplace_back("tools.overrides changed");
  if (now.files_seen != next.files_seen) {
    bool named = now.ca_file == next.ca_file && now.client_cert == next.client_cert &&
                 now.client_key == next.client_key;
    if (named) change.what.emplace_back("a certificate or key changed on disk");
    change.kind = Change::replaced;
  }
  return change;
}

const Server* find_enabled(const Config& config, std::string_view name) {
  const Server* found = find_server(config, name);
  return found != nullptr && !found->disabled ? found : nullptr;
}

// `defaults:` of the aggregate, which apply even if no server uses them.
void compare_aggregate(const Config& now, const Config& next, Changes& changes) {
  if (!is_aggregated(now) || !is_aggregated(next)) return;
  const Config unused;
  for (const Option& option : options()) {
    if (!option.inherited() || !is_adjustable(option.key())) continue;
    if (option.same(unused, now.aggregate_server, unused, next.aggregate_server)) continue;
    changes.settings.push_back({now.aggregate_server.name,
                                describe(option, unused, now.aggregate_server, unused, next.aggregate_server),
                                false});
  }
  auto order = [](const Config& of, const Config& in) {
    std::vector<std::string_view> names;
    for (const Server& server : of.servers) {
      if (!server.disabled && find_enabled(in, server.name) != nullptr) names.push_back(server.name);
    }
    return names;
  };
  if (order(now, next) != order(next, now))
    changes.settings.push_back({std::string(kServers), "the order of servers changed", false});
}

bool is_fixed(std::string_view path) {
  static constexpr std::array<std::string_view, 6> kFixed{"workers",    "ops.address",   "admin.address",
                                                          "log.format", "watchdog.warn", "watchdog.abort"};
  // The owner of a name never changes while the gateway runs.
  bool named = path == "aggregate.path" || path == "aggregate.prefix" || path == "aggregate.prefixMode" ||
               path == "aggregate.workers";
  return named || path.substr(0, 6) == "audit." ||
         std::find(kFixed.begin(), kFixed.end(), path) != kFixed.end();
}

// The listener can be reopened; a client on stdin and stdout cannot.
bool is_fixed(std::string_view path, const Config& now, const Config& next) {
  bool pipe = now.listen.address == kStdio || next.listen.address == kStdio;
  return is_fixed(path) || (pipe && path == "listen.address");
}

std::string digests_of(const std::vector<std::string>& paths) {
  std::string out;
  for (const std::string& path : paths) {
    if (path.empty()) continue;
    auto content = read_small_file(path, kMaxFileBytes);
    out += content ? fmt::format("{:x} ", std::hash<std::string>()(*content)) : "- ";
  }
  return out;
}

// The further listeners: added, removed, or with other options.
void compare_listeners(const Config& now, const Config& next, Changes& changes) {
  const bool pipe = now.listen.address == kStdio || next.listen.address == kStdio;
  const auto find = [](const Config& config, const std::string& name) {
    auto found = std::find_if(config.listeners.begin(), config.listeners.end(),
                              [&](const FurtherListen& one) { return one.name == name; });
    return found == config.listeners.end() ? nullptr : &*found;
  };
  const auto add = [&](const std::string& name, std::string what) {
    changes.settings.push_back({"listeners." + name, std::move(what), pipe});
  };
  for (const FurtherListen& one : next.listeners) {
    const FurtherListen* before = find(now, one.name);
    if (before == nullptr) {
      add(one.name, "added at " + one.listen.address);
      continue;
    }
    Config old_one, new_one;
    old_one.listen = before->listen;
    new_one.listen = one.listen;
    const Server unused;
    for (const Option& option : options()) {
      if (option.path.substr(0, 7) != "listen." || option.same(old_one, unused, new_one, unused)) continue;
      add(one.name, describe(option, old_one, unused, new_one, unused).substr(7));
    }
    if (before->servers != one.servers) add(one.name, "servers changed");
    if (before->authenticates != one.authenticates)
      add(one.name, one.authenticates ? "auth off → on" : "auth on → off");
    if (before->auth != one.auth) add(one.name, "auth changed");
    if (before->listen.tls.certificates != one.listen.tls.certificates) {
      add(one.name, "tls.certificates changed");
    } else if (before->listen.tls.files_seen != one.listen.tls.files_seen) {
      add(one.name, "a certificate or key changed on disk");
    }
  }
  for (const FurtherListen& one : now.listeners) {
    if (find(next, one.name) == nullptr) add(one.name, "removed");
  }
}

void note_tls_files(ListenTls& tls) {
  std::vector<std::string> files{tls.client_authorities};
  for (const ListenTls::Pair& pair : tls.pairs())
    files.insert(files.end(), {pair.certificate, pair.key, pair.ocsp});
  tls.files_seen = digests_of(files);
}

}  // namespace

const Server* find_server(const Config& config, std::string_view name) {
  auto found = std::find_if(config.servers.begin(), config.servers.end(),
                            [&](const Server& server) { return server.name == name; });
  return found == config.servers.end() ? nullptr : &*found;
}

// Options that a running server reads at each use. Changing another option makes a new server.
bool is_adjustable(std::string_view path) {
  static constexpr std::array kNames{std::string_view("timeouts.connect"),
                                     std::string_view("timeouts.startup"),
                                     std::string_view("timeouts.request"),
                                     std::string_view("timeouts.maxDuration"),
                                     std::string_view("timeouts.acknowledge"),
                                     std::string_view("timeouts.park"),
                                     std::string_view("timeouts.questionBatch"),
                                     std::string_view("timeouts.cancelGrace"),
                                     std::string_view("timeouts.progressResets"),
                                     std::string_view("limits.maxInFlight"),
                                     std::string_view("limits.maxQueue"),
                                     std::string_view("limits.queueTimeout"),
                                     std::string_view("limits.maxParked"),
                                     std::string_view("limits.maxParkedPerCaller"),
                                     std::string_view("limits.maxParkedBytes"),
                                     std::string_view("limits.maxMessageBytes"),
                                     std::string_view("limits.maxListBytes"),
                                     std::string_view("limits.maxRequestBytes"),
                                     std::string_view("limits.maxConnections"),
                                     std::string_view("limits.idleConnections"),
                                     std::string_view("limits.idleTimeout"),
                                     std::string_view("limits.maxHeadBytes"),
                                     std::string_view("limits.maxSessions"),
                                     std::string_view("limits.maxGatewaySessions"),
                                     std::string_view("restart.backoff"),
                                     std::string_view("restart.maxBackoff"),
                                     std::string_view("circuitBreaker.consecutiveFailures"),
                                     std::string_view("circuitBreaker.openFor"),
                                     std::string_view("origins.ejectAfter"),
                                     std::string_view("origins.ejectFor"),
                                     std::string_view("origins.maxEjectFor"),
                                     std::string_view("origins.maxRetryAfter"),
                                     std::string_view("origins.slowStart"),
                                     std::string_view("origins.check"),
                                     std::string_view("origins.checkTimeout"),
                                     std::string_view("pool.maxRequests"),
                                     std::string_view("errors.stderr"),
                                     std::string_view("cache.enabled"),
                                     std::string_view("cache.trustPublic"),
                                     std::string_view("cache.maxBytes"),
                                     std::string_view("retry.attempts"),
                                     std::string_view("retry.on"),
                                     std::string_view("retry.backoff"),
                                     std::string_view("retry.budget"),
                                     std::string_view("stop.stdinGrace"),
                                     std::string_view("stop.termGrace"),
                                     std::string_view("instances"),
                                     std::string_view("instanceIdle"),
                                     std::string_view("sessionAbandoned"),
                                     std::string_view("sessions.missing"),
                                     std::string_view("sessions.reclaimAfter"),
                                     std::string_view("cancel"),
                                     std::string_view("stdout"),
                                     std::string_view("cacheScope"),
                                     std::string_view("tools.only"),
                                     std::string_view("tools.schema"),
                                     std::string_view("required"),
                                     std::string_view("disabled")};
  return std::find(kNames.begin(), kNames.end(), path) != kNames.end();
}

Changes compare(const Config& now, const Config& next) {
  Changes changes;
  const Server unused;
  for (const Option& option : options()) {
    if (option.per_server() || option.same(now, unused, next, unused)) continue;
    changes.settings.push_back({std::string(option.path), describe(option, now, unused, next, unused),
                                is_fixed(option.path, now, next)});
  }
  if (now.listen.tls.certificates != next.listen.tls.certificates) {
    changes.settings.push_back({"listen.tls.certificates", "changed", false});
  } else if (now.listen.tls.files_seen != next.listen.tls.files_seen) {
    changes.settings.push_back({"listen.tls", "a certificate or key changed on disk", false});
  }
  compare_listeners(now, next, changes);
  if (now.auth != next.auth) changes.settings.push_back({"auth", "changed", false});
  if (now.plugins != next.plugins) changes.settings.push_back({"plugins", "changed", false});
  for (const Server& server : next.servers) {
    if (server.disabled) continue;
    const Server* before = find_enabled(now, server.name);
    if (before == nullptr) {
      const Server* known = find_server(now, server.name);
      changes.servers.push_back({Change::added, server.name, {known == nullptr ? "new" : "enabled"}});
      continue;
    }
    ServerChange change = compare_servers(*before, server);
    if (change.what.empty()) {
      ++changes.unchanged;
    } else {
      changes.servers.push_back(std::move(change));
    }
  }
  for (const Server& server : now.servers) {
    if (server.disabled || find_enabled(next, server.name) != nullptr) continue;
    const Server* known = find_server(next, server.name);
    changes.servers.push_back({Change::removed, server.name, {known == nullptr ? "removed" : "disabled"}});
  }
  compare_aggregate(now, next, changes);
  return changes;
}

void keep_fixed_settings(const Config& now, Config& next) {
  next.workers = now.workers;
  next.ops = now.ops;
  next.admin.address = now.admin.address;
  next.audit = now.audit;
  next.log.format = now.log.format;
  next.watchdog = now.watchdog;
  next.aggregate.path = now.aggregate.path;
  next.aggregate_server.name = now.aggregate_server.name;  // calls find it by this name
  next.aggregate.prefix = now.aggregate.prefix;
  next.aggregate.prefix_mode = now.aggregate.prefix_mode;
  if (is_fixed("listen.address", now, next)) {
    next.listen.address = now.listen.address;
    next.listeners = now.listeners;
  }
}

void note_files(Config& config) {
  note_tls_files(config.listen.tls);
  for (FurtherListen& one : config.listeners)
    note_tls_files(one.listen.tls);
  for (Server& server : config.servers) {
    server.files_seen = digests_of({server.ca_file, server.client_cert, server.client_key});
  }
}

}  // namespace lineward::config
