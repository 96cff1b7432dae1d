// The way of every text to people: what is logged, printed on a terminal, or told in an error comes out of
// here, without what a redactor blacks out, on one line of valid UTF-8, without control characters, escapes,
// and what turns the direction of text or cannot be seen.
#pragma once

#include <string>
#include <string_view>

namespace lineward {

// As it is read on a terminal: "?" stands for what is not shown. At most so many bytes of it, and "…" where
// it was cut.
std::string printable(std::string_view text, size_t most = 200);
// The same of a text of several lines, whole: what is printed on a terminal. `ours`: what only colours a text
// stays (ESC [ 1;31 m), for one that is put together here of texts that were printable already.
enum class Colours : bool { none, ours };
std::string terminal_text(std::string_view text, Colours colours = Colours::none);

// As a value in a line of a log: as it is where that is one word, else as a JSON string in which \uXXXX
// stands for what is not shown. `quotes`: a JSON string anyway. Narrow: printable ASCII and nothing else.
enum class Letters : unsigned char { all, ascii };
std::string logged(std::string_view text, bool quotes, Letters letters = Letters::all);
// May it stand in a line as it is? (What a redactor says of it is another matter.)
bool is_plain_word(std::string_view text);

}  // namespace lineward
