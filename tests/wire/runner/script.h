// A wire script as data: parsed and checked completely (verbs, options, argument counts, macro names) before
// anything runs. Immutable afterwards; commands are referred to by every peer's thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lineward::wire {

enum Side : unsigned { top = 1, upstream = 2, client = 4, origin = 8 };

// The kind of verbs in the block of a verb. An upstream with -http is an origin.
enum class BlockOf { none, same, upstream, client };

// A row of the command table (verbs.cc): the parser, the checker and the manual are made from it.
struct VerbSpec {
  unsigned sides;
  std::string_view name, usage, help;
  size_t min_args, max_args;
  std::string_view flags;    // options without a value, separated by blanks
  std::string_view options;  // options with a value
  BlockOf block = BlockOf::none;
};

const std::vector<VerbSpec>& verb_table();
const VerbSpec* find_verb(unsigned side, std::string_view name);
std::string manual();  // the command table as Markdown

struct Word {
  enum class Kind { bare, quoted, braces };
  std::string text;  // quoted: without quotes and escapes; braces: with the outer { } or [ ]
  Kind kind = Kind::bare;
  int line = 0;
};

struct Command;
using Block = std::vector<Command>;

struct Option {
  std::string name;
  Word value;  // empty for a flag
};

struct Command {
  const VerbSpec* spec = nullptr;
  int line = 0;
  std::vector<Word> args;
  std::vector<Option> options;
  Block block;
  bool has_block = false;

  std::string_view verb() const { return spec->name; }
  const Word* option(std::string_view name) const;
  bool flag(std::string_view name) const { return option(name) != nullptr; }
};

struct ScriptError {
  int line;
  std::string text;
};

struct Script {
  std::string file, title;
  int timeout_ms = 45000;
  std::vector<std::string> lines;  // the source, for messages
  Block commands;
};

// Parses and checks; all errors are appended, sorted by line. The script may be run only without errors.
Script parse_script(std::string file, const std::string& text, std::vector<ScriptError>& errors);

int parse_duration_ms(std::string_view text);  // "500ms", "20s"; -1 when malformed

}  // namespace lineward::wire
