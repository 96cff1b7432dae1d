// Decides which parts of a configuration are secret, so that no output has them. There are two degrees.
// Operators' logs and consoles omit secrets_of() (foundation/log/redaction.h). Text for clients, and text
// that people may publish, omits given_to() too.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"

namespace lineward::config {

// Values of variables (Config::given_secrets) and of `env` and `headers`, except those that is_harmless()
// accepts. Also header values without their scheme, each cookie, the query of a `url`, `clientCredentials`,
// and the credentials of a `proxy`. Each in the forms in which texts have it: trimmed, JSON-escaped, line by
// line. Never the name of a server.
std::vector<std::string> secrets_of(const Config& config);

// The same for one server, including harmless values: only operators may see its environment and headers.
std::vector<std::string> given_to(const Server& server);

// Shorter values of given_to() occur in text by chance; hiding them would make lines unreadable.
constexpr size_t kShortestGiven = 4;

// A value that reveals nothing, under a name that does not suggest a secret ("…_TOKEN", "apiKey",
// "Authorization"). Such values are paths, numbers, URLs without credentials and query, and words and short
// numbers joined by signs. Hiding these would remove the subject of logs and errors.
bool is_harmless(std::string_view name, std::string_view value);

}  // namespace lineward::config
