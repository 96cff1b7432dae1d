#include "config/reader/variables.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "config/identity_words.h"
#include "config/options/options.h"
#include "config/options/read_value.h"
#include "config/plugin_values.h"
#include "config/secrets.h"
#include "foundation/base/regular_file.h"

namespace lineward::config {
namespace {

constexpr size_t kMaxSecretFile = 64 * 1024;
// The path prefix of systemd credentials; the only variable allowed in a path.
constexpr std::string_view kCredentials = "$CREDENTIALS_DIRECTORY/";

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool is_env_name(std::string_view name) {
  return !name.empty() && !(name[0] >= '0' && name[0] <= '9') &&
         std::all_of(name.begin(), name.end(), is_name_char);
}

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (text.substr(0, prefix.size()) != prefix) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::string input_name(std::string_view id) {
  std::string name = "LINEWARD_INPUT_";
  for (char c : id) {
    if (c >= 'a' && c <= 'z') {
      name += static_cast<char>(c - 'a' + 'A');
    } else {
      name += is_name_char(c) ? c : '_';
    }
  }
  return name;
}

class Expander {
 public:
  Expander(const VariableSources& sources, Expansion& out) : sources_(sources), out_(out) {}

  void run(std::string_view text) {
    while (!text.empty()) {
      if (take_prefix(text, "$${")) {
        out_.text += "${";
      } else if (text.substr(0, 2) == "${") {
        text = variable(text);
      } else {
        bool dollar =
            text[0] == '$' && text.size() > 1 && is_name_char(text[1]) && !(text[1] >= '0' && text[1] <= '9');
        out_.bare_dollar = out_.bare_dollar || dollar;
        add(text.substr(0, 1));
        text.remove_prefix(1);
      }
    }
  }

 private:
  // No text may look like the marks of a word.
  void add(std::string_view text) {
    const bool marked =
        text.find(kWordBegin) != std::string_view::npos || text.find(kWordEnd) != std::string_view::npos;
    if (sources_.words && marked) return fault("bad-variable", "this value holds a control character", "");
    out_.text += text;
  }

  void about_caller(std::string_view word) {
    if (!sources_.words) {
      return fault("misplaced-word", fmt::format("${{{}}} is about the caller of a request", clip(word)),
                   "it can stand in headers, meta and env of a server");
    }
    if (const std::string_view why = word_fault(word); !why.empty())
      return fault("unknown-word", fmt::format("${{{}}} says nothing about a caller", clip(word)),
                   std::string(why));
    out_.text += kWordBegin;
    out_.text += word;
    out_.text += kWordEnd;
  }

  std::string_view variable(std::string_view text) {
    size_t end = text.find('}');
    if (end == std::string_view::npos) {
      fault("bad-variable", "a ${ has no closing brace", "write $${ for the characters themselves");
      out_.text += text;
      return {};
    }
    out_.replaced = true;
    whole_ = text.substr(0, end + 1);
    replace(text.substr(2, end - 2));
    return text.substr(end + 1);
  }

  void replace(std::string_view body) {
    if (is_about_caller(body)) return about_caller(body);
    if (take_prefix(body, "file:")) return file(body);
    if (body == "workspaceFolder") {
      out_.text += sources_.directory;
      return;
    }
    if (body == "pathSeparator" || body == "/") {
      out_.text += '/';
      return;
    }
    if (body == "userHome") body = "HOME";
    bool input = take_prefix(body, "input:");
    if (!input) take_prefix(body, "env:");
    size_t dash = body.find(":-");
    std::string_view name = body.substr(0, dash);
    if (input ? name.empty() : !is_env_name(name)) {
      // Not quoted: it may be a secret that only looks like a variable.
      return fault("bad-variable", "what stands in a ${…} is not the name of a variable",
                   "write ${env:NAME}, ${NAME:-default} or ${file:/path}");
    }
    std::string env_name = input ? input_name(name) : std::string(name);
    std::optional<std::string> value = sources_.env ? sources_.env(env_name) : std::nullopt;
    if (!value && !input && dash == std::string_view::npos && sources_.own && sources_.own(name)) {
      out_.text += whole_;
      out_.left.push_back(std::move(env_name));
      return;
    }
    out_.variables.push_back(env_name);
    // As in a shell, the default of :- also replaces an empty value.
    if (value && !value->empty() && !is_harmless(env_name, *value)) out_.secrets.push_back(*value);
    if (dash != std::string_view::npos && (!value || value->empty()))
      value = std::string(body.substr(dash + 2));
    if (value) {
      add(*value);
    } else if (input) {
      fault("missing-variable", fmt::format("the input '{}' has no value", clip(name)),
            fmt::format("set {}", env_name));
    } else {
      fault("missing-variable", fmt::format("the variable {} is not set", env_name),
            fmt::format("set it, or write ${{{}:-default}}", env_name));
    }
  }

