// The redaction of one redact plugin in JSON: values by JSON pointer (RFC 6901, `*` for any member or
// element), and matches of patterns (RE2) in string values. Other bytes stay unchanged. Pure; from any
// thread.
#pragma once

#include <re2/re2.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/base/result.h"
#include "foundation/json/json_splice.h"

namespace lineward::plugins {

using Pointer = std::vector<std::string>;  // unescaped segments; "*" matches any

Result<Pointer> parse_pointer(std::string_view text);

// The content of a position that patterns skip: a name, or a JSON schema, in which only titles, descriptions,
// defaults and examples are text.
enum class Holds : uint8_t { name, schema };
struct Place {
  Pointer at;  // segments are globs over members; [] is any array element
  Holds holds = Holds::name;
};

class RedactRules {
 public:
  // The error names the problem and the pattern.
  static Result<RedactRules> make(const std::vector<std::string>& patterns, std::string replacement);

  // Adds edits for the value at `value` of `text`, which is valid JSON; returns their number. Patterns skip
  // `names`; pointers to them still apply.
  uint64_t find(std::string_view text, json::Span value, const std::vector<Pointer>& pointers,
                json::Splice& splice, const std::vector<Place>& names = {}) const;
  // Plain text, by patterns only.
  std::string plain(std::string_view text, uint64_t* count = nullptr) const;

 private:
  std::string replacement_;  // plain
  std::string quoted_;       // as a JSON string
  std::string rewrite_;      // in RE2 syntax
  std::vector<std::shared_ptr<const RE2>> patterns_;
  bool matches(std::string& text) const;
};

}  // namespace lineward::plugins
