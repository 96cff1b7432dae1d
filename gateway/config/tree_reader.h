// Fills a Config from a parsed document and notes everything that does not belong. It never stops at an
// error: the user sees them all.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "config/diagnostic.h"
#include "config/document.h"
#include "config/options.h"
#include "config/plugin_spec.h"
#include "config/variables.h"

namespace lineward::config {

class PluginReader;

class TreeReader {
 public:
  // Without `plugins` there are none, and their sections are not options.
  TreeReader(Config& config, std::vector<Diagnostic>& diagnostics, VariableSources sources,
             const PluginSpecs* plugins = nullptr);
  ~TreeReader();

  void read(const Node& root);
  // What `defaults:` makes of a server that says nothing itself.
  const Server& defaults() const { return defaults_; }
  const VariableUses& uses() const { return uses_; }

  // For PluginReader: one value by its row, and what is wrong with the file.
  bool read_option(const Option& option, const Node& node, Value& value);
  bool read_scalar(const Option& option, const Node& node, Value& value);
  bool read_list(const Option& option, const Node& node, Value& value);
  bool read_map(const Option& option, const Node& node, Value& value);
  Diagnostic& add(std::string code, std::string message, const Node& at);
  Diagnostic& add(std::string code, std::string message, const Member& at);

 private:
  struct HttpSigns {
    const Member* url = nullptr;
    const Member* type = nullptr;
    const Member* headers = nullptr;
  };

  void read_top(const Member& member);
  void read_defaults(const Member& member);
  void read_servers(const Member& member);
  void read_server(const Member& member);
  void read_server_member(const Member& member, Server& server, HttpSigns& http);
  bool read_client_word(const Member& member, Server& server, HttpSigns& http);
  bool read_overrides_word(const Member& member, Server& server);
  void read_overrides(const Member& member, std::vector<TimeoutOverride>& out);
  bool read_tool_words(const Member& member, const Server& server);
  void read_tool_names(const Member& member, bool allow, const Server& server);
  void read_type(const Member& member, Server& server, HttpSigns& http);
  void read_enabled(const Member& member, Server& server);
  void finish_server(const Member& member, Server& server, const HttpSigns& http);
  void check_credentials(const Node& server_node, const Server& server);
  void check_timeouts(const Node& server_node, const Server& server);
  void check_command(const Node& server_node, const Server& server);
  void merge_env_file(const Node& server_node, Server& server);

  // An option, a group of them, or neither; `group` is "" or "listen" or "mcpServers.*.timeouts".
  void read_member(const std::string& group, const Member& member, Server& server);
  void set_option(const Option& option, const Node& node, Server& server);
  bool expand_scalar(const Node& node, bool secret, Expansion& out);
  bool not_built(const std::string& path, const Member& member);
  void unknown(const std::string& group, const Member& member);
  void suggest(const std::string& group, const Member& member, Diagnostic& diagnostic, const Option*& meant);

  Config& config_;
  std::vector<Diagnostic>& diagnostics_;
  VariableSources sources_;
  Server defaults_;
  VariableUses uses_;
  std::optional<std::string>
      reading_;  // whose values: a server's name, "" for all else, nothing for `defaults`
  std::unique_ptr<PluginReader> plugins_;
};

}  // namespace lineward::config
