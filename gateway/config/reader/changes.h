// Differences between two configurations, and their effect on a running gateway (docs/reload.md). Pure; shows
// no value that may be a secret.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"

namespace lineward::config {

enum class Change : uint8_t {
  added,
  removed,
  adjusted,  // takes effect in the running server
  replaced   // needs a new process, or new connections
};

struct ServerChange {
  Change kind = Change::added;
  std::string name;
  std::vector<std::string> what;  // "timeouts.request 30s → 2m", "env.TOKEN changed", "new"
};

// A setting of the gateway itself.
struct SettingChange {
  std::string path;
  std::string what;
  bool needs_restart = false;  // of Lineward: the setting cannot change in a running process
};

struct Changes {
  std::vector<ServerChange> servers;  // in the order of the new file, removed ones last
  std::vector<SettingChange> settings;
  size_t unchanged = 0;  // servers

  bool none() const { return servers.empty() && settings.empty(); }
};

// Disabled servers count as absent.
Changes compare(const Config& now, const Config& next);

// Whether a server's option takes effect without a new process or connection.
bool is_adjustable(std::string_view path);

// Copies settings that cannot change at run time from `now`, so that `next` shows the effective values.
void keep_fixed_settings(const Config& now, Config& next);

// Records digests of the servers' certificate and key files, so that compare() detects changes.
void note_files(Config& config);

const Server* find_server(const Config& config, std::string_view name);

}  // namespace lineward::config
