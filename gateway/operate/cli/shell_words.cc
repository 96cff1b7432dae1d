#include "operate/cli/shell_words.h"

#include <array>

#include "foundation/base/is_among.h"

namespace lineward::cli {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n';
}

std::string_view base_name(std::string_view path) {
  size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool is_runner(std::string_view program) {
  static constexpr std::array<std::string_view, 16> kRunners = {
      "npx",  "npm", "pnpm", "pnpx", "yarn", "bun", "bunx",   "node",
      "deno", "uv",  "uvx",  "pipx", "tsx",  "env", "poetry", "sudo"};
  return is_among(kRunners, program) || program.substr(0, 6) == "python";
}

bool is_runner_verb(std::string_view word) {
  static constexpr std::array<std::string_view, 5> kVerbs = {"run", "exec", "dlx", "x", "tool"};
  return is_among(kVerbs, word);
}

// Image, package or script: the first word that is neither a runner's flag nor its verb.
std::string_view telling_word(const std::vector<std::string>& words) {
  std::string_view program = base_name(words[0]);
  if (program == "docker" || program == "podman") {
    for (size_t i = words.size() - 1; i > 0; --i) {
      if (words[i][0] != '-') return words[i];
    }
    return words[0];
  }
  if (!is_runner(program)) return words[0];
  for (size_t i = 1; i < words.size(); ++i) {
    std::string_view word = words[i];
    bool assignment = program == "env" && word.find('=') != std::string_view::npos;
    if (word.empty() || word[0] == '-' || assignment) continue;
    if (!is_runner_verb(word) && !is_runner(base_name(word))) return word;
  }
  return words[0];
}

void drop_suffix(std::string_view& name, std::string_view suffix) {
  if (name.size() > suffix.size() && name.substr(name.size() - suffix.size()) == suffix)
    name.remove_suffix(suffix.size());
}

void drop_prefix(std::string_view& name, std::string_view prefix) {
  if (name.size() > prefix.size() && name.substr(0, prefix.size()) == prefix)
    name.remove_prefix(prefix.size());
}

std::string clean_name(std::string_view name) {
  constexpr size_t kMaxLength = 64;
  std::string clean;
  for (char c : name.substr(0, kMaxLength)) {
    bool fine =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    clean += fine ? c : '-';
  }
  size_t first = clean.find_first_not_of('-');
  return first == std::string::npos ? "server" : clean.substr(first, clean.find_last_not_of('-') - first + 1);
}

}  // namespace

Result<std::vector<std::string>> split_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool inside = false;  // a word has begun, possibly empty: ""
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    bool escape = c == '\\' && quote != '\'' && i + 1 < text.size();
    // Within double quotes a backslash only escapes these characters.
    if (escape && quote == '"' && text[i + 1] != '"' && text[i + 1] != '\\') escape = false;
    if (escape) {
      word += text[++i];
      inside = true;
    } else if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '"' || c == '\'') {
      quote = c;
      inside = true;
    } else if (!is_blank(c)) {
      word += c;
      inside = true;
    } else if (inside) {
      words.push_back(std::move(word));
      word.clear();
      inside = false;
    }
  }
  if (quote != 0) return fail("a quote is not closed");
  if (inside) words.push_back(std::move(word));
  return words;
}

std::string name_from_command(const std::vector<std::string>& words) {
  if (words.empty() || words[0].empty()) return "server";
  std::string_view name = base_name(telling_word(words));
  size_t version = name.find_first_of("@:=<>[", 1);
  if (version != std::string_view::npos) name = name.substr(0, version);
  for (std::string_view suffix : {".js", ".mjs", ".cjs", ".ts", ".py", ".sh", ".exe"})
    drop_suffix(name, suffix);
  for (std::string_view prefix : {"mcp-server-", "mcp_server_", "server-", "mcp-"})
    drop_prefix(name, prefix);
  for (std::string_view suffix : {"-mcp-server", "_mcp_server", "-mcp", "_mcp"})
    drop_suffix(name, suffix);
  return clean_name(name);
}

std::string name_from_url(std::string_view url) {
  size_t scheme = url.find("://");
  if (url.substr(0, 5) == "unix:" || scheme == std::string_view::npos) return "server";
  std::string_view host = url.substr(scheme + 3);
  host = host.substr(0, host.find_first_of("/?"));
  if (!host.empty() && host.front() == '[') return "server";
  host = host.substr(0, host.find(':'));
  if (host == "localhost" || host.find_first_not_of("0123456789.") == std::string_view::npos) return "server";
  for (std::string_view empty_word : {"www.", "mcp.", "api."})
    drop_prefix(host, empty_word);
  return clean_name(host.substr(0, host.find('.')));
}

}  // namespace lineward::cli
