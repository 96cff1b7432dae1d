// What of a configuration is secret, so that no text that is shown has it. Decided here alone, in two
// degrees: those who run the gateway read logs and consoles without secrets_of (log/redaction.h); what
// clients read, and what people paste where others read it, is without all that its server was given.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"

namespace lineward::config {

// What variables gave (Config::given_secrets); values of `env` and `headers` but for those that is_harmless()
// knows, those of a header without its scheme and of each cookie, of the query of a `url`, of
// `clientCredentials`, the credentials of a `proxy`; each in the forms in which texts have it: without blanks
// at its ends, escaped as in JSON, line by line. Never what is the name of a server.
std::vector<std::string> secrets_of(const Config& config);

// Likewise of one server, and harmless values too: of an environment and of headers nothing is told to those
// who did not configure them.
std::vector<std::string> given_to(const Server& server);

// Shorter values of given_to() stand in texts by chance, and to hide them would make a line unreadable.
constexpr size_t kShortestGiven = 4;

// A value that says nothing, under a name that promises no secret ("…_TOKEN", "apiKey", "Authorization"): a
// path, a number, a URL without credentials and query, words and short numbers joined by signs. To hide these
// would hide what logs and errors are about.
bool is_harmless(std::string_view name, std::string_view value);

}  // namespace lineward::config
