// Further files with servers: the globs of `include`, and Lineward's own file among them, which
// `lineward server add` writes (operate/cli/server_edit.h).
//
// A glob's last part may have * and ?, its directory may not. Names that begin with a dot are left out, as in
// a shell. Files are read in the order of the globs, then of their names, and each once.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/diagnostic.h"
#include "config/reader/document.h"

namespace lineward::config {

inline constexpr size_t kMaxIncludes = 16;         // globs
inline constexpr size_t kMaxIncludedFiles = 1000;  // of all globs
inline constexpr size_t kMaxIncludedBytes = 8 << 20;

// The file that Lineward writes, if its first line is the heading; otherwise the name is a user's file.
inline constexpr std::string_view kOwnFile = "lineward-servers.yaml";
inline constexpr std::string_view kOwnHeading =
    "# Written by `lineward server`, which reads and replaces it. Do not edit it.";
bool is_own_file(std::string_view path, std::string_view text);

// The own file of a configuration in `directory`: in the directory of the first glob that matches its name.
std::optional<std::string> own_file_of(const std::vector<std::string>& globs, const std::string& directory);

struct IncludedFile {
  std::string path;
  std::string text;
  Document document;
  std::vector<SecretSpan> secrets;
  bool is_own = false;
};

struct Included {
  std::vector<IncludedFile> files;
  std::vector<std::string> directories;  // of the globs
  std::vector<Diagnostic> diagnostics;
};

// The last parts of the globs that lead to `included`, one of Included::directories; `directory`: of the
// configuration. Whether one of them matches a file's name.
std::vector<std::string> names_in(const std::string& included, const std::vector<std::string>& globs,
                                  const std::string& directory);
bool is_included(const std::vector<std::string>& names, std::string_view name);

// Texts of files that are read instead of those on disk; nullopt: as if the file did not exist.
using FileTexts = std::map<std::string, std::optional<std::string>>;

// Reads and parses the files. `option`: the member `include`, for positions; may be null. `main`: the
// configuration itself, which is left out.
Included read_included(const std::vector<std::string>& globs, const Member* option,
                       const std::string& directory, const std::string& main, const FileTexts& texts);

}  // namespace lineward::config
