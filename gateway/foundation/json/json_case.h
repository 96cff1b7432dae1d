// Keys that some decoders accept for others. Go's encoding/json and other case-insensitive decoders fill
// `name` from "Name" too, and from non-ASCII letters that fold to ASCII.
#pragma once

#include <string>
#include <string_view>

namespace lineward::json {

inline char ascii_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// Quick, for an ASCII key: false for nearly all keys for which differs_in_case_alone() is.
inline bool may_differ_in_case_alone(std::string_view key, std::string_view name) {
  return key.size() == name.size() && !key.empty() && ((key.front() ^ name.front()) & ~0x20) == 0;
}

// Whether two different keys are equal after case folding. Both are unescaped; `name` is ASCII.
inline bool differs_in_case_alone(std::string_view key, std::string_view name) {
  // The long s, the Kelvin sign, and the i with and without its dot.
  struct Fold {
    std::string_view from;
    char to;
  };
  static constexpr Fold kFolds[] = {{"\u017f", 's'}, {"\u212a", 'k'}, {"\u0130", 'i'}, {"\u0131", 'i'}};
  size_t at = 0;
  for (const char wanted : name) {
    if (at == key.size()) return false;
    size_t bytes = 1;
    char c = ascii_lower(key[at]);
    for (const Fold& fold : kFolds) {
      if (static_cast<unsigned char>(key[at]) < 0x80 || key.substr(at, fold.from.size()) != fold.from)
        continue;
      bytes = fold.from.size();
      c = fold.to;
    }
    if (c != ascii_lower(wanted)) return false;
    at += bytes;
  }
  return at == key.size();
}

}  // namespace lineward::json
