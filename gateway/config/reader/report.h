// Formats diagnostics: the message, its position, the line with a caret, and a suggestion.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "config/diagnostic.h"

namespace lineward::config {

struct ReportSource {
  std::string_view name;  // as given by the user
  std::string_view text;
  const std::vector<SecretSpan>* secrets = nullptr;  // masked in every printed line
};

std::string render_diagnostic(const Diagnostic& diagnostic, const ReportSource& source, bool colour);
// All diagnostics, then the summary line of the file called `name`.
std::string render_report(const std::vector<Diagnostic>& diagnostics, std::string_view name,
                          const std::function<ReportSource(const Diagnostic&)>& source_of, bool colour);
// "lineward.yaml: 2 errors, 1 warning", without a newline.
std::string summary_line(const std::vector<Diagnostic>& diagnostics, std::string_view name);

}  // namespace lineward::config
