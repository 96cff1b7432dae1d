// Reads `plugins:` and `auth:` of a configuration, each plugin by its own option table.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "config/options/plugin_spec.h"
#include "config/reader/value_reader.h"

namespace lineward::config {

class PluginReader {
 public:
  PluginReader(ValueReader& values, Config& config, const PluginSpecs& specs, std::string directory)
      : values_(values), config_(config), specs_(specs), directory_(std::move(directory)) {}

  // Reads a top-level member of plugins: `plugins`, `auth`, or a plugin's own name. False: another member.
  bool read(const Member& member);
  // Adds the tool rules of a server's entry to that server's toolFilter.
  void filter_tools(const std::string& server, bool allow, std::vector<std::string> globs, int line);
  // Drops the tool rules of a server that was left out.
  void forget_tools(const std::string& server);
  // The auth of a further listener, into `out`.
  void read_auth(const Member& member, const std::string& listener, Auth& out);
  // Checks that plugin names are unique, and that the servers and listeners they name exist. `own`: the auth
  // of each further listener that has its own. `listeners`: the names of all further ones.
  void finish(const std::vector<Auth*>& own, const std::vector<std::string>& listeners);

 private:
  void read_list(const Member& member);
  void read_item(const Node& item);
  void tell_of_anonymous(const Member& member, const Auth& auth);
  void read_metadata(const Node& node, ResourceMetadata& out);
  bool read_common(const Member& member, PluginEntry& entry);
  PluginEntry read_entry(const PluginSpec& spec, const Member& member);
  void read_options(const PluginSpec& spec, const std::string& group, const Node& node, PluginEntry& entry,
                    std::vector<std::string_view>& given);
  void read_raw(const Node& node, PluginEntry& entry);
  void refuse_passthrough(const Server& server, const Auth& auth);
  void check_names(const PluginEntry& entry, const std::vector<std::string>& listeners);
  std::string known(bool authenticating) const;

  ValueReader& values_;
  Config& config_;
  const PluginSpecs& specs_;
  std::string directory_;
  std::vector<PluginEntry> on_top_;   // from top-level members: before those of `plugins:`
  std::vector<PluginEntry> filters_;  // from servers' entries: after those
};

}  // namespace lineward::config
