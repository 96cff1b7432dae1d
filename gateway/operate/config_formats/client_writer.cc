#include <fmt/format.h>
#include <strings.h>

#include <algorithm>

#include "config/duration.h"
#include "config/options/names.h"
#include "config/options/read_value.h"
#include "operate/config_formats/client_file.h"
#include "operate/config_formats/toml.h"
#include "operate/config_formats/tree_text.h"

namespace lineward::config_formats {
namespace {

using config::NodeKind;
using std::chrono::milliseconds;

// ${env:NAME}, ${env:NAME:-default}, ${NAME}, ${NAME:-default}.
struct Variable {
  std::string_view name;  // empty: not an environment variable
  std::optional<std::string_view> otherwise;
};

bool is_name(std::string_view text) {
  return !text.empty() && !(text[0] >= '0' && text[0] <= '9') &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
         });
}

bool is_editor_word(std::string_view inner) {
  return inner == "workspaceFolder" || inner == "workspaceFolderBasename" || inner == "userHome" ||
         inner == "pathSeparator" || inner == "/";
}

Variable variable_in(std::string_view inner) {
  Variable out;
  if (is_editor_word(inner)) return out;
  if (inner.substr(0, 4) == "env:") inner.remove_prefix(4);
  const size_t dash = inner.find(":-");
  const std::string_view word = inner.substr(0, dash);
  if (!is_name(word)) return out;
  out.name = word;
  if (dash != std::string_view::npos) out.otherwise = inner.substr(dash + 2);
  return out;
}

// The name in "${env:NAME}"; empty for any other text.
std::string_view only_variable(std::string_view text) {
  if (text.size() < 4 || text.substr(0, 2) != "${" || text.find('}') != text.size() - 1) return {};
  const Variable found = variable_in(text.substr(2, text.size() - 3));
  return found.otherwise ? std::string_view() : found.name;
}

// Lineward options that no client supports; empty if there are none.
std::string left_own(const std::vector<Member>& own) {
  std::string names;
  for (const Member& member : own)
    names += (names.empty() ? "" : ", ") + config::clip(member.key);
  if (names.empty()) return names;
  return names +
         (own.size() == 1 ? " is Lineward's own, and is left out" : " are Lineward's own, and are left out");
}

class Writer {
 public:
  Writer(const ClientFile& file, Form to) : file_(file), to_(to), traits_(traits(to)) {}

  Adapted write() {
    out_.remarks = file_.remarks;
    for (const ClientServer& server : file_.servers)
      servers_.push_back(server);
    if (to_ == Form::yaml) name_servers();
    if (to_ != Form::yaml && to_ != Form::mcp_servers) leave_own();
    if (to_ == Form::codex) {
      write_codex();
    } else {
      write_tree();
    }
    return std::move(out_);
  }

 private:
  void remark(const ClientServer& server, const std::string& text) {
    out_.remarks.push_back(fmt::format("server '{}': {}", config::clip(server.name), text));
  }

