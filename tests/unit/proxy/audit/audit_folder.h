// A folder of its own for one test, and what tests do with audit logs in it.
#pragma once

#include <stdlib.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "proxy/audit/audit_file.h"
#include "proxy/audit/audit_log.h"
#include "proxy/audit/entry.h"
#include "proxy/audit/verify.h"

namespace lineward::audit {

struct Folder {
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "lineward-audit-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::string file(const std::string& name) const { return path + "/" + name; }
  std::string path;
};

inline std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

inline void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    out.push_back(line);
  return out;
}

inline std::string text_of(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines)
    out += line + "\n";
  return out;
}

// All files of a log, the full ones too.
inline std::vector<std::string> files_of(const std::string& path) {
  std::vector<std::string> files = full_files(path);
  if (std::filesystem::exists(path)) files.push_back(path);
  return files;
}

inline Verdict verified(const std::vector<std::string>& files, const VerifyOptions& options = {}) {
  auto verdict = verify(files, options);
  REQUIRE(verdict);
  return std::move(*verdict);
}

// A key pair; the public part is in `path`.pub.
void make_key(const std::string& path);

}  // namespace lineward::audit
