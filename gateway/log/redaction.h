// What is blacked out of texts before anybody sees them: log lines, the audit log, the console, `ps`. The
// secrets of the configuration and what stands before the @ of a URI always; what plugins say besides
// (redact). From any thread.
//
// A text is redacted before it is cut: half of a secret is not known as one (excerpt.h).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lineward::redaction {

// Gets JSON text, or plain text; gives what may be shown.
using Redactor = std::function<std::string(std::string_view text)>;

// It counts as long as what is returned is kept.
[[nodiscard]] std::shared_ptr<void> add(Redactor redactor);
// A configuration's secrets, before anything that knows them is started (known_secrets.h).
void use_secrets(const std::vector<std::string>& values);
// Without the secrets alone.
std::string without_secrets(std::string_view text);
// May apply() make another text of this one? On the path of every line of the log: it costs next to nothing
// where there are no rules and no secrets, and the text is short or has no "@".
inline bool touches(std::string_view text);
// Without user and password in URIs.
std::string without_userinfo(std::string_view text);
// All of this, and every redactor in turn.
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
