// ${env:N}, ${N}, ${N:-default}, ${env:N:-default}, ${file:/path}, ${file:$CREDENTIALS_DIRECTORY/name},
// ${input:id} and the editor words in string values. One pass: what a variable holds is never expanded again.
// $${ stands for ${.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace lineward::config {

using EnvLookup = std::function<std::optional<std::string>(std::string_view)>;

struct VariableFault {
  std::string code;     // "missing-variable", "missing-file", "bad-variable"
  std::string message;  // names the variable, never a value
  std::string hint;
};

struct Expansion {
  std::string text;
  std::vector<VariableFault> faults;
  bool bare_dollar = false;  // $NAME stands in it and is left alone
  bool replaced = false;
  std::vector<std::string> variables;  // the names of those of the environment that stand in it
  std::vector<std::string> secrets;  // values that no text may show: of files, and of the environment unless
                                     // they say nothing (is_harmless)
  std::vector<std::string> left;     // the names of those that were left as they stand, for `own` has them
};

struct VariableSources {
  EnvLookup env;
  std::string directory = ".";  // of the configuration file
  bool read_files = true;
  // Has whoever gets the text a variable of that name of its own? Where `env` has none it is left to them.
  std::function<bool(std::string_view)> own = {};
};

Expansion expand(std::string_view text, const VariableSources& sources);

// A small file as text, or a sentence why not: a regular one, never waited for; "-" is stdin. `not_permitted`
// is set when that is the reason.
Result<std::string> read_small_file(const std::string& path, size_t limit, bool* not_permitted = nullptr);
// `path` seen from `directory`.
std::string resolve_path(std::string_view path, const std::string& directory);

struct EnvLine {
  std::string name;
  std::string value;
};
// NAME=value lines: comments, `export`, quotes; nothing is expanded. The error names the line, never its
// text.
Result<std::vector<EnvLine>> parse_env_file(std::string_view text);

}  // namespace lineward::config