  // For Lineward's own file; clients accept any name.
  void name_servers() {
    std::vector<std::string> written;
    for (const ClientServer& server : servers_)
      written.push_back(server.name);
    const std::vector<std::string> names = config::server_names(written);
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i] == written[i]) continue;
      remark(servers_[i],
             fmt::format("it is called '{}' here: names have 1 to 64 of A-Z a-z 0-9 _ -", names[i]));
      servers_[i].name = names[i];
    }
  }

  void leave_own() {
    if (const std::string left = left_own(file_.own); !left.empty()) out_.remarks.push_back(left);
    if (file_.inputs.kind == NodeKind::sequence && to_ != Form::vscode)
      out_.remarks.push_back(fmt::format("{} does not ask for inputs; they are left out", product(to_)));
  }

  // Remarks name the position, never the value, which may contain a secret besides the variable.
  std::string spelled(const ClientServer& server, std::string_view text, const std::string& where) {
    if (traits_.variables == Variables::all) return std::string(text);
    std::string out;
    for (size_t at = 0; at < text.size();) {
      if (text.substr(at, 3) == "$${") {
        if (traits_.variables != Variables::none)
          remark(server, fmt::format("{}: {} has no way to write ${{ as text, and may replace it", where,
                                     product(to_)));
        out += "${";
        at += 3;
        continue;
      }
      if (to_ == Form::gemini && text[at] == '$' && is_name(text.substr(at + 1, 1)))
        remark(server, fmt::format("{}: Gemini CLI replaces $NAME too, not only ${{NAME}}", where));
      const size_t end = text.substr(at, 2) == "${" ? text.find('}', at) : std::string_view::npos;
      if (end == std::string_view::npos) {
        out += text[at++];
        continue;
      }
      out += one_variable(server, text.substr(at + 2, end - at - 2), where);
      at = end + 1;
    }
    return out;
  }

  std::string one_variable(const ClientServer& server, std::string_view inner, const std::string& where) {
    std::string as_it_is = "${" + std::string(inner) + "}";
    const Variable found = variable_in(inner);
    const std::string name(found.name);
    if (!name.empty() && traits_.variables != Variables::none) {
      if (traits_.variables == Variables::shell_defaults)
        return "${" + name + (found.otherwise ? ":-" + std::string(*found.otherwise) : "") + "}";
      if (found.otherwise)
        remark(server,
               fmt::format("{}: {} knows no default for ${{{}}}; it is left out", where, product(to_), name));
      return "${env:" + name + "}";
    }
    const bool editor = traits_.variables == Variables::env || traits_.variables == Variables::inputs;
    if (editor && is_editor_word(inner)) return as_it_is;
    if (inner.substr(0, 6) == "input:" && traits_.variables == Variables::inputs) return as_it_is;
    // The text after the colon may be a secret.
    const size_t colon = std::min(inner.find(':'), inner.size());
    const std::string shown = name.empty() ? fmt::format("${{{}{}}}", config::clip(inner.substr(0, colon)),
                                                         colon < inner.size() ? ":…" : "")
                                           : "${env:" + name + "}";
    remark(server, fmt::format("{}: {} does not replace {}; its server would get this text as it is", where,
                               product(to_), shown));
    return as_it_is;
  }

  ClientServer::Pairs spelled(const ClientServer& server, const ClientServer::Pairs& pairs,
                              const char* where) {
    ClientServer::Pairs out;
    for (const auto& [key, value] : pairs)
      out.emplace_back(key, spelled(server, value, fmt::format("{}.{}", where, config::clip(key))));
    return out;
  }

  std::vector<std::string> spelled(const ClientServer& server, const std::vector<std::string>& texts,
                                   const char* where) {
    std::vector<std::string> out;
    out.reserve(texts.size());
    for (const std::string& text : texts)
      out.push_back(spelled(server, text, where));
    return out;
  }

  // Reports features that this form lacks; false: the server is left out.
  bool check(ClientServer& server) {
    if (server.command.empty() && server.url.empty()) {
      remark(server, "it has no command and no url, and is left out");
      return false;
    }
    if (server.disabled && traits_.disabled.empty()) {
      remark(server, fmt::format("it is disabled, which cannot be said to {}: it is left out", product(to_)));
      return false;
    }
    if (!server.url.empty() && server.type == "sse" && to_ == Form::codex) {
      remark(server, "Codex does not speak HTTP+SSE; it is left out");
      return false;
    }
    if (!server.cwd.empty() && !traits_.cwd) leave(server, "cwd", server.cwd);
    if (!server.env_file.empty() && !traits_.env_file) leave(server, "envFile", server.env_file);
    if (server.max_duration && traits_.timeout.empty() && to_ != Form::yaml && to_ != Form::codex) {
      leave(server, "timeouts.maxDuration");
      server.max_duration.reset();
    }
    if (server.max_duration && to_ == Form::claude_code && *server.max_duration < kClaudeCodeLeast) {
      remark(server, "Claude Code ignores a timeout of less than a second; timeouts.maxDuration is left out");
      server.max_duration.reset();
    }
    if (server.startup && to_ != Form::yaml && to_ != Form::codex) {
      leave(server, "timeouts.startup");
      server.startup.reset();
    }
    check_tools(server, server.allow, traits_.allow, "tools.allow");
    check_tools(server, server.deny, traits_.deny, "tools.deny");
    if (to_ == Form::yaml) return true;
    if (const std::string left = left_own(server.own); !left.empty()) remark(server, left);
    return true;
  }

  void leave(const ClientServer& server, const char* word) {
    remark(server, fmt::format("{} cannot be said to {}, and is left out", word, product(to_)));
  }
  void leave(const ClientServer& server, const char* word, std::string& text) {
    leave(server, word);
    text.clear();
  }

  void check_tools(const ClientServer& server, std::vector<std::string>& names, std::string_view word,
                   const char* ours) {
    if (names.empty()) return;
    if (word.empty()) {
      leave(server, ours);
      names.clear();
      return;
    }
    const bool glob = std::any_of(names.begin(), names.end(), [](const std::string& one) {
      return one.find_first_of("*?") != std::string::npos;
    });
    if (glob && !traits_.globs)
      remark(server, fmt::format("{}: {} takes names and no patterns; those with * and ? match nothing there",
                                 ours, product(to_)));
  }

  // ---- JSON and YAML ----

  void write_tree() {
    Node servers;
    servers.kind = NodeKind::mapping;
    for (ClientServer& server : servers_) {
      if (!check(server)) continue;
      Node node;
      node.kind = NodeKind::mapping;
      if (server.url.empty()) {
        command_members(node, server);
      } else if (to_ == Form::claude) {
        through_stdio(node, server);
      } else {
        url_members(node, server);
      }
      rest_members(node, server);
      add_member(servers, server.name, std::move(node));
    }
    Node root;
    root.kind = NodeKind::mapping;
    const bool ours = to_ == Form::yaml || to_ == Form::mcp_servers;
    if (ours) root.members = file_.own;
    if ((ours || to_ == Form::vscode) && file_.inputs.kind == NodeKind::sequence)
      add_member(root, "inputs", file_.inputs);
    add_member(root, to_ == Form::vscode ? "servers" : "mcpServers", std::move(servers));
    out_.text = to_ == Form::yaml ? yaml_text(root) : json_text(root);
  }

  void command_members(Node& node, const ClientServer& server) {
    if (to_ == Form::vscode || to_ == Form::claude_code) add_member(node, "type", text_node("stdio"));
    add_text(node, "command", spelled(server, server.command, "command"));
    if (!server.args.empty()) add_member(node, "args", list_node(spelled(server, server.args, "args")));
    if (!server.env.empty()) add_member(node, "env", map_node(spelled(server, server.env, "env")));
    add_text(node, "envFile", spelled(server, server.env_file, "envFile"));
    add_text(node, "cwd", spelled(server, server.cwd, "cwd"));
  }

  void url_members(Node& node, const ClientServer& server) {
    const bool typed = to_ == Form::vscode || to_ == Form::claude_code || to_ == Form::gemini ||
                       ((to_ == Form::yaml || to_ == Form::mcp_servers) && !server.type.empty());
    if (typed) add_member(node, "type", text_node(server.type.empty() ? "http" : server.type));
    add_text(node, "url", spelled(server, server.url, "url"));
    if (!server.headers.empty())
      add_member(node, "headers", map_node(spelled(server, server.headers, "headers")));
  }

  // Claude Desktop's file only has commands: a `lineward stdio` command connects to the url.
  void through_stdio(Node& node, const ClientServer& server) {
    remark(server, "Claude Desktop's file takes commands only; the url is reached by `lineward stdio`");
    std::vector<std::string> args{"stdio", server.url};
    Node env;
    env.kind = NodeKind::mapping;
    for (size_t i = 0; i < server.headers.size(); ++i) {
      // A header's value must not be an argument: arguments are visible to all users.
      const std::string variable = fmt::format("MCP_HEADER_{}", i + 1);
      const auto& [key, value] = server.headers[i];
      args.emplace_back("-H");
      args.push_back(fmt::format("{}: ${{env:{}}}", key, variable));
      // The variable is generated: a remark about its value must name the header.
      const std::string where = "headers." + config::clip(key);
      const size_t remarks = out_.remarks.size();
      add_member(env, variable, text_node(spelled(server, value, where)));
      if (out_.remarks.size() != remarks)
        remark(server, fmt::format("{}: write its value into env as {}", where, variable));
    }
    add_member(node, "command", text_node("lineward"));
    add_member(node, "args", list_node(args));
    if (!env.members.empty()) add_member(node, "env", std::move(env));
  }

  void rest_members(Node& node, const ClientServer& server) {
    if (server.max_duration && !traits_.timeout.empty())
      add_member(node, std::string(traits_.timeout), word_node(std::to_string(server.max_duration->count())));
    if (to_ == Form::gemini) {
      if (!server.allow.empty()) add_member(node, "includeTools", list_node(server.allow));
      if (!server.deny.empty()) add_member(node, "excludeTools", list_node(server.deny));
    }
    if (server.disabled) add_member(node, "disabled", word_node("true"));
    if (to_ != Form::yaml) return;
    Node timeouts = own(server, "timeouts");
    if (server.startup) add_member(timeouts, "startup", word_node(config::format_duration(*server.startup)));
    if (server.max_duration)
      add_member(timeouts, "maxDuration", word_node(config::format_duration(*server.max_duration)));
    // A limit per attempt must not exceed the total limit.
    if (server.max_duration && *server.max_duration < milliseconds(60000) &&
        timeouts.find("request") == nullptr)
      add_member(timeouts, "request", word_node(config::format_duration(*server.max_duration)));
    if (!timeouts.members.empty()) add_member(node, "timeouts", std::move(timeouts));
    Node tools = own(server, "tools");
    if (!server.allow.empty()) add_member(tools, "allow", list_node(server.allow));
    if (!server.deny.empty()) add_member(tools, "deny", list_node(server.deny));
    if (!tools.members.empty()) add_member(node, "tools", std::move(tools));
    for (const Member& member : server.own) {
      if (member.key != "timeouts" && member.key != "tools") node.members.push_back(member);
    }
  }

  static Node own(const ClientServer& server, std::string_view key) {
    Node out;
    for (const Member& member : server.own) {
      if (member.key == key) out = member.value;
    }
    out.kind = NodeKind::mapping;
    return out;
  }

  // ---- TOML ----

  void write_codex() {
    for (ClientServer& server : servers_) {
      if (!check(server)) continue;
      const std::string table = "mcp_servers." + toml_key(server.name);
      std::string& out = out_.text;
      out += fmt::format("{}[{}]\n", out.empty() ? "" : "\n", table);
      server.url.empty() ? codex_command(server, table) : codex_url(server, table);
    }
  }

  void line(const char* key, const std::string& value) { out_.text += fmt::format("{} = {}\n", key, value); }
  void line(const char* key, const std::vector<std::string>& values) {
    std::string list;
    for (const std::string& value : values)
      list += (list.empty() ? "" : ", ") + toml_string(value);
    if (!values.empty()) line(key, "[" + list + "]");
  }
  void table(const std::string& name, const ClientServer::Pairs& pairs) {
    if (pairs.empty()) return;
    out_.text += fmt::format("\n[{}]\n", name);
    for (const auto& [key, value] : pairs)
      out_.text += fmt::format("{} = {}\n", toml_key(key), toml_string(value));
  }
  static std::string seconds(milliseconds time) {
    return time.count() % 1000 == 0 ? std::to_string(time.count() / 1000)
                                    : fmt::format("{}.{:03}", time.count() / 1000, time.count() % 1000);
  }
  void codex_rest(const ClientServer& server) {
    if (server.startup) line("startup_timeout_sec", seconds(*server.startup));
    if (server.max_duration) line("tool_timeout_sec", seconds(*server.max_duration));
    line("enabled_tools", server.allow);
    line("disabled_tools", server.deny);
    if (server.disabled) line("enabled", "false");
  }

  void codex_command(const ClientServer& server, const std::string& name) {
    line("command", toml_string(spelled(server, server.command, "command")));
    line("args", spelled(server, server.args, "args"));
    if (!server.cwd.empty()) line("cwd", toml_string(spelled(server, server.cwd, "cwd")));
    std::vector<std::string> passed;
    ClientServer::Pairs given;
    for (const auto& pair : server.env)
      only_variable(pair.second) == pair.first ? passed.push_back(pair.first) : given.push_back(pair);
    line("env_vars", passed);
    codex_rest(server);
    table(name + ".env", spelled(server, given, "env"));
  }

  void codex_url(const ClientServer& server, const std::string& name) {
    line("url", toml_string(spelled(server, server.url, "url")));
    ClientServer::Pairs given, named;
    for (const auto& [key, value] : server.headers) {
      constexpr std::string_view kBearer = "Bearer ";
      const bool bearer = ::strcasecmp(key.c_str(), "Authorization") == 0 && value.rfind(kBearer, 0) == 0;
      const std::string_view token =
          bearer ? only_variable(std::string_view(value).substr(kBearer.size())) : "";
      if (!token.empty()) {
        line("bearer_token_env_var", toml_string(token));
      } else if (const std::string_view variable = only_variable(value); !variable.empty()) {
        named.emplace_back(key, variable);
      } else {
        given.emplace_back(key, value);
      }
    }
    codex_rest(server);
    table(name + ".http_headers", spelled(server, given, "headers"));
    table(name + ".env_http_headers", named);
  }

  const ClientFile& file_;
  const Form to_;
  const Traits& traits_;
  std::vector<ClientServer> servers_;
  Adapted out_;
};

}  // namespace

Adapted write_client_file(const ClientFile& file, Form to) {
  return Writer(file, to).write();
}

}  // namespace lineward::config_formats
