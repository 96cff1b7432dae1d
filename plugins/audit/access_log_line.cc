#include "plugins/audit/access_log_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

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
  std::array<char, 24> digits{};
  char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  text_[static_cast<size_t>(field)].assign(digits.data(), end);
  number_[static_cast<size_t>(field)] = true;
}

void LineValues::set_ms(LineField field, std::chrono::microseconds time) {
  const int64_t tenths = (std::max<int64_t>(0, time.count()) + 50) / 100;
  set(field, tenths / 10);
  std::string& out = text_[static_cast<size_t>(field)];
  out += '.';
  out += static_cast<char>('0' + tenths % 10);
}

void LineValues::clear() {
  constexpr size_t kShort = 1024;
  for (std::string& text : text_) {
    text.clear();
    if (text.capacity() > kShort) text.shrink_to_fit();
  }
  number_ = {};
}

std::string spell_line(LineFormat format, const std::vector<LineField>& fields, const LineValues& values) {
  if (format == LineFormat::combined) return combined(values);
  static const std::array<std::string, kLineFields.size()> kJsonKeys = [] {
    std::array<std::string, kLineFields.size()> keys;
    for (size_t i = 0; i < keys.size(); ++i)
      keys[i] = fmt::format("\"{}\":", kLineFields[i]);
    return keys;
  }();
  bool json = format == LineFormat::json;
  std::string out;
  out.reserve(512);
  if (json) out += '{';
  for (LineField field : fields) {
    const std::string& text = values.text(field);
    if (text.empty()) continue;
    if (out.size() > (json ? 1 : 0)) out += json ? ',' : ' ';
    if (json) {
      out += kJsonKeys[static_cast<size_t>(field)];
    } else {
      out += kLineFields[static_cast<size_t>(field)];
      out += '=';
    }
    if (values.is_number(field)) {
      out += text;
    } else {
      append_logged(out, text, json, Letters::ascii);
    }
  }
  if (json) out += '}';
  return out;
}

}  // namespace lineward::plugins
