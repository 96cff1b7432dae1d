#include "protocol/http/percent.h"

#include <algorithm>

#include "protocol/http/char_class.h"

namespace lineward::http {
namespace {

// The byte of a code at the front of `text`; -1: there is no code.
int code_at(std::string_view text) {
  if (text.size() < 3 || text[0] != '%') return -1;
  const int high = hex_value(text[1]), low = hex_value(text[2]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

std::string form_decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const int code = code_at(text.substr(i));
    out += code >= 0 ? static_cast<char>(code) : text[i] == '+' ? ' ' : text[i];
    if (code >= 0) i += 2;
  }
  return out;
}

}  // namespace

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const int code = code_at(text.substr(i));
    if (code < 0 && text[i] == '%') return std::nullopt;
    out += code >= 0 ? static_cast<char>(code) : text[i];
    if (code >= 0) i += 2;
  }
  return out;
}

std::optional<std::string> form_value(std::string_view fields, std::string_view name) {
  while (!fields.empty()) {
    const std::string_view field = fields.substr(0, fields.find('&'));
    fields.remove_prefix(std::min(fields.size(), field.size() + 1));
    const size_t equals = field.find('=');
    if (form_decoded(field.substr(0, equals)) != name) continue;
    return equals == std::string_view::npos ? std::string() : form_decoded(field.substr(equals + 1));
  }
  return std::nullopt;
}

}  // namespace lineward::http
