#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "config/duration.h"
#include "config/options/options.h"
#include "config/options/read_value.h"
#include "operate/config_formats/client_file.h"
#include "operate/config_formats/toml.h"
#include "operate/config_formats/tree_text.h"

namespace lineward::config_formats {
namespace {

using config::NodeKind;
using std::chrono::milliseconds;

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

bool is_true(const Node& node) {
  return node.kind == NodeKind::scalar && node.text == "true";
}

// Settings between a client and its user.
bool is_client_matter(std::string_view key) {
  static constexpr std::array<std::string_view, 20> kWords{"autoApprove",
                                                           "alwaysAllow",
                                                           "alwaysLoad",
                                                           "trust",
                                                           "dev",
                                                           "oauth",
                                                           "oauth_resource",
                                                           "auth",
                                                           "scopes",
                                                           "required",
                                                           "authProviderType",
                                                           "targetAudience",
                                                           "targetServiceAccount",
                                                           "name",
                                                           "description",
                                                           "gallery",
                                                           "version",
                                                           "icon",
                                                           "extension",
                                                           "omit_tools_from"};
  return std::find(kWords.begin(), kWords.end(), key) != kWords.end() || key.substr(0, 7) == "sandbox" ||
         key.substr(0, 7) == "default";
}

// A program that prints headers each time a client connects.
bool is_headers_helper(std::string_view key) {
  return key == "headersHelper" || key == "http_headers_helper";
}

// In clients without variables ${…} is literal text; Lineward would expand it, so it is escaped.
void keep_as_text(Node& node) {
  for (size_t at = node.text.find("${"); at != std::string::npos; at = node.text.find("${", at + 3))
    node.text.insert(at, 1, '$');
  for (Node& item : node.items)
    keep_as_text(item);
  for (Member& member : node.members)
    keep_as_text(member.value);
}

bool has_variable(const Node& node) {
  return node.text.find("${") != std::string::npos ||
         std::any_of(node.items.begin(), node.items.end(), has_variable) ||
         std::any_of(node.members.begin(), node.members.end(),
                     [](const Member& member) { return has_variable(member.value); });
}

bool has_text(const Node& node) {
  return node.kind == NodeKind::scalar;
}

std::vector<std::string> texts_of(const Node& node) {
  std::vector<std::string> out;
  if (has_text(node)) out.push_back(node.text);
  for (const Node& item : node.items) {
    if (has_text(item)) out.push_back(item.text);
  }
  return out;
}

ClientServer::Pairs pairs_of(const Node& node) {
  ClientServer::Pairs out;
  for (const Member& member : node.members) {
    if (has_text(member.value)) out.emplace_back(member.key, member.value.text);
  }
  return out;
}

// Whether it contains values other than texts, which texts_of() and pairs_of() skip.
bool has_more_than_texts(const Node& node) {
  return std::any_of(node.items.begin(), node.items.end(),
                     [](const Node& item) { return !has_text(item); }) ||
         std::any_of(node.members.begin(), node.members.end(),
                     [](const Member& member) { return !has_text(member.value); });
}

// The transport of a url, as clients name it; nullopt for one that Lineward does not support.
std::optional<std::string> transport_named(std::string_view word) {
  if (word == "stdio" || word == "auto") return "";  // a command implies stdio
  if (word == "sse") return "sse";
  static constexpr std::array<std::string_view, 5> kHttp{"http", "https", "streamable-http", "streamableHttp",
                                                         "streamable_http"};
  return std::find(kHttp.begin(), kHttp.end(), word) != kHttp.end() ? std::optional("http") : std::nullopt;
}

// Gemini CLI expands $NAME too.
std::string with_braces(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    if (text[i] != '$' || i + 1 >= text.size()) continue;
    size_t end = i + 1;
    auto word = [&](char c) {
      return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
             (end > i + 1 && c >= '0' && c <= '9');
    };
    while (end < text.size() && word(text[end]))
      ++end;
    if (end == i + 1) continue;
    out += "{" + std::string(text.substr(i + 1, end - i - 1)) + "}";
    i = end - 1;
  }
  return out;
}

class Reader {
 public:
  explicit Reader(ClientFile& file) : file_(file) {}

  void read_servers(const Node& node) {
    for (const Member& member : node.members)
      read_server(member);
  }
  void remark(const std::string& server, std::string_view text) {
    file_.remarks.push_back(fmt::format("server '{}': {}", config::clip(server), text));
  }

