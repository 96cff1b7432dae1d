// What of a configuration is secret, so that no text that is shown has it (log/redaction.h). Decided here
// alone.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"

namespace lineward::config {

// Values of `env` and `headers` but for those that is_harmless() knows, those of a header without its scheme
// and of each cookie, of the query of a `url`, of `clientCredentials`, the credentials of a `proxy`; each in
// the forms in which texts have it: without blanks at its ends, escaped as in JSON, line by line. Never what
// is the name of a server.
std::vector<std::string> secrets_of(const Config& config);

// A value that says nothing, under a name that promises no secret ("…_TOKEN", "apiKey", "Authorization"): a
// path, a number, a URL without credentials and query, words and short numbers joined by signs. To hide these
// would hide what logs and errors are about.
bool is_harmless(std::string_view name, std::string_view value);

}  // namespace lineward::config
