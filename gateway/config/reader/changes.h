// What differs between two configurations, and what each difference means for a gateway that runs
// (docs/reload.md). Pure; says no value that may be a secret.
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
  bool needs_restart = false;  // of Lineward: it cannot be swapped in a running process
};

struct Changes {
  std::vector<ServerChange> servers;  // in the order of the new file, removed ones last
  std::vector<SettingChange> settings;
  size_t unchanged = 0;  // servers

  bool none() const { return servers.empty() && settings.empty(); }
};

// Servers that are disabled count as not there.
Changes compare(const Config& now, const Config& next);

// Whether a server's option takes effect without a new process or connection.
bool is_adjustable(std::string_view path);

// Copies what cannot be swapped from `now`, so that `next` says what is really in effect.
void keep_fixed_settings(const Config& now, Config& next);

// Notes what the certificates and keys that servers name hold, so that compare() sees them change.
void note_files(Config& config);

const Server* find_server(const Config& config, std::string_view name);

}  // namespace lineward::config
