// Which parts of a configuration file are never shown: everything below env and headers, and values whose
// names say that they are secret.
#pragma once

#include <string_view>
#include <vector>

#include "config/diagnostic.h"
#include "config/reader/document.h"

namespace lineward::config {

bool is_secret_key(std::string_view key);
std::vector<SecretSpan> find_secrets(const Node& root);
// For a file that does not parse: by the look of its lines, hiding too much rather than too little.
std::vector<SecretSpan> guess_secrets(std::string_view text);

}  // namespace lineward::config
