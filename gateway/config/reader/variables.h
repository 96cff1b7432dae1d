// ${env:N}, ${N}, ${N:-default}, ${env:N:-default}, ${file:/path}, ${file:$CREDENTIALS_DIRECTORY/name},
// ${input:id} and editor variables in string values. Single pass:
// values of variables are never expanded again. $${ is an escaped ${.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/diagnostic.h"
#include "foundation/base/result.h"

namespace lineward::config {

using EnvLookup = std::function<std::optional<std::string>(std::string_view)>;

struct Expansion {
  std::string text;
  // "missing-variable", "missing-file", "bad-variable", without their places. They name the variable, never a
  // value.
  std::vector<Diagnostic> faults;
  bool bare_dollar = false;  // contains $NAME, which is not expanded
  bool replaced = false;
  std::vector<std::string> variables;  // names of environment variables used
  std::vector<std::string> secrets;    // values that no text may show: of files, and non-harmless environment
                                       // values (is_harmless)
  std::vector<std::string> left;       // names left unexpanded, since `own` has them
};

struct VariableSources {
  EnvLookup env;
  std::string directory = ".";  // of the configuration file
  bool read_files = true;
  // Whether the program that gets the text has its own variable of this name. A variable missing in `env` is
  // then left to it.
  std::function<bool(std::string_view)> own = {};
  // Words about the caller may stand in this text (config/identity_words.h). They are marked, not replaced.
  bool words = false;
};

Expansion expand(std::string_view text, const VariableSources& sources);

// A small file as text, or the error: a regular file, read without blocking; "-" is stdin. Sets
// `not_permitted` for a permission error.
Result<std::string> read_small_file(const std::string& path, size_t limit, bool* not_permitted = nullptr);
// `path` relative to `directory`.
std::string resolve_path(std::string_view path, const std::string& directory);

struct EnvLine {
  std::string name;
  std::string value;
};
// NAME=value lines: comments, `export`, quotes; nothing is expanded. The error names the line, never its
// text.
Result<std::vector<EnvLine>> parse_env_file(std::string_view text);

}  // namespace lineward::config
