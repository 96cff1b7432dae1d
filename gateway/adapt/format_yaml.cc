#include "adapt/format_yaml.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "config/options/options.h"
#include "config/reader/document.h"

namespace lineward::adapt {
namespace {

using config::Member;
using config::Node;
using config::NodeKind;

// Beyond this a difference is shown as all of the old and all of the new.
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

size_t indent_of(const std::string& line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

bool is_comment(const std::string& line, size_t indent) {
  return indent_of(line) == indent && indent < line.size() && line[indent] == '#';
}

// `$schema` and what is for all servers come first, servers last; what filters calls keeps its order, which
// means something.
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
  explicit Formatter(std::vector<std::string> lines) : lines_(std::move(lines)) {}

  void sort(const Node& root) {
    // What stands deeper is moved first: places further up stay true.
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
  std::vector<std::string> take() { return std::move(lines_); }

 private:
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
    if (line >= lines_.size() || column >= lines_[line].size()) return false;
    return lines_[line][column] == '{' || lines_[line][column] == '[';
  }

  // A member on a line of its own, and all at the same indentation.
  bool is_block(const Node& node) const {
    if (node.kind != NodeKind::mapping || node.members.size() < 2) return false;
    int before = 0;
    for (const Member& member : node.members) {
      const auto line = static_cast<size_t>(member.line) - 1;
      if (member.line <= before || line >= lines_.size()) return false;
      // Lines may have moved within the member above, never this one's own; columns count characters.
      if (member.column != node.members.front().column ||
          indent_of(lines_[line]) + 1 != static_cast<size_t>(member.column))
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
      std::vector<std::string> lines;
    };
    std::vector<size_t> begins;
    for (const Member& member : node.members) {
      size_t begin = static_cast<size_t>(member.line) - 1;
      const size_t floor = begins.empty() ? 0 : begins.back() + 1;
      // A comment that an empty line parts from it is not its own; what editors look for is the file's.
      while (begin > floor && is_comment(lines_[begin - 1], indent) &&
             lines_[begin - 1].find("yaml-language-server") == std::string::npos)
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

  // Behind the last line that belongs to the last member: what is indented deeper, and comments of its own.
  size_t end_of_block(const Node& node, size_t indent) const {
    size_t end = static_cast<size_t>(node.members.back().line);
    const Node& value = node.members.back().value;
    const bool block = value.kind == NodeKind::mapping || value.kind == NodeKind::sequence;
    if (!block || is_flow(value)) end = std::max(end, static_cast<size_t>(value.end_line));
    end = std::min(end, lines_.size());
    size_t last = end;
    for (size_t i = end; i < lines_.size(); ++i) {
      if (indent_of(lines_[i]) == lines_[i].size()) continue;  // empty
      // A list may stand at the indentation of its key.
      const bool deeper = indent_of(lines_[i]) > indent ||
                          (indent_of(lines_[i]) == indent && lines_[i].compare(indent, 2, "- ") == 0);
      if (!deeper) break;
      last = i + 1;
    }
    return std::max(last, end);
  }

  std::vector<std::string> lines_;
};

// No blanks at the ends of lines (but in texts of several lines, which say what they say), no two empty
// lines, none at the end.
std::string tidy(const std::vector<std::string>& lines, bool has_blocks) {
  std::string out;
  bool empty = true;
  for (const std::string& line : lines) {
    std::string kept = line;
    if (!has_blocks) kept.erase(kept.find_last_not_of(" \t\r") + 1);
    if (kept.empty() && empty && !has_blocks) continue;
    empty = kept.empty();
    out += kept + "\n";
  }
  while (!has_blocks && out.size() > 1 && out.substr(out.size() - 2) == "\n\n")
    out.pop_back();
  return out;
}

bool has_text_of_lines(const Node& node) {
  if (node.kind == NodeKind::scalar && node.line != node.end_line) return true;
  return std::any_of(node.items.begin(), node.items.end(), has_text_of_lines) ||
         std::any_of(node.members.begin(), node.members.end(),
                     [](const Member& member) { return has_text_of_lines(member.value); });
}

}  // namespace

Result<std::string> format_yaml(std::string_view text, const std::string& name) {
  config::Document document = config::parse_document(text, config::Syntax::yaml);
  if (!document.diagnostics.empty()) {
    const config::Diagnostic& first = document.diagnostics.front();
    return fail(fmt::format("{}:{}:{}: {}", name, first.line, first.column, first.message));
  }
  Formatter formatter(lines_of(text));
  formatter.sort(document.root);
  return tidy(formatter.take(), has_text_of_lines(document.root));
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

}  // namespace lineward::adapt
