#include "plugins/audit/access_log_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "foundation/log/redaction.h"
#include "foundation/log/sanitize.h"

namespace lineward::plugins {
namespace {

// As in Apache and NCSA logs: quotes, backslashes and other than printable ASCII become \xHH.
std::string escaped(std::string_view text) {
  std::string out;
  for (unsigned char c : text) {
    bool plain = c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
    out += plain ? std::string(1, static_cast<char>(c)) : fmt::format("\\x{:02x}", c);
  }
  return out;
}

// A word of a line separated by blanks.
std::string word(std::string_view text) {
  std::string out = escaped(text);
  for (char& c : out)
    c = c == ' ' ? '+' : c;
  return out.empty() ? "-" : out;
}

// "2026-11-20T12:03:07.412Z" as "20/Nov/2026:12:03:07 +0000".
std::string common_time(const std::string& iso) {
  static constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  if (iso.size() < 19) return "-";
  size_t month = static_cast<size_t>((iso[5] - '0') * 10 + (iso[6] - '0'));
  if (month < 1 || month > 12) return "-";
  return fmt::format("{}/{}/{}:{} +0000", iso.substr(8, 2), kMonths.substr((month - 1) * 3, 3),
                     iso.substr(0, 4), iso.substr(11, 8));
}

std::string combined(const LineValues& values) {
  auto text = [&](LineField field) -> const std::string& { return values.text(field); };
  std::string remote = text(LineField::remote);
  if (size_t colon = remote.rfind(':'); colon != std::string::npos) remote.resize(colon);
  std::string request;
  if (!text(LineField::request).empty()) {
    request = escaped(text(LineField::request)) + " HTTP/1.1";
  } else {
    std::string path = "/" + word(text(LineField::upstream));
    if (!text(LineField::target).empty()) path += "/" + word(text(LineField::target));
    request =
        fmt::format("{} {} MCP/{}", word(text(LineField::method)), path, word(text(LineField::revision)));
  }
  const std::string& bytes = text(LineField::bytes_out);
  return fmt::format("{} - {} [{}] \"{}\" {} {} \"-\" \"{}\"", word(remote), word(text(LineField::principal)),
                     common_time(text(LineField::time)), request, word(text(LineField::status)),
                     bytes.empty() ? "-" : bytes,
                     text(LineField::agent).empty() ? "-" : escaped(text(LineField::agent)));
}

}  // namespace

Result<std::vector<LineField>> parse_fields(const std::vector<std::string>& names) {
  std::vector<LineField> out;
  for (const std::string& name : names) {
    auto found = std::find(kLineFields.begin(), kLineFields.end(), name);
    // Only `payload` enables these two.
    bool known = found != kLineFields.end() && name != "arguments" && name != "result";
    if (!known) {
      return fail(fmt::format("there is no field '{}'; there are {}", name.substr(0, 60),
                              fmt::join(kLineFields.begin(), kLineFields.end() - 2, ", ")));
    }
    auto field = static_cast<LineField>(found - kLineFields.begin());
    if (std::find(out.begin(), out.end(), field) == out.end()) out.push_back(field);
  }
  return out;
}

void LineValues::set(LineField field, std::string_view text, size_t longest) {
  std::string& out = text_[static_cast<size_t>(field)];
  // Redacted before it is cut: half of a secret cannot be detected.
  std::string clean;
  if (redaction::touches(text)) text = clean = redaction::apply(text);
  out = text.substr(0, longest);
  if (text.size() <= longest) return;
  while (!out.empty() && (static_cast<unsigned char>(out.back()) & 0xC0) == 0x80)
    out.pop_back();
  if (!out.empty() && static_cast<unsigned char>(out.back()) >= 0xC0) out.pop_back();
  out += "...";
}

void LineValues::set(LineField field, int64_t number) {
  text_[static_cast<size_t>(field)] = std::to_string(number);
  number_[static_cast<size_t>(field)] = true;
}

void LineValues::set_ms(LineField field, double ms) {
  text_[static_cast<size_t>(field)] = fmt::format("{:.1f}", ms);
  number_[static_cast<size_t>(field)] = true;
}

std::string spell_line(LineFormat format, const std::vector<LineField>& fields, const LineValues& values) {
  if (format == LineFormat::combined) return combined(values);
  bool json = format == LineFormat::json;
  std::string out = json ? "{" : "";
  for (LineField field : fields) {
    const std::string& text = values.text(field);
    if (text.empty()) continue;
    std::string_view name = kLineFields[static_cast<size_t>(field)];
    std::string value = values.is_number(field) ? text : logged(text, json, Letters::ascii);
    if (out.size() > (json ? 1 : 0)) out += json ? ',' : ' ';
    out += json ? fmt::format("\"{}\":{}", name, value) : fmt::format("{}={}", name, value);
  }
  return json ? out + "}" : out;
}

}  // namespace lineward::plugins