  void file(std::string_view path) {
    if (!sources_.read_files) return fault("missing-file", "files are not read here", "");
    std::string credential;
    if (take_prefix(path, kCredentials)) {
      const auto folder = sources_.env ? sources_.env("CREDENTIALS_DIRECTORY") : std::nullopt;
      if (!folder || folder->empty())
        return fault("missing-variable", "the variable CREDENTIALS_DIRECTORY is not set",
                     "systemd sets it for a unit that has LoadCredential=");
      credential = *folder + "/" + std::string(path);
      path = credential;
    }
    Result<std::string> text = read_small_file(resolve_path(path, sources_.directory), kMaxSecretFile);
    if (!text) return fault("missing-file", fmt::format("${{file:}}: {}", text.error().text), "");
    std::string_view content = *text;
    if (!content.empty() && content.back() == '\n') content.remove_suffix(1);
    if (!content.empty() && content.back() == '\r') content.remove_suffix(1);
    if (content.find('\0') != std::string_view::npos) {
      return fault("missing-file", fmt::format("${{file:}}: {} is not text", clip(path)), "");
    }
    if (!content.empty()) out_.secrets.emplace_back(content);
    add(content);
  }

  void fault(std::string code, std::string message, std::string hint) {
    out_.faults.push_back({.code = std::move(code), .message = std::move(message), .hint = std::move(hint)});
  }

  const VariableSources& sources_;
  Expansion& out_;
  std::string_view whole_;  // the ${…} being expanded
};

std::string_view trim(std::string_view text) {
  size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// The value of one line: 'as it stands', "with \n \" \\", or bare up to a comment.
bool unquote(std::string_view raw, std::string& out) {
  if (raw.empty() || (raw[0] != '"' && raw[0] != '\'')) {
    size_t comment = raw.find(" #");
    out = trim(raw.substr(0, comment));
    return true;
  }
  char quote = raw[0];
  size_t at = 1;
  for (; at < raw.size() && raw[at] != quote; ++at) {
    if (quote == '"' && raw[at] == '\\' && at + 1 < raw.size()) {
      ++at;
      out += raw[at] == 'n' ? '\n' : raw[at] == 't' ? '\t' : raw[at];
    } else {
      out += raw[at];
    }
  }
  if (at == raw.size()) return false;
  std::string_view rest = trim(raw.substr(at + 1));
  return rest.empty() || rest[0] == '#';
}

}  // namespace

Expansion expand(std::string_view text, const VariableSources& sources) {
  Expansion out;
  Expander(sources, out).run(text);
  return out;
}

std::string resolve_path(std::string_view path, const std::string& directory) {
  if (path.empty() || path[0] == '/' || directory.empty()) return std::string(path);
  return fmt::format("{}/{}", directory, without_here(path));
}

Result<std::string> read_small_file(const std::string& path, size_t limit, bool* not_permitted) {
  if (path != "-") {
    auto text = read_regular_file(path, limit);
    if (text) return text;
    if (not_permitted != nullptr) *not_permitted = errno == EACCES || errno == EPERM;
    return Unexpected<Error>{
        Error{fmt::format("{}: {}", clip(path), text.error().text), false, text.error().code}};
  }
  std::string text;
  char buffer[16 * 1024];
  ssize_t got = 0;
  int error = 0;
  while (text.size() <= limit) {
    got = read(STDIN_FILENO, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) error = errno;
    if (got <= 0) break;
    text.append(buffer, static_cast<size_t>(got));
  }
  if (error != 0) return fail(fmt::format("{}: {}", clip(path), std::strerror(error)));
  if (text.size() > limit) return fail(fmt::format("{}: larger than {} bytes", clip(path), limit));
  return text;
}

Result<std::vector<EnvLine>> parse_env_file(std::string_view text) {
  std::vector<EnvLine> lines;
  for (int number = 1; !text.empty(); ++number) {
    size_t end = text.find('\n');
    std::string_view line = trim(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.empty() || line[0] == '#') continue;
    if (take_prefix(line, "export ")) line = trim(line);
    size_t equals = line.find('=');
    EnvLine entry;
    bool named = equals != std::string_view::npos && is_env_name(trim(line.substr(0, equals)));
    if (!named || !unquote(trim(line.substr(equals + 1)), entry.value) ||
        entry.value.find('\0') != std::string::npos) {
      return fail(fmt::format("line {} is not NAME=value", number));
    }
    entry.name = trim(line.substr(0, equals));
    lines.push_back(std::move(entry));
  }
  return lines;
}

}  // namespace lineward::config
