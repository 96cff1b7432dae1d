// Files of hashed API keys: one key per line, `name sha256:HEX [scope …]`, `#` begins a comment.
//
// Plain SHA-256 is right for keys that a machine made: with 128 random bits or more there is nothing to
// guess, so a slow or salted hash would add nothing but work on the path of every request. It is wrong for
// words that people think of, which is why `lineward hash-key` refuses short ones.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

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

// The error names the line, and nothing of what stands there.
Result<std::vector<HashedKey>> read_keys(std::string_view text);
// `warning` is set when others than the owner may read the file.
Result<std::vector<HashedKey>> read_key_file(const std::string& path, std::string& warning);

// Every key is compared, in constant time each; null: none is it.
const HashedKey* find_key(const std::vector<HashedKey>& keys, std::string_view given);

}  // namespace lineward::plugins