 private:
  void read_server(const Member& member) {
    ClientServer server;
    server.name = member.key;
    has_http_url_ = false;
    if (member.value.kind != NodeKind::mapping) {
      if (member.value.kind != NodeKind::null) remark(server.name, "it is no map, and is left out");
      return;
    }
    for (Member one : member.value.members) {
      if (traits(file_.form).variables == Variables::none && has_variable(one.value)) {
        remark(server.name, fmt::format("{} replaces no ${{…}}, so those in {} are kept as text, $${{…}}",
                                        product(file_.form), config::clip(one.key)));
        keep_as_text(one.value);
      }
      if (!read_common(one, server) && !read_codex(one, server) && !read_timing(one, server))
        read_rest(one, server);
    }
    if (file_.form == Form::gemini) replace_dollars(server);
    file_.servers.push_back(std::move(server));
  }

  bool read_common(const Member& one, ClientServer& server) {
    const std::string& key = one.key;
    const Node& value = one.value;
    static constexpr std::array<std::string_view, 5> kTexts{"command", "args", "env", "headers",
                                                            "http_headers"};
    if (std::find(kTexts.begin(), kTexts.end(), key) != kTexts.end() && has_more_than_texts(value))
      remark(server.name, fmt::format("{} has something that is no text, which is left out", key));
    if (key == "command") {
      // Codex and others write the whole command line as one list.
      std::vector<std::string> words = texts_of(value);
      if (!words.empty()) server.command = words.front();
      if (words.size() > 1) server.args.insert(server.args.begin(), words.begin() + 1, words.end());
    } else if (key == "args") {
      for (std::string& word : texts_of(value))
        server.args.push_back(std::move(word));
    } else if (key == "env") {
      for (auto& pair : pairs_of(value))
        server.env.push_back(std::move(pair));
    } else if (key == "envFile") {
      server.env_file = value.text;
    } else if (key == "cwd") {
      server.cwd = value.text;
    } else if (key == "url" || key == "httpUrl" || key == "serverUrl") {
      read_url(one, server);
    } else if (key == "headers" || key == "http_headers") {
      for (auto& pair : pairs_of(value))
        server.headers.push_back(std::move(pair));
    } else if (key == "type" || key == "transportType" || key == "transport") {
      const auto named = transport_named(value.text);
      if (!named) {
        remark(server.name,
               fmt::format("Lineward speaks no {} ({}), which is left out", config::clip(value.text), key));
      }
      if (!has_http_url_) server.type = named.value_or("");
    } else if (key == "disabled") {
      server.disabled = is_true(value);
    } else if (key == "enabled") {
      server.disabled = value.text == "false";
    } else if (key == "includeTools" || key == "enabled_tools") {
      server.allow = texts_of(value);
      // Gemini CLI also accepts "name(arguments)" here for the name.
      if (file_.form == Form::gemini) {
        for (std::string& tool : server.allow)
          tool.resize(std::min(tool.size(), tool.find('(')));
      }
    } else if (key == "excludeTools" || key == "disabled_tools") {
      server.deny = texts_of(value);
    } else {
      return false;
    }
    return true;
  }

  void read_url(const Member& one, ClientServer& server) {
    if (file_.form != Form::gemini) {
      server.url = one.value.text;
      return;
    }
    // If both are given, Gemini CLI uses httpUrl. It tries a bare url as Streamable HTTP first, then as
    // HTTP+SSE.
    const bool old = one.key == "httpUrl";
    if (old || !has_http_url_) server.url = one.value.text;
    if (old) server.type = "http";
    has_http_url_ = has_http_url_ || old;
  }

  bool read_codex(const Member& one, ClientServer& server) {
    if (file_.form != Form::codex) return false;
    if (one.key == "env_vars") {
      for (const Node& item : one.value.items) {
        // A name, or a map with the name and its source.
        const Member* named = item.find("name");
        const std::string& name = named != nullptr ? named->value.text : item.text;
        if (!name.empty()) server.env.emplace_back(name, "${env:" + name + "}");
      }
    } else if (one.key == "tools") {
      remark(server.name, "tools (the client's list of approved tools) is left out");
    } else if (one.key == "bearer_token_env_var") {
      server.headers.emplace_back("Authorization", "Bearer ${env:" + one.value.text + "}");
    } else if (one.key == "env_http_headers") {
      for (const auto& [header, variable] : pairs_of(one.value))
        server.headers.emplace_back(header, "${env:" + variable + "}");
    } else {
      return false;
    }
    return true;
  }

