// What is blacked out of texts before anybody sees them: log lines, the console, `ps`. Rules are added by
// plugins (redact); without one nothing is done. From any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace lineward::redaction {

// Gets JSON text, or plain text; gives what may be shown.
using Redactor = std::function<std::string(std::string_view text)>;

// It counts as long as what is returned is kept.
[[nodiscard]] std::shared_ptr<void> add(Redactor redactor);
bool active();
// Every redactor in turn.
std::string apply(std::string_view text);

}  // namespace lineward::redaction
