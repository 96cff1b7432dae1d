#include "config/reader/secrets.h"

#include <algorithm>
#include <array>

#include "config/options/names.h"

namespace lineward::config {
namespace {

constexpr int kEndOfLine = 1 << 20;

void collect(const Node& node, bool secret, std::vector<SecretSpan>& spans) {
  bool scalar = node.kind == NodeKind::scalar || (node.kind == NodeKind::null && !node.text.empty());
  if (secret && scalar) {
    spans.push_back({node.line, node.column, node.end_line, node.end_column});
  }
  for (const Node& item : node.items)
    collect(item, secret, spans);
  for (const Member& member : node.members)
    collect(member.value, secret || is_secret_key(member.key), spans);
}

// Columns count characters.
int columns(std::string_view bytes) {
  return static_cast<int>(std::count_if(
      bytes.begin(), bytes.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

// The byte behind the colon of a secret name in this line, or npos.
size_t behind_secret_key(std::string_view line) {
  for (size_t colon = line.find(':'); colon != std::string_view::npos; colon = line.find(':', colon + 1)) {
    size_t end = line.find_last_not_of(" \t\"'", colon == 0 ? 0 : colon - 1);
    if (end == std::string_view::npos || end >= colon) continue;
    size_t start = line.find_last_of(" \t\"'{,[", end);
    start = start == std::string_view::npos ? 0 : start + 1;
    if (is_secret_key(line.substr(start, end - start + 1))) return colon + 1;
  }
  return std::string_view::npos;
}

// Tracks braces opened before `text`. Returns the byte behind the closing one, or npos.
size_t leave_braces(std::string_view text, size_t at, int& depth, char& quote) {
  for (; at < text.size(); ++at) {
    char c = text[at];
    if (quote != 0) {
      if (c == '\\' && quote == '"') {
        ++at;
      } else if (c == quote) {
        quote = 0;
      }
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && --depth <= 0) {
      return at + 1;
    }
  }
  return std::string_view::npos;
}

// Walks the lines; a secret part lies either between braces or below an indentation.
class Guess {
 public:
  std::vector<SecretSpan> spans;

  void line(std::string_view text, int number) {
    number_ = number;
    size_t at = 0;
    if (depth_ > 0) {
      at = leave_braces(text, 0, depth_, quote_);
      hide(text, 0, at);
      if (at == std::string_view::npos) return;
    }
    size_t indent = text.find_first_not_of(" \t");
    if (indent == std::string_view::npos) return;
    // A tab, though invalid, is meant as indentation.
    bool deeper = indent > below_ || text.substr(0, indent).find('\t') != std::string_view::npos;
    if (below_ != std::string_view::npos && deeper) return hide(text, indent, text.size());
    below_ = std::string_view::npos;
    size_t key = behind_secret_key(text.substr(at));
    if (key != std::string_view::npos) open(text, at + key, indent);
  }

 private:
  void open(std::string_view text, size_t at, size_t indent) {
    size_t first = text.find_first_not_of(" \t", at);
    hide(text, at, text.size());
    if (first != std::string_view::npos && (text[first] == '{' || text[first] == '[')) {
      quote_ = 0;
      depth_ = 0;
      if (leave_braces(text, first, depth_, quote_) != std::string_view::npos) depth_ = 0;
    } else {
      below_ = indent;
    }
  }

  void hide(std::string_view text, size_t from, size_t to) {
    int last = to >= text.size() ? kEndOfLine : columns(text.substr(0, to)) + 1;
    spans.push_back({number_, columns(text.substr(0, from)) + 1, number_, last});
  }

  int number_ = 0;
  int depth_ = 0;
  char quote_ = 0;
  size_t below_ = std::string_view::npos;
};

}  // namespace

bool is_secret_key(std::string_view key) {
  if (key.size() > 64) return false;
  std::string name = normalised(key);
  static constexpr std::array<std::string_view, 8> kParts = {
      "token", "secret", "password", "passwd", "apikey", "authorization", "credential", "proxy"};
  for (std::string_view part : kParts) {
    if (name.find(part) != std::string::npos) return true;
  }
  // A misspelt `env` holds secrets too.
  static const std::vector<std::string_view> kMaps = {"env", "headers", "environment", "envvars",
                                                      "environmentVariables"};
  return !nearest(name, kMaps).empty();
}

std::vector<SecretSpan> find_secrets(const Node& root) {
  std::vector<SecretSpan> spans;
  collect(root, false, spans);
  return spans;
}

std::vector<SecretSpan> guess_secrets(std::string_view text) {
  Guess guess;
  int number = 1;
  while (!text.empty()) {
    size_t end = text.find('\n');
    guess.line(text.substr(0, end), number++);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return std::move(guess.spans);
}

}  // namespace lineward::config