  bool read_timing(const Member& one, ClientServer& server) {
    if (one.key == "timeouts") {
      Member rest = one;
      take_duration(rest.value, "maxDuration", server.max_duration);
      take_duration(rest.value, "startup", server.startup);
      if (!rest.value.members.empty()) server.own.push_back(std::move(rest));
      return true;
    }
    if (one.key == "tool_timeout_sec") return read_seconds(one, server, server.max_duration);
    if (one.key == "startup_timeout_sec") return read_seconds(one, server, server.startup);
    if (one.key == "startup_timeout_ms") return read_milliseconds(one, server, server.startup);
    if (one.key != "timeout") return false;
    const bool in_ms = file_.form == Form::gemini || file_.form == Form::claude_code;
    if (in_ms) {
      read_milliseconds(one, server, server.max_duration);
      if (file_.form == Form::claude_code && server.max_duration && *server.max_duration < kClaudeCodeLeast) {
        remark(server.name, "Claude Code ignores a timeout of less than 1000, and it is left out");
        server.max_duration.reset();
      }
      return true;
    }
    remark(server.name,
           "its timeout has no unit and is left out: Claude Code and Gemini CLI mean milliseconds, Cline and "
           "Roo Code seconds; name the client with --from, or write timeouts.maxDuration");
    return true;
  }

  void take_duration(Node& timeouts, std::string_view key, std::optional<milliseconds>& out) {
    const Member* found = timeouts.find(key);
    auto duration =
        found == nullptr ? Result<milliseconds>(fail("")) : config::parse_duration(found->value.text);
    if (!duration) return;
    out = *duration;
    std::erase_if(timeouts.members, [&](const Member& member) { return member.key == key; });
  }

  bool read_seconds(const Member& one, ClientServer& server, std::optional<milliseconds>& out) {
    auto duration = config::parse_duration(one.value.text + "s");
    if (!duration) return remark(server.name, one.key + " is not a number, and is left out"), true;
    out = *duration;
    return true;
  }

  bool read_milliseconds(const Member& one, ClientServer& server, std::optional<milliseconds>& out) {
    auto duration = config::parse_duration(one.value.text + "ms");
    if (!duration) return remark(server.name, one.key + " is not a number, and is left out"), true;
    out = *duration;
    return true;
  }

  void read_rest(const Member& one, ClientServer& server) {
    if (one.key == "tools" && one.value.kind == NodeKind::mapping) {
      Member rest = one;
      for (auto [key, list] : {std::pair("allow", &server.allow), std::pair("deny", &server.deny)}) {
        if (const Member* found = rest.value.find(key)) *list = texts_of(found->value);
        std::erase_if(rest.value.members, [key = key](const Member& member) { return member.key == key; });
      }
      if (!rest.value.members.empty()) server.own.push_back(std::move(rest));
      return;
    }
    const bool known = one.key == "methods" || config::find_option("mcpServers.*." + one.key) != nullptr ||
                       config::is_group("mcpServers.*." + one.key);
    if (known) {
      server.own.push_back(one);
    } else if (is_headers_helper(one.key)) {
      remark(server.name, fmt::format("{}: Lineward starts no program for headers; it is left out", one.key));
    } else if (is_client_matter(one.key)) {
      remark(server.name, fmt::format("{} is between the client and its user, and is left out", one.key));
    } else {
      remark(server.name, fmt::format("Lineward has nothing for {}; it is left out", config::clip(one.key)));
    }
  }

  static void replace_dollars(ClientServer& server) {
    for (std::string* text : {&server.command, &server.cwd, &server.url})
      *text = with_braces(*text);
    for (std::string& text : server.args)
      text = with_braces(text);
    for (auto* pairs : {&server.env, &server.headers}) {
      for (auto& [key, text] : *pairs)
        text = with_braces(text);
    }
  }

