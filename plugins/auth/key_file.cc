#include "plugins/auth/key_file.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "foundation/base/regular_file.h"
#include "foundation/base/sha256.h"

namespace lineward::plugins {
namespace {

constexpr size_t kMaxKeys = 10000;
constexpr size_t kMaxBytes = 4 << 20;
constexpr size_t kMaxScopes = 64;
constexpr std::string_view kPrefix = "sha256:";
constexpr std::string_view kBlank = " \t\r";

std::string_view next_word(std::string_view& line) {
  size_t begin = line.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return line = {};
  line.remove_prefix(begin);
  size_t end = std::min(line.size(), line.find_first_of(kBlank));
  std::string_view word = line.substr(0, end);
  line.remove_prefix(end);
  return word;
}

int nibble(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool read_hash(std::string_view text, KeyHash& out) {
  if (text.substr(0, kPrefix.size()) != kPrefix) return false;
  text.remove_prefix(kPrefix.size());
  if (text.size() != out.size() * 2) return false;
  for (size_t i = 0; i < out.size(); ++i) {
    int high = nibble(text[2 * i]), low = nibble(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    out[i] = static_cast<unsigned char>(high * 16 + low);
  }
  return true;
}

bool is_scope(std::string_view text) {
  return text.size() <= 128 && std::all_of(text.begin(), text.end(), [](char c) {
           return c > 0x20 && c < 0x7f && c != '"' && c != '\\';
         });
}

}  // namespace

KeyHash hash_key(std::string_view key) {
  return sha256(key);
}

std::string hash_text(const KeyHash& hash) {
  std::string out(kPrefix);
  for (unsigned char byte : hash)
    out += fmt::format("{:02x}", byte);
  return out;
}

bool is_key_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
}

Result<std::vector<HashedKey>> read_keys(std::string_view text) {
  std::vector<HashedKey> keys;
  for (size_t number = 1; !text.empty(); ++number) {
    size_t end = std::min(text.size(), text.find('\n'));
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(text.size(), end + 1));
    line = line.substr(0, line.find('#'));
    HashedKey key;
    key.name = next_word(line);
    if (key.name.empty()) continue;
    auto wrong = [&](std::string_view what) { return fail(fmt::format("line {}: {}", number, what)); };
    // The text may be an unhashed key: never quote it.
    if (!is_key_name(key.name)) return wrong("a name is 1 to 64 of A-Z a-z 0-9 - _ .");
    if (!read_hash(next_word(line), key.hash)) {
      return wrong(
          "after the name stands sha256: and 64 hexadecimal digits; lineward hash-key makes such lines");
    }
    for (std::string_view scope = next_word(line); !scope.empty(); scope = next_word(line)) {
      if (!is_scope(scope) || key.scopes.size() == kMaxScopes) return wrong("these are no scopes");
      key.scopes.emplace_back(scope);
    }
    for (const HashedKey& other : keys) {
      if (other.hash == key.hash) return wrong("another line has the same key");
      // Two keys of one name are one caller during key rotation, so they must have the same scopes.
      if (other.name == key.name && other.scopes != key.scopes)
        return wrong("this name has other scopes above");
    }
    if (keys.size() == kMaxKeys) return fail(fmt::format("more than {} keys", kMaxKeys));
    keys.push_back(std::move(key));
  }
  return keys;
}

Result<std::vector<HashedKey>> read_key_file(const std::string& path, std::string& warning) {
  warning.clear();
  struct stat info {};
  auto read = read_regular_file(path, kMaxBytes);
  if (!read || stat(path.c_str(), &info) != 0)
    return fail(fmt::format("cannot read {}: {}", path, read ? std::strerror(errno) : read.error().text));
  if ((info.st_mode & S_IWOTH) != 0) return fail(fmt::format("{} is world-writable: run chmod o-w", path));
  if ((info.st_mode & S_IROTH) != 0) warning = "it is world-readable: run chmod o-r";
  const std::string& text = *read;
  // A file truncated for rewriting must not lock out all callers; a file with only comments does.
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) return fail(fmt::format("{} is empty", path));
  auto keys = read_keys(text);
  if (!keys) return fail(fmt::format("{}: {}", path, keys.error().text));
  return keys;
}

const HashedKey* find_key(const std::vector<HashedKey>& keys, std::string_view given) {
  KeyHash hash = hash_key(given);
  const HashedKey* found = nullptr;
  for (const HashedKey& key : keys) {
    if (CRYPTO_memcmp(key.hash.data(), hash.data(), hash.size()) == 0) found = &key;
  }
  return found;
}

}  // namespace lineward::plugins
