// Diagnostics for people: what, where, the line itself with a caret, and what to write instead.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/diagnostic.h"

namespace lineward::config {

struct ReportSource {
  std::string_view name;  // as the user gave it
  std::string_view text;
  const std::vector<SecretSpan>* secrets = nullptr;  // masked in every line shown
};

std::string render_diagnostic(const Diagnostic& diagnostic, const ReportSource& source, bool colour);
// All of them, then the summary line.
std::string render_report(const std::vector<Diagnostic>& diagnostics, const ReportSource& source,
                          bool colour);
// "lineward.yaml: 2 errors, 1 warning", without a newline.
std::string summary_line(const std::vector<Diagnostic>& diagnostics, std::string_view name);

}  // namespace lineward::config
