// Words about the caller in a server's configuration (docs/identity.md): ${principal.subject}, ${claim:email}
// and others, in the values of `headers`, `meta` and `env`. Once read, a word stands between two marks that
// no other text of a configuration can contain. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"

namespace lineward::config {

inline constexpr char kWordBegin = '\x01';
inline constexpr char kWordEnd = '\x02';

// Does it look like a word about the caller (`principal…`, `claim:…`)?
bool is_about_caller(std::string_view word);
// Why it is none; empty: it is one.
std::string_view word_fault(std::string_view word);

inline bool has_words(std::string_view value) {
  return value.find(kWordBegin) != std::string_view::npos;
}

// Calls `text` and `word` for the parts of a value, in their order.
template <class Text, class Word>
void each_part(std::string_view value, Text&& text, Word&& word) {
  while (!value.empty()) {
    const size_t begin = value.find(kWordBegin);
    if (begin != 0) text(value.substr(0, begin));
    if (begin == std::string_view::npos) return;
    const size_t end = value.find(kWordEnd, begin);
    if (end == std::string_view::npos) return;
    word(value.substr(begin + 1, end - begin - 1));
    value.remove_prefix(end + 1);
  }
}

// The name of a claim in a word; empty: it is another word.
inline std::string_view claim_of(std::string_view word) {
  constexpr std::string_view kClaim = "claim:";
  return word.substr(0, kClaim.size()) == kClaim ? word.substr(kClaim.size()) : std::string_view();
}

// A header's name with its letters in lower case, and `-` for all characters but letters and digits. A server
// may take X-User, X_User and X.User for one name.
std::string folded_header_name(std::string_view name);

// Whether what the server gets differs between callers.
bool tells_callers(const Server& server);
// The values with words of a server, each once, in the order of the file.
std::vector<std::string> words_of(const Server& server);
// The claims that the servers of a configuration get.
std::vector<std::string> claims_for_servers(const Config& config);

}  // namespace lineward::config
