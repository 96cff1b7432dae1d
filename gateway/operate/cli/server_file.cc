#include "operate/cli/server_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/reader/include.h"
#include "foundation/json/json_scan.h"

namespace lineward::cli {
namespace {

using config::Member;
using config::Node;
using config::NodeKind;

Node text_node(std::string text) {
  Node node;
  node.kind = NodeKind::scalar;
  node.text = std::move(text);
  node.quoted = true;
  return node;
}

Node map_node(const std::vector<std::pair<std::string, std::string>>& values) {
  Node node;
  node.kind = NodeKind::mapping;
  for (const auto& [name, value] : values) {
    Member& member = node.members.emplace_back();
    member.key = name;
    member.value = text_node(value);
  }
  return node;
}

void add_member(Node& to, const char* key, Node value) {
  Member& member = to.members.emplace_back();
  member.key = key;
  member.value = std::move(value);
}

// A scalar that YAML reads as a number or a word stays plain; anything else has quotes.
bool is_plain(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == '_' || c == '-';
  }) && text[0] != '-';
}

// As JSON, which is YAML as well.
std::string flow(const Node& node) {
  std::string out;
  switch (node.kind) {
    case NodeKind::null: return "null";
    case NodeKind::scalar:
      return !node.quoted && is_plain(node.text) ? node.text : lineward::json::quote(node.text);
    case NodeKind::sequence:
      for (const Node& item : node.items)
        out += (out.empty() ? "" : ", ") + flow(item);
      return "[" + out + "]";
    case NodeKind::mapping:
      for (const Member& member : node.members)
        out += (out.empty() ? "" : ", ") + lineward::json::quote(member.key) + ": " + flow(member.value);
      return "{" + out + "}";
  }
  return out;
}

}  // namespace

Result<ServerFile> ServerFile::read(std::string_view text, const std::string& path) {
  ServerFile file;
  if (text.empty()) return file;
  if (!config::is_own_file(path, text))
    return fail(fmt::format(
        "{} was not written by lineward server, which therefore does not change it: give it another name",
        path));
  config::Document document = config::parse_document(text, config::Syntax::yaml);
  if (!document.parsed || !document.diagnostics.empty())
    return fail(
        fmt::format("{} cannot be read: {}", path,
                    document.diagnostics.empty() ? "it is no YAML" : document.diagnostics.front().message));
  for (Member& member : document.root.members) {
    if (member.key == "mcpServers") file.servers_ = std::move(member.value.members);
    if (member.key != "disabled") continue;
    for (Node& name : member.value.items)
      file.disabled_.push_back(std::move(name.text));
  }
  return file;
}

std::string ServerFile::text() const {
  std::string out(config::kOwnHeading);
  out += "\n";
  if (!disabled_.empty()) {
    out += "disabled:\n";
    for (const std::string& name : disabled_)
      out += fmt::format("  - {}\n", lineward::json::quote(name));
  }
  out += servers_.empty() ? "mcpServers: {}\n" : "mcpServers:\n";
  for (const Member& server : servers_) {
    if (server.value.members.empty()) {
      out += fmt::format("  {}: {{}}\n", lineward::json::quote(server.key));
      continue;
    }
    out += fmt::format("  {}:\n", lineward::json::quote(server.key));
    for (const Member& member : server.value.members)
      out += fmt::format("    {}: {}\n", lineward::json::quote(member.key), flow(member.value));
  }
  return out;
}

bool ServerFile::has(std::string_view name) const {
  return std::any_of(servers_.begin(), servers_.end(), [name](const Member& one) { return one.key == name; });
}

void ServerFile::add(const NewServer& server) {
  Member& added = servers_.emplace_back();
  added.key = server.name;
  Node& node = added.value;
  node.kind = NodeKind::mapping;
  if (!server.url.empty()) {
    add_member(node, "url", text_node(server.url));
    if (!server.headers.empty()) add_member(node, "headers", map_node(server.headers));
    return;
  }
  add_member(node, "command", text_node(server.command));
  if (!server.args.empty()) {
    Node args;
    args.kind = NodeKind::sequence;
    for (const std::string& arg : server.args)
      args.items.push_back(text_node(arg));
    add_member(node, "args", std::move(args));
  }
  if (!server.cwd.empty()) add_member(node, "cwd", text_node(server.cwd));
  if (!server.env.empty()) add_member(node, "env", map_node(server.env));
}

bool ServerFile::remove(std::string_view name) {
  enable(name);
  return std::erase_if(servers_, [name](const Member& one) { return one.key == name; }) > 0;
}

bool ServerFile::is_disabled(std::string_view name) const {
  return std::find(disabled_.begin(), disabled_.end(), name) != disabled_.end();
}

void ServerFile::disable(const std::string& name) {
  if (!is_disabled(name)) disabled_.push_back(name);
}

bool ServerFile::enable(std::string_view name) {
  return std::erase(disabled_, name) > 0;
}

}  // namespace lineward::cli
