// What servers and clients say of themselves, made fit for a terminal, a log and an error's text: valid
// UTF-8, one line, no control characters, no escapes, nothing that turns the direction of text or cannot be
// seen, and nothing that a redactor blacks out.
#pragma once

#include <string>
#include <string_view>

namespace lineward {

// At most so many bytes of it, and "…" where it was cut.
std::string printable(std::string_view text, size_t most = 200);

}  // namespace lineward
