// Loads a configuration file into structs, or reports all its errors. Precedence: command line, LINEWARD_*
// environment, file, default.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "config/config.h"
#include "config/diagnostic.h"
#include "config/options/plugin_spec.h"
#include "config/reader/include.h"
#include "config/reader/variables.h"

namespace lineward::config {

// A value from the command line; a path below "mcpServers.*." applies to every server.
struct Setting {
  std::string path;
  std::string text;
  std::string origin;  // "--timeout", for messages
};

struct LoadOptions {
  EnvLookup env;  // may be empty: no variables
  std::vector<Setting> settings;
  std::vector<Server> servers;  // from the command line, appended to those of the file; `defaults:` applies
                                // to them too
  VariableUses uses;            // variables used by `servers`
  LogLevel log_level = LogLevel::info;  // used if unset everywhere
  std::string directory = ".";          // load_text only: base of relative paths
  bool read_files = true;               // false: no included ones either
  FileTexts included_texts;             // instead of included files on disk
  // Reads it as a client's own file (config/reader/tree_reader.h) in any case.
  bool as_client_file = false;
  // At a reload: the names of the running servers. In a client's own file an invalid entry with one of these
  // names is an error; other invalid entries are skipped. A typing error must not stop a running server.
  std::set<std::string> running;
  // Files that options of plugins name are looked at. Not at a reload: what has not changed goes on with what
  // it read before.
  bool look_at_plugins = true;
  const PluginSpecs* plugins = nullptr;  // known plugins; null: `plugins:` and `auth:` are not options
};

struct LoadResult {
  Config config;                        // usable when ok()
  std::vector<Diagnostic> diagnostics;  // sorted by file and line
  std::string name;
  std::string text;
  std::vector<SecretSpan> secrets;
  std::vector<IncludedFile> included;
  std::vector<LeftOut> left_out;
  bool unreadable = false;     // the file could not be read
  bool not_permitted = false;  // … because of its permissions

  bool ok() const;
  bool has(Severity severity) const;
  std::string report(bool colour) const;  // config/reader/report.h, with the secrets masked
  std::string report_of(const Diagnostic& diagnostic, bool colour) const;  // of one of them
  // "lineward.yaml:3:1", or where else it comes from; empty: unknown.
  std::string place_of(const Diagnostic& diagnostic) const;
};

// Reads the same file again, while these servers run.
using ReadAgain = std::function<LoadResult(std::set<std::string> running)>;

// The directory of the configuration at `path`: the base of relative paths.
std::string directory_of(const std::string& path);
LoadResult load_file(const std::string& path, LoadOptions options);  // "-" is stdin
LoadResult load_text(std::string text, std::string name, const LoadOptions& options);

}  // namespace lineward::config
