// What is wrong with a section of the configuration as a whole, found when all of it has been read: noted
// where its option stands, or at the section's name.
#pragma once

#include <string>

#include "config/reader/document.h"
#include "config/reader/load.h"

namespace lineward::config {

class SectionFindings {
 public:
  // `name`: of the section, at the top of the file.
  SectionFindings(const Node& root, std::string name, LoadResult& result)
      : section_(root.find(name)), name_(std::move(name)), result_(result) {}

  Diagnostic& add(const char* option, std::string code, std::string message, std::string hint);
  // A warning where every user of this machine can read the file of secrets that the option names.
  void check_secrecy(const char* option, std::string code, const std::string& path);

 private:
  const Member* section_;
  std::string name_;
  LoadResult& result_;
};

}  // namespace lineward::config
