#include "config/reader/jsonc.h"

namespace lineward::config {
namespace {

size_t end_of_string(std::string_view text, size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return at < text.size() ? at + 1 : text.size();
}

// The end of a comment that starts at `at`, else `at`. An unclosed /* stays, so that the parser rejects it.
size_t end_of_comment(std::string_view text, size_t at) {
  if (text.substr(at, 2) == "//") {
    size_t end = text.find('\n', at);
    return end == std::string_view::npos ? text.size() : end;
  }
  if (text.substr(at, 2) == "/*") {
    size_t end = text.find("*/", at + 2);
    return end == std::string_view::npos ? at : end + 2;
  }
  return at;
}

// Columns count characters, so one space per character, not per byte.
void blank(std::string_view comment, std::string& out) {
  for (char c : comment) {
    if ((static_cast<unsigned char>(c) & 0xC0) == 0x80) continue;
    out += c == '\n' || c == '\r' ? c : ' ';
  }
}

}  // namespace

std::string without_json_comments(std::string_view text) {
  constexpr size_t kNone = std::string::npos;
  std::string out;
  out.reserve(text.size());
  size_t last_comma = kNone;  // in `out`, followed only by space so far
  for (size_t at = 0; at < text.size();) {
    char c = text[at];
    size_t end = end_of_comment(text, at);
    if (end != at) {
      blank(text.substr(at, end - at), out);
      at = end;
      continue;
    }
    if (c == '"') {
      end = end_of_string(text, at);
      out.append(text.substr(at, end - at));
      at = end;
      last_comma = kNone;
      continue;
    }
    if ((c == '}' || c == ']') && last_comma != kNone) out[last_comma] = ' ';
    if (c == ',') {
      last_comma = out.size();
    } else if (c != ' ' && c != '\t' && c != '\n' && c != '\r') {
      last_comma = kNone;
    }
    out += c == '\t' ? ' ' : c;
    ++at;
  }
  return out;
}

}  // namespace lineward::config
