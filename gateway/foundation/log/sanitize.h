// Prepares every text for people: log lines, terminal output and error texts. The result is one line of valid
// UTF-8, redacted, without control characters, escapes, bidirectional controls and invisible characters.
#pragma once

#include <string>
#include <string_view>

namespace lineward {

// Text for a terminal: "?" replaces each hidden character. At most `most` bytes, with "…" if it was cut.
std::string sanitize(std::string_view text, size_t most = 200);
// The same for a whole text of several lines. `ours`: keeps colour sequences (ESC [ 1;31 m), for text
// assembled here from printable parts.
enum class Colours : bool { none, ours };
std::string terminal_text(std::string_view text, Colours colours = Colours::none);

// A value in a log line: unchanged if it is one word, else a JSON string with \uXXXX for hidden characters.
// `quotes`: always a JSON string. `ascii`: printable ASCII only.
enum class Letters : unsigned char { all, ascii };
std::string logged(std::string_view text, bool quotes, Letters letters = Letters::all);
void append_logged(std::string& out, std::string_view text, bool quotes, Letters letters = Letters::all);
// Whether it may stand in a line unchanged. (Redaction is checked separately.)
bool is_plain_word(std::string_view text);

}  // namespace lineward
