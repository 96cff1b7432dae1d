#include "operate/config_formats/format_yaml.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "config/options/options.h"
#include "config/reader/document.h"

namespace lineward::config_formats {
namespace {

using config::Member;
using config::Node;
using config::NodeKind;

// Beyond this a difference is shown as the whole old and the whole new text.
constexpr size_t kMaxDiffLines = 4000;

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

// A line of the file being sorted. `is_said`: part of a multi-line text, in which blanks and empty lines
// matter.
struct Line {
  std::string text;
  bool is_said = false;
};

size_t indent_of(const std::string& line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

bool is_comment(const std::string& line, size_t indent) {
  return indent_of(line) == indent && indent < line.size() && line[indent] == '#';
}

// `$schema` and global options come first, servers last; plugins keep their order, which matters.
size_t rank_at_top(const std::string& key) {
  if (key == "$schema") return 0;
  const std::vector<std::string_view> groups = config::children("");
  auto found = std::find(groups.begin(), groups.end(), key);
  const size_t place = static_cast<size_t>(found - groups.begin());
  if (key == "defaults") return groups.size() + 2;
  if (key == "mcpServers" || key == "servers") return groups.size() + 3;
  return found == groups.end() ? groups.size() + 1 : place + 1;
}

class Formatter {
 public:
  Formatter(const std::vector<std::string>& lines, const Node& root) {
    for (const std::string& line : lines)
      lines_.push_back({line});
    note_texts(root);
  }

  void sort(const Node& root) {
    // Deeper members are moved first, so that the positions of outer ones stay valid.
    for (const Member& member : root.members) {
      if (member.key == "mcpServers" || member.key == "servers") {
        for (const Member& server : member.value.members)
          sort_groups(server.value, "mcpServers.*");
      } else if (member.key == "defaults") {
        sort_groups(member.value, "mcpServers.*");
      } else if (config::is_group(member.key)) {
        sort_groups(member.value, member.key);
      }
    }
    sort_members(root, [](const std::string& key) { return rank_at_top(key); });
  }
  std::vector<Line> take() { return std::move(lines_); }

 private:
  // For | and >: such a text begins on its own line, and ends at the next node.
  bool is_block_text(const Node& node) const {
    if (node.kind != NodeKind::scalar || !node.quoted || node.line == node.end_line) return false;
    const auto line = static_cast<size_t>(node.line) - 1, column = static_cast<size_t>(node.column) - 1;
    if (line >= lines_.size() || column >= lines_[line].text.size()) return true;
    return lines_[line].text[column] != '"' && lines_[line].text[column] != '\'';
  }

  // Empty lines at the end of such a text are not part of it, unless its header has a +.
  bool keeps_its_end(const Node& node) const {
    if (node.line < 2) return true;
    const std::string& head = lines_[static_cast<size_t>(node.line) - 2].text;
    return head.substr(0, head.find(" #")).find('+') != std::string::npos;
  }

  void note_texts(const Node& node) {
    if (node.kind == NodeKind::scalar && node.line != node.end_line) {
      const auto begin = static_cast<size_t>(node.line) - 1;
      size_t end = std::min(static_cast<size_t>(node.end_line) - 1, lines_.size());
      if (is_block_text(node) && !keeps_its_end(node)) {
        while (end > begin && indent_of(lines_[end - 1].text) == lines_[end - 1].text.size())
          --end;
      }
      for (size_t i = begin; i < end; ++i)
        lines_[i].is_said = true;
    }
    for (const Node& item : node.items)
      note_texts(item);
    for (const Member& member : node.members)
      note_texts(member.value);
  }

  void sort_groups(const Node& node, const std::string& group) {
    for (const Member& member : node.members) {
      const std::string inner = group + "." + member.key;
      if (config::is_group(inner)) sort_groups(member.value, inner);
    }
    const std::vector<std::string_view> order = config::children(group);
    sort_members(node, [&](const std::string& key) {
      return static_cast<size_t>(std::find(order.begin(), order.end(), key) - order.begin());
    });
  }

  bool is_flow(const Node& node) const {
    const auto line = static_cast<size_t>(node.line) - 1, column = static_cast<size_t>(node.column) - 1;
    if (line >= lines_.size() || column >= lines_[line].text.size()) return false;
    return lines_[line].text[column] == '{' || lines_[line].text[column] == '[';
  }

  // Each member is on its own line, all at the same indentation.
  bool is_block(const Node& node) const {
    if (node.kind != NodeKind::mapping || node.members.size() < 2) return false;
    int before = 0;
    for (const Member& member : node.members) {
      const auto line = static_cast<size_t>(member.line) - 1;
      if (member.line <= before || line >= lines_.size()) return false;
      // Lines may have moved within the member above, but not this line; columns count characters.
      if (member.column != node.members.front().column ||
          indent_of(lines_[line].text) + 1 != static_cast<size_t>(member.column))
        return false;
      before = member.line;
    }
    return true;
  }

  template <class Rank>
  void sort_members(const Node& node, Rank&& rank) {
    if (!is_block(node)) return;
    const auto indent = static_cast<size_t>(node.members.front().column) - 1;
    struct Chunk {
      size_t rank;
      std::vector<Line> lines;
    };
    std::vector<size_t> begins;
    for (const Member& member : node.members) {
      size_t begin = static_cast<size_t>(member.line) - 1;
      const size_t floor = begins.empty() ? 0 : begins.back() + 1;
      // A comment separated by an empty line does not belong to the member; editor directives belong to the
      // file.
      while (begin > floor && is_comment(lines_[begin - 1].text, indent) &&
             lines_[begin - 1].text.find("yaml-language-server") == std::string::npos)
        --begin;
      begins.push_back(begin);
    }
    const size_t end = end_of_block(node, indent);
    std::vector<Chunk> chunks;
    for (size_t i = 0; i < begins.size(); ++i) {
      const size_t to = i + 1 < begins.size() ? begins[i + 1] : end;
      chunks.push_back({rank(node.members[i].key),
                        {lines_.begin() + static_cast<std::ptrdiff_t>(begins[i]),
                         lines_.begin() + static_cast<std::ptrdiff_t>(to)}});
    }
    std::stable_sort(chunks.begin(), chunks.end(),
                     [](const Chunk& a, const Chunk& b) { return a.rank < b.rank; });
    auto at = lines_.begin() + static_cast<std::ptrdiff_t>(begins.front());
    for (Chunk& chunk : chunks)
      at = std::move(chunk.lines.begin(), chunk.lines.end(), at);
  }

  // The end of the last member: behind deeper lines and its own comments.
  size_t end_of_block(const Node& node, size_t indent) const {
    size_t end = static_cast<size_t>(node.members.back().line);
    const Node& value = node.members.back().value;
    const bool block = value.kind == NodeKind::mapping || value.kind == NodeKind::sequence;
    const size_t behind = static_cast<size_t>(value.end_line) - (is_block_text(value) ? 1 : 0);
    if (!block || is_flow(value)) end = std::max(end, behind);
    end = std::min(end, lines_.size());
    size_t last = end;
    for (size_t i = end; i < lines_.size(); ++i) {
      const std::string& line = lines_[i].text;
      if (indent_of(line) == line.size()) continue;  // empty
      // A list may have the same indentation as its key.
      const bool deeper =
          indent_of(line) > indent || (indent_of(line) == indent && line.compare(indent, 2, "- ") == 0);
      if (!deeper) break;
      last = i + 1;
    }
    return std::max(last, end);
  }

  std::vector<Line> lines_;
};

// Removes trailing blanks, double empty lines and empty lines at the end, except in multi-line texts.
std::string tidy(const std::vector<Line>& lines) {
  std::string out;
  bool was_empty = true;
  size_t end = 0;
  for (const Line& line : lines) {
    std::string kept = line.text;
    if (!line.is_said) kept.erase(kept.find_last_not_of(" \t\r") + 1);
    const bool is_empty = kept.empty() && !line.is_said;
    if (is_empty && was_empty) continue;
    was_empty = is_empty;
    out += kept + "\n";
    if (!is_empty) end = out.size();
  }
  out.resize(end);
  return out;
}

}  // namespace

Result<std::string> format_yaml(std::string_view text, const std::string& name) {
  // A byte order mark belongs before the text; within the file it would be a character.
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  config::Document document = config::parse_document(text, config::Syntax::yaml);
  if (!document.diagnostics.empty()) {
    const config::Diagnostic& first = document.diagnostics.front();
    return fail(fmt::format("{}:{}:{}: {}", name, first.line, first.column, first.message));
  }
  Formatter formatter(lines_of(text), document.root);
  formatter.sort(document.root);
  return tidy(formatter.take());
}

std::string line_diff(std::string_view before, std::string_view after) {
  const std::vector<std::string> was = lines_of(before), is = lines_of(after);
  std::string out;
  if (was == is) return out;
  auto put = [&](char mark, const std::string& line) { out += std::string(1, mark) + line + "\n"; };
  if (was.size() > kMaxDiffLines || is.size() > kMaxDiffLines) {
    for (const std::string& line : was)
      put('-', line);
    for (const std::string& line : is)
      put('+', line);
    return out;
  }
  // The longest common subsequence, from the end.
  std::vector<std::vector<uint16_t>> longest(was.size() + 1, std::vector<uint16_t>(is.size() + 1, 0));
  for (size_t i = was.size(); i-- > 0;) {
    for (size_t j = is.size(); j-- > 0;)
      longest[i][j] = was[i] == is[j] ? static_cast<uint16_t>(longest[i + 1][j + 1] + 1)
                                      : std::max(longest[i + 1][j], longest[i][j + 1]);
  }
  size_t i = 0, j = 0;
  while (i < was.size() || j < is.size()) {
    if (i < was.size() && j < is.size() && was[i] == is[j]) {
      put(' ', was[i]);
      ++i, ++j;
    } else if (j == is.size() || (i < was.size() && longest[i + 1][j] >= longest[i][j + 1])) {
      put('-', was[i++]);
    } else {
      put('+', is[j++]);
    }
  }
  return out;
}

}  // namespace lineward::config_formats
