// YAML or JSON text as a tree of nodes with positions. Scalars stay raw text: the option decides their type,
// not their form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/diagnostic.h"

namespace lineward::config {

enum class NodeKind : uint8_t { null, scalar, sequence, mapping };

struct Member;

struct Node {
  NodeKind kind = NodeKind::null;
  std::string text;  // of a scalar
  bool quoted = false;
  int line = 0;
  int column = 0;
  int length = 1;  // on its first line
  int end_line = 0;
  int end_column = 0;
  std::vector<Node> items;
  std::vector<Member> members;

  const Member* find(std::string_view key) const;
};

struct Member {
  std::string key;
  int line = 0;
  int column = 0;
  int length = 1;
  Node value;
};

inline constexpr size_t kMaxDocumentBytes = 1 << 20;
inline constexpr int kMaxDocumentDepth = 64;

struct Document {
  Node root;            // null for an empty file
  bool parsed = false;  // false: the tree is unusable, the diagnostics have the reason
  std::vector<Diagnostic> diagnostics;
};

enum class Syntax : uint8_t { yaml, json };

// By the name's extension; stdin is JSON if it begins with a brace.
Syntax syntax_of(std::string_view name, std::string_view text);
Document parse_document(std::string_view text, Syntax syntax);

}  // namespace lineward::config
