#include "config/reader/section_findings.h"

#include <fmt/format.h>
#include <sys/stat.h>

namespace lineward::config {

Diagnostic& SectionFindings::add(const char* option, std::string code, std::string message,
                                 std::string hint) {
  Diagnostic diagnostic;
  diagnostic.code = std::move(code);
  diagnostic.message = std::move(message);
  diagnostic.hint = std::move(hint);
  diagnostic.origin = name_;
  const Member* at = section_ != nullptr ? section_->value.find(option) : nullptr;
  if (at == nullptr) at = section_;
  if (at != nullptr) {
    diagnostic.line = at->line;
    diagnostic.column = at->column;
    diagnostic.length = at->length;
  }
  result_.diagnostics.push_back(std::move(diagnostic));
  return result_.diagnostics.back();
}

void SectionFindings::check_secrecy(const char* option, std::string code, const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0 || (info.st_mode & S_IROTH) == 0) return;
  add(option, std::move(code), fmt::format("{}.{} can be read by every user of this machine", name_, option),
      "chmod 600 it")
      .severity = Severity::warning;
}

}  // namespace lineward::config
