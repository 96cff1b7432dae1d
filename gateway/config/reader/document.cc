#include "config/reader/document.h"

#include <fmt/format.h>
#include <libfyaml.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "config/options/read_value.h"
#include "config/options/text_check.h"
#include "config/reader/jsonc.h"
#include "foundation/base/freed.h"

namespace lineward::config {
namespace {

void discard_output(fy_diag*, void*, const char*, size_t) {}

// Builds the tree from the event stream. Stops at the first construct not allowed in a configuration.
class Builder {
 public:
  explicit Builder(Document& document) : document_(document) {}

  // Returns false when reading must stop.
  bool take(fy_event* event) {
    read_marks(event);
    switch (event->type) {
      case FYET_DOCUMENT_START: return start_document();
      case FYET_ALIAS: --column_; return refuse("no-alias", "aliases (*name) are not used in this file");
      case FYET_SCALAR: return check_decorations(event) && add_scalar(event);
      case FYET_MAPPING_START: return check_decorations(event) && open(NodeKind::mapping);
      case FYET_SEQUENCE_START: return check_decorations(event) && open(NodeKind::sequence);
      case FYET_MAPPING_END:
      case FYET_SEQUENCE_END: return close();
      case FYET_STREAM_END: finished_ = true; return true;
      default: return true;
    }
  }

  bool finished() const { return finished_; }

 private:
  struct Open {
    Node node;
    Member pending;  // the key of the next value
    bool has_key = false;
    std::map<std::string, int, std::less<>> seen;  // key → line
  };

  void read_marks(fy_event* event) {
    const fy_mark* start = fy_event_start_mark(event);
    const fy_mark* end = fy_event_end_mark(event);
    if (start != nullptr) {
      line_ = start->line + 1;
      column_ = start->column + 1;
    } else {
      // A missing value: its position is directly behind its key.
      line_ = last_line_;
      column_ = last_column_;
    }
    end_line_ = end != nullptr ? end->line + 1 : line_;
    end_column_ = end != nullptr ? end->column + 1 : column_;
    last_line_ = end_line_;
    last_column_ = end_column_;
  }

  bool refuse(std::string code, std::string message) {
    Diagnostic diagnostic;
    diagnostic.code = std::move(code);
    diagnostic.message = std::move(message);
    diagnostic.line = line_;
    diagnostic.column = column_;
    diagnostic.length = line_ == end_line_ ? std::max(1, end_column_ - column_) : 1;
    document_.diagnostics.push_back(std::move(diagnostic));
    return false;
  }

  bool start_document() {
    if (!seen_document_) {
      seen_document_ = true;
      return true;
    }
    return refuse("second-document", "a configuration is one document; another one begins here");
  }

  bool check_decorations(fy_event* event) {
    fy_token* anchor = fy_event_get_anchor_token(event);
    fy_token* tag = fy_event_get_tag_token(event);
    if (anchor == nullptr && tag == nullptr) return true;
    const fy_mark* mark = fy_token_start_mark(anchor != nullptr ? anchor : tag);
    if (mark != nullptr) {
      line_ = mark->line + 1;
      // An anchor's mark is behind its &.
      column_ = mark->column + (anchor != nullptr ? 0 : 1);
      end_line_ = 0;
    }
    if (anchor != nullptr) return refuse("no-alias", "anchors (&name) are not used in this file");
    return refuse("no-tag", "tags (!name) are not used in this file: an option knows its own type");
  }

  Node place(NodeKind kind) {
    Node node;
    node.kind = kind;
    node.line = line_;
    node.column = column_;
    node.end_line = end_line_;
    node.end_column = end_column_;
    node.length = line_ == end_line_ ? std::max(1, end_column_ - column_) : 1;
    return node;
  }

  bool add_scalar(fy_event* event) {
    fy_token* token = fy_event_get_token(event);
    size_t length = 0;
    const char* text = token != nullptr ? fy_token_get_text(token, &length) : nullptr;
    fy_scalar_style style = fy_token_scalar_style(token);
    bool empty = style == FYSS_PLAIN && (text == nullptr || length == 0);
    Node node = place(empty ? NodeKind::null : NodeKind::scalar);
    if (text != nullptr) node.text.assign(text, length);
    node.quoted = style != FYSS_PLAIN;
    if (style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED) {
      // The library's marks are inside the quotes.
      --node.column;
      ++node.end_column;
      node.length += node.line == node.end_line ? (length == 0 ? 1 : 2) : 0;
    }
    if (!node.quoted && (node.text == "~" || node.text == "null")) node.kind = NodeKind::null;
    return put(std::move(node));
  }

  bool open(NodeKind kind) {
    if (!stack_.empty() && stack_.back().node.kind == NodeKind::mapping && !stack_.back().has_key) {
      return refuse("bad-key", "a name must be plain text");
    }
    if (stack_.size() >= static_cast<size_t>(kMaxDocumentDepth)) {
      return refuse("too-deep", fmt::format("nested more than {} levels deep", kMaxDocumentDepth));
    }
    stack_.emplace_back();
    stack_.back().node = place(kind);
    return true;
  }

  bool close() {
    Node node = std::move(stack_.back().node);
    node.end_line = end_line_;
    node.end_column = end_column_;
    stack_.pop_back();
    return put(std::move(node));
  }

