// What of a configuration is secret, so that no text that is shown has it (log/redaction.h). Decided here
// alone.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"

namespace lineward::config {

// Values of `env` (but for those that is_harmless() knows), of `headers` with and without a scheme in front,
// of `clientCredentials`, and the credentials of a `proxy`.
std::vector<std::string> secrets_of(const Config& config);

// A value that says nothing under a name that promises no secret: a path, a number, a URL without
// credentials and query, a word in small letters. To hide these would hide what errors are about.
bool is_harmless(std::string_view name, std::string_view value);

}  // namespace lineward::config
