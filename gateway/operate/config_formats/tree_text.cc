#include "operate/config_formats/tree_text.h"

#include <algorithm>

#include "foundation/json/json_scan.h"

namespace lineward::config_formats {
namespace {

using config::NodeKind;

constexpr size_t kLineWidth = 100;

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789.+-eE_xob") == std::string_view::npos &&
         text.find_first_of("0123456789") != std::string_view::npos;
}

// Words that YAML readers do not take as text.
bool is_word_of_yaml(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  for (std::string_view word : {"true", "false", "yes", "no", "on", "off", "null", "~", "y", "n"}) {
    if (lower == word) return true;
  }
  return is_number(text);
}

bool is_plain(std::string_view text) {
  constexpr std::string_view kFirst = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._$";
  constexpr std::string_view kRest =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-+@%=:~*";
  if (text.empty() || kFirst.find(text.front()) == std::string_view::npos || text.back() == ':') return false;
  return text.find_first_not_of(kRest) == std::string_view::npos;
}

std::string scalar(std::string_view text, bool is_text) {
  return is_plain(text) && (!is_text || !is_word_of_yaml(text)) ? std::string(text) : json::quote(text);
}

std::string scalar(const Node& node) {
  if (node.kind == NodeKind::null) return "null";
  return scalar(node.text, node.quoted);
}

bool is_simple(const Node& node) {
  return node.kind == NodeKind::scalar || node.kind == NodeKind::null;
}

// The node on one line, if all its content is simple and short; else empty.
std::string one_line(const Node& node) {
  std::string out;
  if (node.kind == NodeKind::sequence) {
    for (const Node& item : node.items) {
      if (!is_simple(item)) return {};
      out += (out.empty() ? "" : ", ") + scalar(item);
    }
    out = "[" + out + "]";
  } else {
    for (const Member& member : node.members) {
      if (!is_simple(member.value)) return {};
      out += (out.empty() ? " " : ", ") + scalar(member.key, true) + ": " + scalar(member.value);
    }
    out = out.empty() ? "{}" : "{" + out + " }";
  }
  return out.size() <= kLineWidth ? out : std::string();
}

void write_yaml(std::string& out, const Node& node, size_t indent);

void write_value(std::string& out, const Node& node, size_t indent) {
  if (is_simple(node)) {
    out += " " + scalar(node) + "\n";
    return;
  }
  const bool empty = node.items.empty() && node.members.empty();
  if (const std::string line = one_line(node); !line.empty() && (node.kind == NodeKind::sequence || empty)) {
    out += " " + line + "\n";
    return;
  }
  out += "\n";
  write_yaml(out, node, indent + 2);
}

void write_yaml(std::string& out, const Node& node, size_t indent) {
  const std::string blanks(indent, ' ');
  for (const Member& member : node.members) {
    out += blanks + scalar(member.key, true) + ":";
    write_value(out, member.value, indent);
  }
  for (const Node& item : node.items) {
    out += blanks + "-";
    if (is_simple(item)) {
      out += " " + scalar(item) + "\n";
      continue;
    }
    if (const std::string line = one_line(item); !line.empty()) {
      out += " " + line + "\n";
      continue;
    }
    // The first member follows the dash.
    std::string inner;
    write_yaml(inner, item, indent + 2);
    out += " " + inner.substr(std::min(inner.size(), indent + 2));
  }
}

void write_json(std::string& out, const Node& node, size_t indent) {
  const std::string blanks(indent + 2, ' ');
  const bool list = node.kind == NodeKind::sequence;
  if (is_simple(node)) {
    const bool bare = node.kind == NodeKind::null ||
                      (!node.quoted && (node.text == "true" || node.text == "false" ||
                                        (is_number(node.text) && node.text.front() != '+' &&
                                         node.text.find_first_of("xob_") == std::string::npos)));
    out += node.kind == NodeKind::null ? "null" : bare ? node.text : json::quote(node.text);
    return;
  }
  const size_t count = list ? node.items.size() : node.members.size();
  if (count == 0) {
    out += list ? "[]" : "{}";
    return;
  }
  if (list && std::all_of(node.items.begin(), node.items.end(), is_simple)) {
    std::string line;
    for (const Node& item : node.items) {
      if (!line.empty()) line += ", ";
      write_json(line, item, indent);
    }
    if (line.size() <= kLineWidth) {
      out += "[" + line + "]";
      return;
    }
  }
  out += list ? "[\n" : "{\n";
  for (size_t i = 0; i < count; ++i) {
    out += blanks;
    if (!list) out += json::quote(node.members[i].key) + ": ";
    write_json(out, list ? node.items[i] : node.members[i].value, indent + 2);
    out += i + 1 < count ? ",\n" : "\n";
  }
  out += std::string(indent, ' ') + (list ? "]" : "}");
}

}  // namespace

Node text_node(std::string_view text) {
  Node node;
  node.kind = NodeKind::scalar;
  node.text = text;
  node.quoted = true;
  return node;
}

Node word_node(std::string_view text) {
  Node node = text_node(text);
  node.quoted = false;
  return node;
}

Node list_node(const std::vector<std::string>& items) {
  Node node;
  node.kind = NodeKind::sequence;
  for (const std::string& item : items)
    node.items.push_back(text_node(item));
  return node;
}

Node map_node(const std::vector<std::pair<std::string, std::string>>& entries) {
  Node node;
  node.kind = NodeKind::mapping;
  for (const auto& [key, value] : entries)
    add_member(node, key, text_node(value));
  return node;
}

void add_member(Node& mapping, std::string key, Node value) {
  mapping.kind = NodeKind::mapping;
  Member member;
  member.key = std::move(key);
  member.value = std::move(value);
  mapping.members.push_back(std::move(member));
}

void add_text(Node& mapping, std::string key, std::string_view text) {
  if (!text.empty()) add_member(mapping, std::move(key), text_node(text));
}

std::string yaml_text(const Node& root) {
  std::string out;
  if (root.members.empty() && root.items.empty()) return "{}\n";
  write_yaml(out, root, 0);
  return out;
}

std::string json_text(const Node& root) {
  std::string out;
  write_json(out, root, 0);
  return out + "\n";
}

}  // namespace lineward::config_formats
