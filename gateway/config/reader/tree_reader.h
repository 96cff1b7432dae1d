// Fills a Config from a parsed document and reports everything that does not belong.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "config/config.h"
#include "config/diagnostic.h"
#include "config/options/plugin_spec.h"
#include "config/reader/document.h"
#include "config/reader/include.h"
#include "config/reader/listeners.h"
#include "config/reader/option_reader.h"
#include "config/reader/server_reader.h"
#include "config/reader/value_reader.h"

namespace lineward::config {

// Whether it is a client's file: JSON with servers and nothing specific to Lineward.
bool is_client_file(const Node& root, Syntax syntax);

class TreeReader {
 public:
  // Null `plugins`: there are none, and their sections are not options.
  TreeReader(Config& config, std::vector<Diagnostic>& diagnostics, VariableSources sources,
             const PluginSpecs* plugins = nullptr);
  ~TreeReader();

  // `client_file`: nothing but a client's servers (config/reader/server_reader.h).
  // `running`: see LoadOptions.
  // `between`: called when all of the file is read, to read included files.
  void read(const Node& root, bool client_file = false, const std::set<std::string>& running = {},
            const std::function<void()>& between = nullptr);
  // The servers of an included file, and nothing else. `main`: the configuration's name, for messages.
  void read_included(const IncludedFile& file, const std::string& main);
  const std::vector<LeftOut>& left_out() const { return servers_.left_out(); }
  const std::vector<WrittenListener>& listeners() const { return listeners_; }
  // A server with `defaults:` applied and nothing else set.
  const Server& defaults() const { return defaults_; }
  const VariableUses& uses() const { return values_.uses(); }
  const std::set<std::string>& secrets() const { return values_.secrets(); }

 private:
  void read_top(const Member& member);
  void read_defaults(const Member& member);

  Server defaults_;
  ValueReader values_;
  OptionReader options_;
  std::unique_ptr<PluginReader> plugins_;
  ServerReader servers_;
  std::vector<WrittenListener> listeners_;
};

}  // namespace lineward::config
