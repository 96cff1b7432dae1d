#include "config/options/options_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/options/auth_options.h"
#include "config/options/options.h"
#include "config/options/read_value.h"

namespace lineward::config {
namespace {

constexpr size_t kWidth = 108;

std::string accepted(const Option& option) {
  std::string text(kind_name(option.kind));
  if (option.kind == Kind::choice) {
    text = option.choices;
    for (size_t bar = text.find('|'); bar != std::string::npos; bar = text.find('|', bar + 3)) {
      text.replace(bar, 1, " | ");
    }
  }
  if (option.least != 0 || option.most != 0) {
    text += fmt::format(", {} to {}", spell_bound(option.kind, option.least),
                        spell_bound(option.kind, option.most));
    if (option.kind == Kind::count && !option.choices.empty()) text += fmt::format(", or {}", option.choices);
  }
  return text;
}

void add_wrapped(std::string_view words, const std::string& lead, std::string& out) {
  size_t room = kWidth - lead.size();
  while (!words.empty()) {
    size_t end = words.size();
    if (end > room) {
      end = words.rfind(' ', room);
      if (end == std::string_view::npos) end = words.size();
    }
    out += lead + std::string(words.substr(0, end)) + "\n";
    words.remove_prefix(std::min(words.size(), end + 1));
  }
}

// A server without a command is invalid, so the file shows an existing one.
std::string sample(const Option& option) {
  if (option.path == "mcpServers.*.command") return "npx";
  if (option.path == "mcpServers.*.args") return "[\"-y\", \"@modelcontextprotocol/server-everything\"]";
  if (option.kind == Kind::list || option.kind == Kind::names) return "[]";
  if (option.kind == Kind::map) return "{}";
  if (option.kind == Kind::text) return fmt::format("\"{}\"", option.fallback);
  return std::string(option.fallback);
}

// `by_environment`: an environment variable may set it.
void add_option(const Option& option, const std::string& indent, std::string& out,
                bool by_environment = true) {
  add_wrapped(option.help, indent + "# ", out);
  std::string facts = accepted(option);
  if (by_environment && !option.env_name().empty()) facts += "; " + option.env_name();
  add_wrapped(facts, indent + "# ", out);
  out += fmt::format("{}{}: {}\n", indent, option.leaf(), sample(option));
}

// A list of maps: not a row of the table (config/reader/tls.cc).
constexpr std::string_view kCertificatesYaml =
    "    # Further certificates. The host name that the client requests (SNI) decides which one it gets.\n"
    "    # list; - { certificate: /etc/tls/b.pem, key: /etc/tls/b.key }\n"
    "    certificates: []\n";

// A map by name: not rows of the table (config/reader/listeners.cc).
constexpr std::string_view kListenersYaml =
    "# Further listeners by name: as listen, and servers: [NAME]; auth is on, off, or a map as at the top.\n"
    "# map; inside: { address: 127.0.0.1:8001, path: /inside }\n"
    "listeners: {}\n";

// Likewise (config/reader/server_reader.cc).
constexpr std::string_view kUrlsYaml =
    "    # Several addresses of the server, instead of url (docs/origins.md).\n"
    "    # list; - { url: http://10.0.0.1:8000/mcp, weight: 2, drain: true }\n"
    "    urls: []\n";

// The table is sorted by group: a new group begins when the names before the last dot change.
void add_groups(const std::vector<const Option*>& rows, const std::string& indent, std::string& out) {
  std::vector<std::string> open;
  for (const Option* option : rows) {
    std::vector<std::string> groups;
    std::string key = option->key();
    for (size_t dot = key.find('.'); dot != std::string::npos; dot = key.find('.')) {
      groups.push_back(key.substr(0, dot));
      key.erase(0, dot + 1);
    }
    size_t same = 0;
    while (same < groups.size() && same < open.size() && groups[same] == open[same])
      ++same;
    for (size_t i = same; i < groups.size(); ++i)
      out += fmt::format("{}{}:\n", indent + std::string(2 * i, ' '), groups[i]);
    add_option(*option, indent + std::string(2 * groups.size(), ' '), out);
    if (option->path == "listen.tls.ocsp") out += kCertificatesYaml;
    if (option->path == "mcpServers.*.url") out += kUrlsYaml;
    open = std::move(groups);
  }
}

std::vector<const Option*> select(bool (*wanted)(const Option&)) {
  std::vector<const Option*> rows;
  for (const Option& option : options()) {
    if (wanted(option)) rows.push_back(&option);
  }
  return rows;
}

bool of_gateway(const Option& option) {
  return !option.per_server();
}
bool of_one_server(const Option& option) {
  return option.per_server() && !option.inherited();
}
bool of_defaults(const Option& option) {
  return option.inherited();
}

std::string topic_of(const Option& option) {
  std::string key = option.key();
  size_t dot = key.find('.');
  if (dot == std::string::npos) return option.per_server() ? "servers" : key;
  return key.substr(0, dot);
}

constexpr std::string_view kTimeoutsIntroduction =
    "How the clocks of a call follow each other:\n"
    "  queue -> startup -> request (restarts at each progress) <= maxDuration (never restarts)\n"
    "When one runs out, the server gets a cancel and cancelGrace to stop. The client gets error 504.\n"
    "While the server's question waits for its client, only `park` runs.\n"
    "A server's `methods:` and `tools.overrides:` give single methods and tools other values "
    "(docs/limits.md).\n\n";

// Maps with user-defined names: not rows of the table (server_reader.cc).
constexpr std::string_view kOverridesYaml =
    "    # Other limits for single methods: request, maxDuration and progressResets, by glob; the first "
    "that\n"
    "    # matches counts.\n"
    "    # map; \"prompts/*\": { timeouts: { request: 10s } }\n"
    "    methods: {}\n"
    "    tools:\n"
    "      # Likewise for single tools, by the server's own names; they outrank those of the method. name, "
    "title\n"
    "      # and description show a tool otherwise (docs/views.md). allow and deny may stand here too:\n"
    "      # docs/plugins.md.\n"
    "      # map; \"search_*\": { timeouts: { request: 2m, maxDuration: 1h } }\n"
    "      overrides: {}\n";

// Options of `auth:` besides the methods, which are plugins (`lineward help auth`). The file has them as
// comments: an `auth:` section without a method admits no caller.
void add_auth(std::string& out) {
  std::string lines;
  add_wrapped(
      "Authentication; without it every caller is admitted. The methods are apiKey, jwt and trustedProxy: "
      "lineward help "
      "auth.",
      "# ", lines);
  lines += "auth:\n";
  for (const Option& option : auth_options())
    add_option(option, "  ", lines, false);
  lines += "  resourceMetadata:\n";
  for (const Option& option : metadata_options())
    add_option(option, "    ", lines, false);
  for (size_t at = 0; at < lines.size();) {
    const size_t end = lines.find('\n', at);
    const std::string line = lines.substr(at, end - at);
    out += (line[0] == '#' ? line : "#" + line) + "\n";
    at = end + 1;
  }
}

void add_auth_help(std::string& out) {
  for (const auto& [group, rows] :
       {std::pair("auth.", &auth_options()), {"auth.resourceMetadata.", &metadata_options()}}) {
    for (const Option& option : *rows) {
      out += fmt::format("{}{}{}\n", group, option.path,
                         option.fallback.empty() ? "" : fmt::format("   default {}", option.fallback));
      add_wrapped(option.help, "    ", out);
      add_wrapped(accepted(option), "    ", out);
    }
  }
}

// Whether `topic` means the option: its group, its name or its whole path. "defaults" means every inherited
// option.
bool is_about(const Option& option, std::string_view topic) {
  if (topic == "options" || topic_of(option) == topic) return true;
  return topic == "defaults" ? option.inherited() : false;
}
bool is_named(const Option& option, std::string_view topic) {
  return option.leaf() == topic || option.key() == topic || option.path == topic;
}

}  // namespace

std::string options_yaml() {
  std::string out =
      "# Every option with its default, printed by: lineward options --format yaml\n"
      "# Copy the lines you want to change. An option that is not written has the value shown here.\n"
      "# The environment variable of an option outranks this file. A command-line flag outranks both.\n\n";
  add_groups(select(of_gateway), "", out);
  out += kListenersYaml;
  add_auth(out);
  out += "\n# Defaults of every server below; each may also stand at one server.\ndefaults:\n";
  add_groups(select(of_defaults), "  ", out);
  out +=
      "\nmcpServers:\n  # The name is the last part of the server's path when there are several: "
      "/mcp/everything\n";
  out += "  everything:\n";
  add_groups(select(of_one_server), "    ", out);
  out += kOverridesYaml;
  return out;
}

std::vector<std::string> help_topics() {
  std::vector<std::string> topics;
  for (const Option& option : options()) {
    std::string topic = topic_of(option);
    if (std::find(topics.begin(), topics.end(), topic) == topics.end()) topics.push_back(topic);
  }
  return topics;
}

std::string options_help(std::string_view topic) {
  std::string out;
  if (topic == "auth" || topic == "options") add_auth_help(out);
  const bool group = std::any_of(options().begin(), options().end(),
                                 [topic](const Option& option) { return is_about(option, topic); });
  for (const Option& option : options()) {
    if (group ? !is_about(option, topic) : !is_named(option, topic)) continue;
    std::string key = option.per_server() ? "mcpServers.NAME." + option.key() : option.key();
    std::string fallback = option.fallback.empty() ? "" : fmt::format("   default {}", option.fallback);
    out += fmt::format("{}{}\n", key, fallback);
    add_wrapped(option.help, "    ", out);
    std::string facts = accepted(option);
    if (!option.env_name().empty()) facts += "; " + option.env_name();
    if (option.inherited()) facts += "; may stand under defaults: too";
    add_wrapped(facts, "    ", out);
  }
  if (!out.empty() && topic == "timeouts") out = std::string(kTimeoutsIntroduction) + out;
  return out;
}

}  // namespace lineward::config
