// Redacts texts before they are shown: log lines, the audit log, the console, `ps`. Always removes the
// configuration's secrets and the user information of URIs; plugins may add rules (redact). From any thread.
//
// A text is redacted before it is cut: half of a secret cannot be detected (excerpt.h).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lineward::redaction {

// Gets JSON or plain text; returns the text to show.
using Redactor = std::function<std::string(std::string_view text)>;

// Active while the returned reference is kept.
[[nodiscard]] std::shared_ptr<void> add(Redactor redactor);
// The secrets of a configuration; call it before starting anything that knows them (known_secrets.h).
void use_secrets(const std::vector<std::string>& values);
// Removes only the secrets.
std::string redacted(std::string_view text);
// Whether apply() may change this text. Runs for every log line: almost free without rules and secrets, if
// the text is short or has no "@".
inline bool touches(std::string_view text);
// Removes user and password from URIs.
std::string without_userinfo(std::string_view text);
// All of the above, and every redactor in turn.
std::string apply(std::string_view text);

namespace detail {
extern std::atomic<bool> has_rules;  // or secrets
bool touches(std::string_view text);
}  // namespace detail

inline bool touches(std::string_view text) {
  constexpr size_t kShortestUserinfo = 9;  // "a://u:p@h"
  if (detail::has_rules.load(std::memory_order_relaxed)) return detail::touches(text);
  return text.size() >= kShortestUserinfo && text.find('@') != std::string_view::npos &&
         detail::touches(text);
}

}  // namespace lineward::redaction
