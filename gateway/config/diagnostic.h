// A problem in the configuration, with its position. Lines and columns count from 1, columns in characters.
#pragma once

#include <cstdint>
#include <string>

namespace lineward::config {

enum class Severity : uint8_t { error, warning, info };

struct Diagnostic {
  Severity severity = Severity::error;
  std::string code;     // stable: "unknown-option", "no-unit", …
  std::string message;  // one plain sentence; never holds a value from env or headers
  int line = 0;         // 0: not from the file, see origin
  int column = 0;
  int length = 1;
  std::string hint;    // short, printed beside the caret
  std::string note;    // background, on its own line
  std::string origin;  // the flag or environment variable that the value came from
  std::string file;    // the included file of line and column; empty: the configuration itself
};

// An invalid server of a client's own file.
struct LeftOut {
  std::string name;  // as written in the file
  std::string why;
};

// A range of the file that is never shown: values of env and headers. The end is one past the last character.
struct SecretSpan {
  int line = 0;
  int column = 0;
  int end_line = 0;
  int end_column = 0;
};

}  // namespace lineward::config
