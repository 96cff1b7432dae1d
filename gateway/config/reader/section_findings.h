// Errors of a whole section, found after all of it is read. Each is reported at its option, or at the
// section's name.
#pragma once

#include <string>

#include "config/reader/document.h"
#include "config/reader/load.h"

namespace lineward::config {

class SectionFindings {
 public:
  // `name`: the section's, at the top of the file.
  SectionFindings(const Node& root, std::string name, LoadResult& result)
      : section_(root.find(name)), name_(std::move(name)), result_(result) {}

  // A part of a section, with its whole name.
  SectionFindings(const Member* section, std::string name, LoadResult& result)
      : section_(section), name_(std::move(name)), result_(result) {}
  const std::string& name() const { return name_; }

  Diagnostic& add(const char* option, std::string code, std::string message, std::string hint);
  // Warns if every local user can read the file of secrets that the option names.
  void check_secrecy(const char* option, std::string code, const std::string& path);

 private:
  const Member* section_;
  std::string name_;
  LoadResult& result_;
};

}  // namespace lineward::config
