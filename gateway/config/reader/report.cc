#include "config/reader/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/options/text_check.h"
#include "foundation/log/sanitize.h"

namespace lineward::config {
namespace {

constexpr int kWidest = 100;  // columns of a printed line; pasted JSON may be one endless line
constexpr int kLead = 40;

std::string_view nth_line(std::string_view text, int number) {
  for (; number > 1; --number) {
    size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  std::string_view line = text.substr(0, text.find('\n'));
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

int last_line(std::string_view text) {
  auto breaks = static_cast<int>(std::count(text.begin(), text.end(), '\n'));
  return text.empty() || text.back() != '\n' ? breaks + 1 : std::max(breaks, 1);
}

// The spans are in file order: one pass finds the span of each column.
class Mask {
 public:
  Mask(const std::vector<SecretSpan>* spans, int line) : spans_(spans), line_(line) {}

  const SecretSpan* at(int column) {
    if (spans_ == nullptr) return nullptr;
    while (next_ < spans_->size() && ends_before((*spans_)[next_], column))
      ++next_;
    if (next_ == spans_->size()) return nullptr;
    const SecretSpan& span = (*spans_)[next_];
    bool begun = span.line < line_ || (span.line == line_ && span.column <= column);
    return begun ? &span : nullptr;
  }

 private:
  bool ends_before(const SecretSpan& span, int column) const {
    return span.end_line < line_ || (span.end_line == line_ && span.end_column <= column);
  }

  const std::vector<SecretSpan>* spans_;
  int line_;
  size_t next_ = 0;
};

// A printable line, with the position of the caret in it.
struct Printed {
  std::string text;
  int caret = 0;  // characters before it
  int length = 1;
};

Printed show_line(std::string_view line, const Diagnostic& at, const std::vector<SecretSpan>* secrets) {
  constexpr int kFar = 300;  // characters considered around the caret
  std::vector<std::string> cells;
  int from = -1, to = -1;
  Mask mask(secrets, at.line);
  const SecretSpan* inside = nullptr;
  bool cut = false, more = false;
  for (int column = 1; !line.empty(); ++column) {
    size_t bytes = std::max<size_t>(utf8_length(line), 1);
    std::string_view character = line.substr(0, bytes);
    line.remove_prefix(bytes);
    if (column < at.column - kFar) {
      cut = true;
      continue;
    }
    if (column > at.column + kFar) {
      more = true;
      break;
    }
    const SecretSpan* span = mask.at(column);
    if (span != nullptr && span != inside) cells.insert(cells.end(), 3, "•");
    bool masked = span != nullptr;
    // A caret inside a masked value is placed under the mask.
    int here = static_cast<int>(cells.size()) - (masked ? 3 : 0);
    if (column == at.column) from = here;
    if (column == at.column + at.length) to = here;
    inside = span;
    if (masked) continue;
    cells.push_back(character == "\t" ? " " : sanitize(character));
  }
  auto size = static_cast<int>(cells.size());
  if (from < 0) from = size;
  if (to < 0) to = size;
  Printed shown;
  int start = from > kWidest - kLead ? from - kLead : 0;
  int end = std::min(size, start + kWidest);
  cut = cut || start > 0;
  if (cut) shown.text = "…";
  for (int i = start; i < end; ++i)
    shown.text += cells[static_cast<size_t>(i)];
  if (end < size || more) shown.text += "…";
  shown.caret = from - start + (cut ? 1 : 0);
  shown.length = std::max(1, std::min(to, end) - from);
  return shown;
}

class Painter {
 public:
  explicit Painter(bool colour) : colour_(colour) {}
  std::string paint(std::string_view code, std::string_view text) const {
    return colour_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
  }

 private:
  bool colour_;
};

std::string_view severity_name(Severity severity) {
  return severity == Severity::error ? "error" : severity == Severity::warning ? "warning" : "info";
}

std::string_view severity_colour(Severity severity) {
  return severity == Severity::error ? "1;31" : severity == Severity::warning ? "1;33" : "1;36";
}

std::string place_of(const Diagnostic& diagnostic, const ReportSource& source) {
  if (diagnostic.line > 0) return fmt::format("{}:{}:{}", source.name, diagnostic.line, diagnostic.column);
  return diagnostic.origin.empty() ? std::string(source.name) : diagnostic.origin;
}

}  // namespace

std::string render_diagnostic(const Diagnostic& diagnostic, const ReportSource& source, bool colour) {
  Painter painter(colour);
  std::string head =
      painter.paint(severity_colour(diagnostic.severity),
                    fmt::format("{}[{}]", severity_name(diagnostic.severity), diagnostic.code));
  const std::string place = sanitize(place_of(diagnostic, source), std::string::npos);
  const std::string message = terminal_text(diagnostic.message), hint = terminal_text(diagnostic.hint);
  if (diagnostic.severity == Severity::info) return fmt::format("{}: {}: {}\n", head, place, message);
  std::string text = fmt::format("{}: {}\n  --> {}\n", head, message, place);
  bool in_file = diagnostic.line > 0 && diagnostic.line <= last_line(source.text) && !source.text.empty();
  if (in_file) {
    std::string_view line = nth_line(source.text, diagnostic.line);
    if (diagnostic.line == 1 && line.substr(0, 3) == "\xEF\xBB\xBF") line.remove_prefix(3);
    Printed shown = show_line(line, diagnostic, source.secrets);
    text += fmt::format("{:>5} | {}\n", diagnostic.line, shown.text);
    std::string carets(static_cast<size_t>(shown.length), '^');
    std::string pointer = hint.empty() ? carets : carets + " " + hint;
    text += fmt::format("      | {}{}\n", std::string(static_cast<size_t>(shown.caret), ' '),
                        painter.paint(severity_colour(diagnostic.severity), pointer));
  } else if (!hint.empty()) {
    text += fmt::format("   fix: {}\n", hint);
  }
  if (!diagnostic.note.empty()) text += fmt::format("   note: {}\n", terminal_text(diagnostic.note));
  return text;
}

std::string summary_line(const std::vector<Diagnostic>& diagnostics, std::string_view name) {
  auto count = [&diagnostics](Severity severity) {
    return std::count_if(diagnostics.begin(), diagnostics.end(), [severity](const Diagnostic& diagnostic) {
      return diagnostic.severity == severity;
    });
  };
  auto errors = count(Severity::error), warnings = count(Severity::warning);
  std::string text;
  if (errors > 0) text = fmt::format("{} error{}", errors, errors == 1 ? "" : "s");
  if (warnings > 0) {
    text += fmt::format("{}{} warning{}", text.empty() ? "" : ", ", warnings, warnings == 1 ? "" : "s");
  }
  return fmt::format("{}: {}", sanitize(name, std::string::npos), text.empty() ? "ok" : text);
}

std::string render_report(const std::vector<Diagnostic>& diagnostics, std::string_view name,
                          const std::function<ReportSource(const Diagnostic&)>& source_of, bool colour) {
  constexpr size_t kMaxEntries = 100;
  std::string text;
  size_t shown = std::min(diagnostics.size(), kMaxEntries);
  for (size_t i = 0; i < shown; ++i)
    text += render_diagnostic(diagnostics[i], source_of(diagnostics[i]), colour);
  if (shown < diagnostics.size()) text += fmt::format("… and {} more\n", diagnostics.size() - shown);
  return text + summary_line(diagnostics, name) + "\n";
}

}  // namespace lineward::config
