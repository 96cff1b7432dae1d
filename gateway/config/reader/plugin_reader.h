// Reads `plugins:` and `auth:` of a configuration, each plugin by its own option table.
#pragma once

#include <string>

#include "config/options/plugin_spec.h"
#include "config/reader/value_reader.h"

namespace lineward::config {

class PluginReader {
 public:
  PluginReader(ValueReader& values, Config& config, const PluginSpecs& specs, std::string directory)
      : values_(values), config_(config), specs_(specs), directory_(std::move(directory)) {}

  // A top-level member that is a plugin's: `plugins`, `auth`, or a plugin's own name. False: it is not.
  bool read(const Member& member);
  // What stands beside a server about its tools: more for its own toolFilter.
  void filter_tools(const std::string& server, bool allow, std::vector<std::string> globs, int line);
  // That server is left out.
  void forget_tools(const std::string& server);
  // Names that plugins have must be told apart, servers that they name must exist.
  void finish();

 private:
  void read_list(const Member& member);
  void read_item(const Node& item);
  void read_auth(const Member& member);
  void tell_of_anonymous(const Member& auth);
  void read_metadata(const Node& node);
  bool read_common(const Member& member, PluginEntry& entry);
  PluginEntry read_entry(const PluginSpec& spec, const Member& member);
  void read_options(const PluginSpec& spec, const std::string& group, const Node& node, PluginEntry& entry,
                    std::vector<std::string_view>& given);
  void read_raw(const Node& node, PluginEntry& entry);
  void refuse_passthrough(const Server& server);
  std::string known(bool authenticating) const;

  ValueReader& values_;
  Config& config_;
  const PluginSpecs& specs_;
  std::string directory_;
  std::vector<PluginEntry> on_top_;   // of top-level members: before those of `plugins:`
  std::vector<PluginEntry> filters_;  // of servers' own words: after those
};

}  // namespace lineward::config
