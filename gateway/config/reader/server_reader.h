// Reads the entries of mcpServers, in Lineward's syntax or copied from a client's file: clients' words,
// limits by method and by tool, and tool rules.
//
// Owned by the TreeReader.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.h"
#include "config/reader/option_reader.h"
#include "config/reader/value_reader.h"

namespace lineward::config {

class PluginReader;

// The place of an entry of a server's `env` or `headers`. The last one counts if the file has the map twice;
// without the entry it is the map, without a map the server.
const Member& place_of_entry(const Member& server, std::string_view map, std::string_view name);

class ServerReader {
 public:
  // `plugins` may be null: there are none. `defaults`: initial values of a server.
  ServerReader(ValueReader& values, OptionReader& options, Config& config, const Server& defaults,
               PluginReader* plugins)
      : values_(values), options_(options), config_(config), defaults_(defaults), plugins_(plugins) {}

  // For a client's own file: invalid names are replaced and invalid entries skipped, except entries with a
  // name in `running`. `root`: the whole document.
  void be_lenient(const Node& root, std::set<std::string> running);
  void read(const Member& member);
  // The servers that follow are of that included file; empty: of the configuration itself, called `main`.
  void begin_file(std::string path, std::string main) {
    file_ = std::move(path);
    main_ = std::move(main);
  }
  // Reports an error if all servers of a client's own file were skipped.
  void finish(const Node& root);
  const std::vector<LeftOut>& left_out() const { return left_out_; }

 private:
  struct HttpSigns {
    const Member* url = nullptr;
    const Member* urls = nullptr;
    const Member* type = nullptr;
    const Member* headers = nullptr;
  };

  void read_server(const Member& member);
  void read_lenient(const Member& member);
  std::string name_of(const Member& member);
  void read_server_member(const Member& member, Server& server, HttpSigns& http);
  bool read_client_word(const Member& member, Server& server, HttpSigns& http);
  // `urls: [URL, {url, weight, drain}]`.
  void read_urls(const Member& member, Server& server, HttpSigns& http);
  void read_origin(const Node& item, OriginUrl& origin);
  void read_type(const Member& member, Server& server, HttpSigns& http);
  void read_enabled(const Member& member, Server& server);
  void finish_server(const Member& member, Server& server, const HttpSigns& http);
  void check_credentials(const Node& server_node, const Server& server);
  void check_timeouts(const Node& server_node, const Server& server);
  void read_identity(const Member& server_member, Server& server);
  void check_command(const Node& server_node, const Server& server);
  void merge_env_file(const Node& server_node, Server& server);

  // `methods: {glob: {timeouts: …}}` and `tools: {overrides: {glob: {timeouts: …}}}`; `shown`: how single
  // tools are shown, which methods do not have.
  bool read_overrides_word(const Member& member, Server& server);
  void read_overrides(const Member& member, std::vector<TimeoutOverride>& out,
                      std::vector<ShownTool>* shown = nullptr);
  TimeoutOverride read_override(const std::string& pattern, const Node& timeouts);
  // `tools: {allow, deny}`, `includeTools` and `excludeTools` (Gemini CLI, Envoy AI Gateway), `options:
  // {toolFilter: {mode, list}}` (TBXark): all become one toolFilter for that server.
  bool read_tool_words(const Member& member, const Server& server);
  void read_tool_names(const Member& member, bool allow, const Server& server);

  ValueReader& values_;
  OptionReader& options_;
  Config& config_;
  const Server& defaults_;
  PluginReader* plugins_;
  std::string file_, main_;
  bool lenient_ = false;
  std::set<std::string> running_;
  std::map<std::string, std::string> names_;  // of a client's own file: as written → here
  std::vector<LeftOut> left_out_;
};

}  // namespace lineward::config
