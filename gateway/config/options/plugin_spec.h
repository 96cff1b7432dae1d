// Plugins in a configuration: a plugin's option table and its configured values. The caller passes the known
// plugins to the loader (LoadOptions::plugins); this module knows none.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/options/options.h"
#include "config/plugin_values.h"

namespace lineward::config {

// A row of a plugin's option table; the path is the option's own name ("jwks.url"). Lists and maps have no
// default.
Option plugin_option(std::string_view name, Kind kind, std::string_view fallback, uint64_t least,
                     uint64_t most, std::string_view help, std::string_view (*check)(const Value&) = nullptr);
Option plugin_choice(std::string_view name, std::string_view choices, std::string_view fallback,
                     std::string_view help);

// A problem in a file that an option names; `option` empty: in the entry itself.
struct PluginFinding {
  std::string_view option;
  std::string code, message, hint;
  bool warns = false;  // a warning: the plugin still works
};

struct PluginSpec {
  std::string_view name;  // as in the file: "rateLimit"
  std::string_view summary;
  bool authenticates = false;  // belongs below `auth:`, not in `plugins:`
  std::vector<Option> options;
  // Names of required options.
  std::vector<std::string_view> required;
  // Checks the files of an entry as the plugin will read them; null: it has none.
  void (*look)(const PluginEntry& entry, std::vector<PluginFinding>& findings) = nullptr;
};
using PluginSpecs = std::vector<const PluginSpec*>;

const PluginSpec* find_spec(const PluginSpecs& specs, std::string_view name);
// Every option of the spec at its default.
PluginValues plugin_defaults(const PluginSpec& spec);

// The reference of all plugins for `lineward help plugins` and conf/every-option.yaml.
std::string plugins_help(const PluginSpecs& specs);

}  // namespace lineward::config
