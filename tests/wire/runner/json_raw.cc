#include "json_raw.h"

#include <cctype>
#include <nlohmann/json.hpp>

namespace lineward::wire {
namespace {

constexpr size_t npos = std::string_view::npos;

size_t skip_space(std::string_view s, size_t at) {
  while (at < s.size() && (s[at] == ' ' || s[at] == '\t' || s[at] == '\n' || s[at] == '\r'))
    ++at;
  return at;
}

size_t skip_string(std::string_view s, size_t at) {
  for (++at; at < s.size(); ++at) {
    if (s[at] == '\\') {
      ++at;
    } else if (s[at] == '"') {
      return at + 1;
    }
  }
  return npos;
}

size_t skip_value(std::string_view s, size_t at) {
  if (at >= s.size()) return npos;
  if (s[at] == '"') return skip_string(s, at);
  if (s[at] != '{' && s[at] != '[') {
    size_t end = at;
    while (end < s.size() && std::string_view(" \t\r\n,]}").find(s[end]) == npos)
      ++end;
    return end == at ? npos : end;
  }
  int depth = 0;
  while (at < s.size()) {
    if (s[at] == '"') {
      at = skip_string(s, at);
      if (at == npos) return npos;
      continue;
    }
    if (s[at] == '{' || s[at] == '[') ++depth;
    if (s[at] == '}' || s[at] == ']') {
      if (--depth == 0) return at + 1;
    }
    ++at;
  }
  return npos;
}

}  // namespace

std::optional<Path> parse_path(std::string_view text) {
  Path path;
  size_t at = 0;
  while (at < text.size()) {
    if (text[at] == '[') {
      size_t end =
          at + 1 < text.size() && text[at + 1] == '"' ? skip_string(text, at + 1) : text.find(']', at);
      if (end == npos || end >= text.size() || text[end] != ']') return std::nullopt;
      auto inner = text.substr(at + 1, end - at - 1);
      if (!inner.empty() && inner[0] == '"') {
        auto name = json_string(inner);
        if (!name) return std::nullopt;
        path.push_back(*name);
      } else {
        path.emplace_back(inner);
      }
      at = end + 1;
      continue;
    }
    if (text[at] == '.') {
      if (path.empty()) return std::nullopt;
      ++at;
    }
    size_t end = text.find_first_of(".[", at);
    if (end == npos) end = text.size();
    if (end == at) return std::nullopt;
    path.emplace_back(text.substr(at, end - at));
    at = end;
  }
  if (path.empty()) return std::nullopt;
  return path;
}

std::optional<std::string_view> find_raw(std::string_view json, const Path& path, size_t from) {
  size_t at = skip_space(json, 0);
  size_t end = skip_value(json, at);
  if (end == npos) return std::nullopt;
  if (from == path.size()) return json.substr(at, end - at);
  bool object = json[at] == '{';
  if (!object && json[at] != '[') return std::nullopt;
  size_t index = 0;
  at = skip_space(json, at + 1);
  while (at < json.size() && json[at] != '}' && json[at] != ']') {
    bool here = false;
    if (object) {
      size_t key_end = json[at] == '"' ? skip_string(json, at) : npos;
      if (key_end == npos) return std::nullopt;
      auto key = json_string(json.substr(at, key_end - at));
      here = key && *key == path[from];
      at = skip_space(json, key_end);
      if (at >= json.size() || json[at] != ':') return std::nullopt;
      at = skip_space(json, at + 1);
    } else {
      here = std::to_string(index++) == path[from];
    }
    size_t value_end = skip_value(json, at);
    if (value_end == npos) return std::nullopt;
    if (here) return find_raw(json.substr(at, value_end - at), path, from + 1);
    at = skip_space(json, value_end);
    if (at < json.size() && json[at] == ',') at = skip_space(json, at + 1);
  }
  return std::nullopt;
}

bool is_json(std::string_view text) {
  return nlohmann::json::accept(text);
}

std::string json_quote(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::optional<std::string> json_string(std::string_view quoted) {
  auto value = nlohmann::json::parse(quoted, nullptr, false);
  if (!value.is_string()) return std::nullopt;
  return value.get<std::string>();
}

std::string one_line(std::string_view json) {
  std::string out;
  for (size_t i = 0; i < json.size(); ++i) {
    if (json[i] != '\n' && json[i] != '\r') {
      out += json[i];
      continue;
    }
    while (i + 1 < json.size() && std::isspace(static_cast<unsigned char>(json[i + 1])))
      ++i;
    while (!out.empty() && out.back() == ' ')
      out.pop_back();
    out += ' ';
  }
  return out;
}

std::string splice_front(std::string_view json, std::string_view members) {
  size_t at = skip_space(json, 0);
  if (at >= json.size() || json[at] != '{' || members.empty()) return std::string(json);
  size_t next = skip_space(json, at + 1);
  bool empty = next < json.size() && json[next] == '}';
  return std::string(json.substr(0, at + 1)) + std::string(members) + (empty ? "" : ",") +
         std::string(json.substr(at + 1));
}

std::string splice_meta(std::string_view params, std::string_view members) {
  auto meta = find_raw(params, {"_meta"});
  if (!meta) return splice_front(params, "\"_meta\":{" + std::string(members) + "}");
  size_t start = static_cast<size_t>(meta->data() - params.data());
  return std::string(params.substr(0, start)) + splice_front(*meta, members) +
         std::string(params.substr(start + meta->size()));
}

}  // namespace lineward::wire
