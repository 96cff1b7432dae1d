#include "operate/config_formats/toml.h"

#include <fmt/format.h>

#include <algorithm>

#include "foundation/json/json_scan.h"
#include "operate/config_formats/tree_text.h"

namespace lineward::config_formats {
namespace {

using config::NodeKind;

constexpr int kMaxDepth = 32;
constexpr size_t kMaxKeys = 16;  // in one dotted name
// Limit of one table: each key is compared with those before it.
constexpr size_t kMaxMembers = 4096;

bool is_bare(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

void put_utf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (code >> 18));
    out += static_cast<char>(0x80 | ((code >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

class Toml {
 public:
  explicit Toml(std::string_view text) : text_(text) { root_.kind = NodeKind::mapping; }

  Result<Node> read() {
    Node* table = &root_;
    for (;;) {
      skip_empty();
      if (at_ == text_.size()) break;
      if (peek() == '[') {
        table = header();
      } else if (!pair(*table, 0)) {
        table = nullptr;
      }
      if (table == nullptr || !end_of_line()) return fail(fmt::format("line {}: {}", line_, fault_));
    }
    return std::move(root_);
  }

 private:
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  void next() {
    if (text_[at_] == '\n') ++line_;
    ++at_;
  }
  bool wrong(const char* what) {
    if (fault_.empty()) fault_ = what;
    return false;
  }
  void skip_blanks() {
    while (peek() == ' ' || peek() == '\t')
      ++at_;
  }
  void skip_comment() {
    if (peek() != '#') return;
    while (at_ < text_.size() && peek() != '\n')
      ++at_;
  }
  void skip_empty() {
    for (;;) {
      skip_blanks();
      skip_comment();
      if (peek() == '\r' && peek(1) == '\n') ++at_;
      if (at_ == text_.size() || peek() != '\n') return;
      next();
    }
  }
  bool end_of_line() {
    skip_blanks();
    skip_comment();
    if (peek() == '\r') ++at_;
    if (at_ == text_.size()) return true;
    if (peek() != '\n') return wrong("something stands behind the value");
    next();
    return true;
  }

  bool key(std::vector<std::string>& out) {
    for (;;) {
      skip_blanks();
      std::string part;
      if (peek() == '"' || peek() == '\'') {
        if (!string(part)) return false;
      } else {
        while (is_bare(peek()))
          part += text_[at_++];
        if (part.empty()) return wrong("a key is missing");
      }
      out.push_back(std::move(part));
      if (out.size() > kMaxKeys) return wrong("a key has too many parts");
      skip_blanks();
      if (peek() != '.') return true;
      ++at_;
    }
  }

  // The table of that name within another one; for an array of tables, its last element.
  Node* enter(Node& in, const std::string& name) {
    auto found = std::find_if(in.members.begin(), in.members.end(),
                              [&](const Member& member) { return member.key == name; });
    if (found == in.members.end()) {
      if (in.members.size() >= kMaxMembers) {
        wrong("a table has more than 4096 keys");
        return nullptr;
      }
      Node table;
      table.kind = NodeKind::mapping;
      add_member(in, name, std::move(table));
      in.members.back().line = line_;
      return &in.members.back().value;
    }
    Node* value = &found->value;
    if (value->kind == NodeKind::sequence && !value->items.empty()) value = &value->items.back();
    if (value->kind == NodeKind::mapping) return value;
    wrong("a key is a value and a table");
    return nullptr;
  }

  Node* header() {
    const bool many = peek(1) == '[';
    at_ += many ? 2 : 1;
    std::vector<std::string> name;
    if (!key(name)) return nullptr;
    if (peek() != ']' || (many && peek(1) != ']')) {
      wrong("the name of a table does not end with ]");
      return nullptr;
    }
    at_ += many ? 2 : 1;
    Node* table = &root_;
    const size_t tables = many ? name.size() - 1 : name.size();
    for (size_t i = 0; i < tables && table != nullptr; ++i)
      table = enter(*table, name[i]);
    if (!many || table == nullptr) return table;
    auto found = std::find_if(table->members.begin(), table->members.end(),
                              [&](const Member& member) { return member.key == name.back(); });
    if (found == table->members.end()) {
      Node list;
      list.kind = NodeKind::sequence;
      add_member(*table, name.back(), std::move(list));
      found = table->members.end() - 1;
    }
    if (found->value.kind != NodeKind::sequence) {
      wrong("a key is a value and an array of tables");
      return nullptr;
    }
    found->value.items.emplace_back();
    found->value.items.back().kind = NodeKind::mapping;
    return &found->value.items.back();
  }

  bool pair(Node& table, int depth) {
    std::vector<std::string> name;
    const int line = line_;
    if (!key(name)) return false;
    if (peek() != '=') return wrong("a key has no = behind it");
    ++at_;
    Node* in = &table;
    for (size_t i = 0; i + 1 < name.size() && in != nullptr; ++i)
      in = enter(*in, name[i]);
    if (in == nullptr) return false;
    Node read;
    if (!value(read, depth + 1)) return false;
    if (in->find(name.back()) != nullptr) return wrong("a key stands twice in one table");
    if (in->members.size() >= kMaxMembers) return wrong("a table has more than 4096 keys");
    add_member(*in, name.back(), std::move(read));
    in->members.back().line = line;
    return true;
  }

  bool value(Node& out, int depth) {
    skip_blanks();
    if (depth > kMaxDepth) return wrong("nested too deep");
    if (peek() == '"' || peek() == '\'') {
      std::string text;
      if (!string(text)) return false;
      out = text_node(text);
      return true;
    }
    if (peek() == '[') return array(out, depth);
    if (peek() == '{') return inline_table(out, depth);
    std::string word;
    while (is_bare(peek()) || peek() == '+' || peek() == '.' || peek() == ':')
      word += text_[at_++];
    if (word.empty()) return wrong("a value is missing");
    std::erase(word, '_');
    out = word_node(word);
    return true;
  }

  bool array(Node& out, int depth) {
    out.kind = NodeKind::sequence;
    ++at_;
    for (;;) {
      skip_empty();
      if (peek() == ']') break;
      Node item;
      if (!value(item, depth + 1)) return false;
      out.items.push_back(std::move(item));
      skip_empty();
      if (peek() == ',') {
        ++at_;
      } else if (peek() != ']') {
        return wrong("an array does not end with ]");
      }
    }
    ++at_;
    return true;
  }

  bool inline_table(Node& out, int depth) {
    out.kind = NodeKind::mapping;
    ++at_;
    skip_empty();
    while (peek() != '}') {
      if (!pair(out, depth)) return false;
      skip_empty();
      if (peek() == ',') {
        ++at_;
        skip_empty();
      } else if (peek() != '}') {
        return wrong("an inline table does not end with }");
      }
    }
    ++at_;
    return true;
  }

  bool string(std::string& out) {
    const char quote = peek();
    const bool many = peek(1) == quote && peek(2) == quote;
    if (!many && peek(1) == quote) {
      at_ += 2;
      return true;
    }
    at_ += many ? 3 : 1;
    if (many && peek() == '\r' && peek(1) == '\n') ++at_;
    if (many && peek() == '\n') next();
    for (;;) {
      if (at_ == text_.size()) return wrong("a string does not end");
      const char c = peek();
      if (c == quote && (!many || (peek(1) == quote && peek(2) == quote))) break;
      if (c == '\n' && !many) return wrong("a string does not end on its line");
      if (c == '\\' && quote == '"') {
        if (!escape(out, many)) return false;
        continue;
      }
      out += c;
      next();
    }
    at_ += many ? 3 : 1;
    // Up to two more quotes are its last characters.
    for (int i = 0; many && i < 2 && peek() == quote; ++i, ++at_)
      out += quote;
    return true;
  }

  bool escape(std::string& out, bool many) {
    ++at_;
    const char c = peek();
    if (many && (c == '\n' || c == ' ' || c == '\t' || c == '\r')) {
      while (at_ < text_.size() && (peek() == '\n' || peek() == ' ' || peek() == '\t' || peek() == '\r'))
        next();
      return true;
    }
    constexpr std::string_view kShort = "btnfr\"\\";
    constexpr std::string_view kMeant = "\b\t\n\f\r\"\\";
    if (const size_t known = kShort.find(c); c != '\0' && known != std::string_view::npos) {
      out += kMeant[known];
      ++at_;
      return true;
    }
    const size_t digits = c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (digits == 0) return wrong("a string has an escape that there is none of");
    ++at_;
    uint32_t code = 0;
    for (size_t i = 0; i < digits; ++i, ++at_) {
      const char d = peek();
      const int digit = d >= '0' && d <= '9'   ? d - '0'
                        : d >= 'a' && d <= 'f' ? d - 'a' + 10
                        : d >= 'A' && d <= 'F' ? d - 'A' + 10
                                               : -1;
      if (digit < 0) return wrong("a string has an escape that there is none of");
      code = code * 16 + static_cast<uint32_t>(digit);
    }
    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
      return wrong("a string has an escape of no character");
    put_utf8(out, code);
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
  std::string fault_;
  Node root_;
};

}  // namespace

Result<config::Node> parse_toml(std::string_view text) {
  if (text.size() > config::kMaxDocumentBytes) return fail("a configuration has at most 1 MiB");
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  return Toml(text).read();
}

std::string toml_key(std::string_view key) {
  const bool bare = !key.empty() && std::all_of(key.begin(), key.end(), is_bare);
  return bare ? std::string(key) : toml_string(key);
}

// JSON escapes are valid TOML escapes, except for the slash, which is never escaped here.
std::string toml_string(std::string_view text) {
  std::string out = json::quote(text);
  return out;
}

}  // namespace lineward::config_formats