  ClientFile& file_;
  bool has_http_url_ = false;  // of the current server, in a file of Gemini CLI
};

bool is_own_option(std::string_view key) {
  return config::is_group(key) || config::find_option(key) != nullptr;
}

// Guesses the form from the file's words, if its name does not decide.
Form guess(const Node& root, const std::string& name, config::Syntax syntax) {
  if (ends_with(name, "claude_desktop_config.json")) return Form::claude;
  if (ends_with(name, ".mcp.json") || ends_with(name, ".claude.json")) return Form::claude_code;
  if (ends_with(name, ".cursor/mcp.json")) return Form::cursor;
  if (ends_with(name, ".gemini/settings.json")) return Form::gemini;
  const Member* mcp = root.find("mcp");
  // Lineward accepts `servers` too: in YAML, or next to Lineward's own options, the word is Lineward's.
  const bool ours = syntax == config::Syntax::yaml ||
                    std::any_of(root.members.begin(), root.members.end(),
                                [](const Member& member) { return is_own_option(member.key); });
  if (!ours && (root.find("servers") != nullptr || (mcp != nullptr && mcp->value.find("servers") != nullptr)))
    return Form::vscode;
  if (const Member* servers = root.find("mcpServers")) {
    if (mcp != nullptr) return Form::gemini;                         // lists of allowed and excluded servers
    if (root.find("projects") != nullptr) return Form::claude_code;  // ~/.claude.json under another name
    for (const Member& server : servers->value.members) {
      if (server.value.find("httpUrl") != nullptr) return Form::gemini;
    }
  }
  return ends_with(name, ".json") || ends_with(name, ".jsonc") ? Form::mcp_servers : Form::yaml;
}

// Gemini CLI does not start excluded servers, nor any outside of its allow list.
void leave_out(ClientFile& file, const Node& mcp) {
  const auto names = [&](const char* key) {
    const Member* found = mcp.find(key);
    return found == nullptr ? std::vector<std::string>() : texts_of(found->value);
  };
  const auto has = [](const std::vector<std::string>& list, const std::string& name) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  const std::vector<std::string> allowed = names("allowed"), excluded = names("excluded");
  for (ClientServer& server : file.servers) {
    if (has(excluded, server.name) || (!allowed.empty() && !has(allowed, server.name)))
      server.disabled = true;
  }
}

// ~/.claude.json also has servers of single projects.
void tell_of_projects(ClientFile& file, const Node& root) {
  const Member* projects = root.find("projects");
  if (projects == nullptr) return;
  for (const Member& project : projects->value.members) {
    const Member* servers = project.value.find("mcpServers");
    if (servers == nullptr || servers->value.members.empty()) continue;
    file.remarks.push_back(
        fmt::format("the servers of project {} are left out; in a project they are in .mcp.json",
                    config::clip(project.key)));
  }
}

bool looks_like_toml(std::string_view text, const std::string& name) {
  return ends_with(name, ".toml") || text.find("[mcp_servers") != std::string_view::npos;
}

}  // namespace

Result<ClientFile> read_client_file(std::string_view text, const std::string& name,
                                    std::optional<Form> from) {
  ClientFile file;
  Node root;
  const bool toml = from ? *from == Form::codex : looks_like_toml(text, name);
  if (toml) {
    auto read = parse_toml(text);
    if (!read) return fail(fmt::format("{}: {}", name, read.error().text));
    root = std::move(*read);
    file.form = Form::codex;
  } else {
    const config::Syntax syntax =
        from && *from != Form::yaml ? config::Syntax::json : config::syntax_of(name, text);
    config::Document document = config::parse_document(text, syntax);
    if (!document.diagnostics.empty()) {
      const config::Diagnostic& first = document.diagnostics.front();
      return fail(fmt::format("{}:{}:{}: {}", name, first.line, first.column, first.message));
    }
    root = std::move(document.root);
    file.form = from ? *from : guess(root, name, syntax);
  }
  if (root.kind != NodeKind::mapping) return fail(fmt::format("{}: this is no map with servers in it", name));
  const char* word = file.form == Form::codex    ? "mcp_servers"
                     : file.form == Form::vscode ? "servers"
                                                 : "mcpServers";
  const Node* in = &root;
  // VS Code's settings.json has them one level down.
  if (const Member* mcp = root.find("mcp"); mcp != nullptr && file.form == Form::vscode) in = &mcp->value;
  const bool both = file.form == Form::yaml || file.form == Form::mcp_servers;
  const Member* servers = in->find(word);
  if (servers == nullptr) servers = in->find("mcpServers");
  const Member* more = both ? in->find("servers") : nullptr;
  if (servers == nullptr && more == nullptr && file.form != Form::yaml)
    return fail(
        fmt::format("{}: there is no {} in it, as there is in a file of {}", name, word, product(file.form)));
  if (const Member* inputs = in->find("inputs")) file.inputs = inputs->value;
  Reader reader(file);
  if (servers != nullptr) reader.read_servers(servers->value);
  if (more != nullptr) reader.read_servers(more->value);
  if (file.servers.empty())
    file.remarks.push_back(fmt::format("{}: there are no servers in it, below mcpServers or servers", name));
  const Member* mcp = root.find("mcp");
  if (file.form == Form::gemini && mcp != nullptr) leave_out(file, mcp->value);
  if (file.form == Form::claude_code) tell_of_projects(file, root);
  std::string others;
  for (const Member& member : root.members) {
    const bool taken = &member == servers || &member == more || member.key == "inputs" ||
                       member.key == "mcp" || member.key == "$schema";
    if (taken) continue;
    if (file.form == Form::yaml || file.form == Form::mcp_servers) {
      file.own.push_back(member);
    } else {
      others += (others.empty() ? "" : ", ") + config::clip(member.key);
    }
  }
  if (!others.empty())
    file.remarks.push_back(fmt::format("{} is not about servers, and is left out", others));
  return file;
}

}  // namespace lineward::config_formats
