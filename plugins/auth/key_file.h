// Files of hashed API keys: one key per line, `name sha256:HEX [scope …]`, `#` begins a comment.
//
// Plain SHA-256 suits generated keys: with 128 random bits or more they cannot be guessed. A slow or salted
// hash would only add work to every request. It does not suit passwords, so `lineward hash-key` refuses short
// keys.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/base/result.h"

namespace lineward::plugins {

using KeyHash = std::array<unsigned char, 32>;

struct HashedKey {
  std::string name;
  KeyHash hash{};
  std::vector<std::string> scopes;
};

KeyHash hash_key(std::string_view key);
std::string hash_text(const KeyHash& hash);  // "sha256:HEX"
bool is_key_name(std::string_view name);     // 1 to 64 of A-Z a-z 0-9 - _ .

// The error names the line, never its content.
Result<std::vector<HashedKey>> read_keys(std::string_view text);
// `warning` is set if users other than the owner may read the file.
Result<std::vector<HashedKey>> read_key_file(const std::string& path, std::string& warning);

// Compares every key, each in constant time; null: none matches.
const HashedKey* find_key(const std::vector<HashedKey>& keys, std::string_view given);

}  // namespace lineward::plugins
