// Finds the ranges of a configuration file that are never shown: everything below env and headers, and values
// under secret-looking names.
#pragma once

#include <string_view>
#include <vector>

#include "config/diagnostic.h"
#include "config/reader/document.h"

namespace lineward::config {

bool is_secret_key(std::string_view key);
std::vector<SecretSpan> find_secrets(const Node& root);
// For a file that does not parse: guesses from its lines, hiding too much rather than too little.
std::vector<SecretSpan> guess_secrets(std::string_view text);

}  // namespace lineward::config
