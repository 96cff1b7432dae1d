#include "operate/config_formats/toml.h"

#define TOML_EXCEPTIONS 0
#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <sstream>

#include "foundation/json/json_scan.h"
#include "operate/config_formats/tree_text.h"

namespace lineward::config_formats {
namespace {

using config::NodeKind;

constexpr int kMaxDepth = 32;
constexpr size_t kMaxMembers = 4096;  // of one table

bool is_bare(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

Result<Node> to_node(const toml::node& from, int depth);

Result<Node> to_mapping(const toml::table& table, int depth) {
  Node out;
  out.kind = NodeKind::mapping;
  const auto too = [&](const char* what) {
    return fail(fmt::format("line {}: {}", table.source().begin.line, what));
  };
  if (depth > kMaxDepth) return too("nested too deep");
  if (table.size() > kMaxMembers) return too("a table has more than 4096 keys");
  for (const auto& [key, value] : table) {
    auto read = to_node(value, depth + 1);
    if (!read) return read;
    add_member(out, std::string(key.str()), std::move(*read));
    out.members.back().line = static_cast<int>(key.source().begin.line);
    out.members.back().column = static_cast<int>(key.source().begin.column);
  }
  // In the order of the file: a table is sorted by name.
  std::sort(out.members.begin(), out.members.end(), [](const Member& a, const Member& b) {
    return std::pair(a.line, a.column) < std::pair(b.line, b.column);
  });
  return out;
}

Result<Node> to_node(const toml::node& from, int depth) {
  if (const auto* text = from.as_string()) return text_node(text->get());
  if (const auto* table = from.as_table()) return to_mapping(*table, depth);
  if (const auto* array = from.as_array()) {
    Node out;
    out.kind = NodeKind::sequence;
    if (depth > kMaxDepth) return fail(fmt::format("line {}: nested too deep", from.source().begin.line));
    for (const toml::node& item : *array) {
      auto read = to_node(item, depth + 1);
      if (!read) return read;
      out.items.push_back(std::move(*read));
    }
    return out;
  }
  std::ostringstream word;
  from.visit([&](const auto& value) { word << value; });
  return word_node(word.str());
}

}  // namespace

Result<config::Node> parse_toml(std::string_view text) {
  if (text.size() > config::kMaxDocumentBytes) return fail("a configuration has at most 1 MiB");
  const toml::parse_result read = toml::parse(text);
  if (read) return to_mapping(read.table(), 0);
  // Behind the colon it quotes the file.
  const std::string_view what = read.error().description();
  return fail(fmt::format("line {}: {}", read.error().source().begin.line, what.substr(0, what.find(':'))));
}

std::string toml_key(std::string_view key) {
  const bool bare = !key.empty() && std::all_of(key.begin(), key.end(), is_bare);
  return bare ? std::string(key) : toml_string(key);
}

// JSON escapes are valid TOML escapes, except for the slash, which is never escaped here.
std::string toml_string(std::string_view text) {
  return json::quote(text);
}

}  // namespace lineward::config_formats