  bool put(Node node) {
    if (stack_.empty()) {
      document_.root = std::move(node);
      return true;
    }
    Open& parent = stack_.back();
    if (parent.node.kind == NodeKind::sequence) {
      parent.node.items.push_back(std::move(node));
    } else if (parent.has_key) {
      parent.pending.value = std::move(node);
      parent.node.members.push_back(std::move(parent.pending));
      parent.has_key = false;
    } else {
      take_key(parent, node);
    }
    return true;
  }

  void take_key(Open& parent, const Node& node) {
    parent.pending = Member();
    parent.pending.key = node.text;
    parent.pending.line = node.line;
    parent.pending.column = node.column;
    parent.pending.length = node.length;
    parent.has_key = true;
    auto [first, is_new] = parent.seen.emplace(node.text, node.line);
    if (is_new) return;
    Diagnostic diagnostic;
    diagnostic.code = "duplicate-key";
    diagnostic.message = fmt::format("'{}' stands here twice", clip(node.text));
    diagnostic.hint = fmt::format("first in line {}", first->second);
    diagnostic.line = node.line;
    diagnostic.column = node.column;
    diagnostic.length = node.length;
    document_.diagnostics.push_back(std::move(diagnostic));
  }

  Document& document_;
  std::vector<Open> stack_;
  bool seen_document_ = false;
  bool finished_ = false;
  int line_ = 1, column_ = 1, end_line_ = 1, end_column_ = 1;
  int last_line_ = 1, last_column_ = 1;
};

void add_syntax_error(Document& document, const std::string& text, int line, int column) {
  Diagnostic diagnostic;
  bool tab = text.find("tab ") != std::string::npos && text.find("indentation") != std::string::npos;
  diagnostic.code = tab ? "tab" : "syntax";
  diagnostic.message = tab ? "a tab cannot indent YAML; use spaces" : text;
  diagnostic.line = std::max(line, 1);
  diagnostic.column = std::max(column, 1);
  document.diagnostics.push_back(std::move(diagnostic));
}

void run_parser(std::string_view text, Document& document) {
  fy_diag_cfg diag_config;
  fy_diag_cfg_default(&diag_config);
  diag_config.fp = nullptr;
  diag_config.output_fn = discard_output;
  std::unique_ptr<fy_diag, Freed<fy_diag_destroy>> diag(fy_diag_create(&diag_config));
  fy_diag_set_collect_errors(diag.get(), true);
  fy_parse_cfg config{};
  config.flags = static_cast<fy_parse_cfg_flags>(FYPCF_QUIET | FYPCF_COLLECT_DIAG | FYPCF_JSON_NONE |
                                                 FYPCF_SLOPPY_FLOW_INDENTATION);
  config.diag = diag.get();
  std::unique_ptr<fy_parser, Freed<fy_parser_destroy>> parser(fy_parser_create(&config));
  if (parser == nullptr || fy_parser_set_string(parser.get(), text.data(), text.size()) != 0) {
    add_syntax_error(document, "the YAML parser could not start", 1, 1);
    return;
  }
  Builder builder(document);
  bool going = true;
  while (going) {
    fy_event* event = fy_parser_parse(parser.get());
    if (event == nullptr) break;
    going = builder.take(event);
    fy_parser_event_free(parser.get(), event);
  }
  if (!going) return;
  void* step = nullptr;
  fy_diag_error* error = fy_diag_errors_iterate(diag.get(), &step);
  if (error != nullptr) {
    add_syntax_error(document, error->msg, error->line, error->column);
  } else if (!builder.finished() || fy_parser_get_stream_error(parser.get())) {
    add_syntax_error(document, "this is not YAML", 1, 1);
  } else {
    document.parsed = true;
  }
}

bool ends_with(std::string_view text, std::string_view ending) {
  return text.size() >= ending.size() && text.substr(text.size() - ending.size()) == ending;
}

}  // namespace

const Member* Node::find(std::string_view key) const {
  auto found =
      std::find_if(members.begin(), members.end(), [key](const Member& member) { return member.key == key; });
  return found == members.end() ? nullptr : &*found;
}

Syntax syntax_of(std::string_view name, std::string_view text) {
  if (ends_with(name, ".json") || ends_with(name, ".jsonc")) return Syntax::json;
  size_t first = text.find_first_not_of(" \t\r\n");
  bool brace = first != std::string_view::npos && text[first] == '{';
  return brace && (name == "-" || name == "stdin") ? Syntax::json : Syntax::yaml;
}

Document parse_document(std::string_view text, Syntax syntax) {
  Document document;
  std::optional<Diagnostic> fault;
  if (text.size() > kMaxDocumentBytes) {
    fault = Diagnostic{
        .code = "too-large", .message = "a configuration has at most 1 MiB", .line = 1, .column = 1};
  } else {
    if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
    fault = check_text(text);
  }
  if (fault) {
    document.diagnostics.push_back(std::move(*fault));
    return document;
  }
  // The parser needs a line break at the end of the last line.
  std::string prepared = syntax == Syntax::json ? without_json_comments(text) : std::string(text);
  if (!prepared.empty() && prepared.back() != '\n') prepared += '\n';
  run_parser(prepared, document);
  return document;
}

}  // namespace lineward::config
