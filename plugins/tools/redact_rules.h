// What one redact plugin blacks out of JSON: values by JSON pointer (RFC 6901, `*` for any member or
// element), and what patterns (RE2) find in string values. Bytes outside stay as they are. Pure; from any
// thread.
#pragma once

#include <re2/re2.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/json_splice.h"

namespace lineward::plugins {

using Pointer = std::vector<std::string>;  // its segments, unescaped; "*" stands for any

Result<Pointer> parse_pointer(std::string_view text);

// What stands at a place that patterns do not look at: a name, or a JSON schema, of which only titles,
// descriptions, defaults and examples are texts.
enum class Holds : uint8_t { name, schema };
struct Place {
  Pointer at;  // its segments are globs over members; [] is any element of an array
  Holds holds = Holds::name;
};

class RedactRules {
 public:
  // The error names what is wrong and the pattern.
  static Result<RedactRules> make(const std::vector<std::string>& patterns, std::string replacement);

  // Adds edits for the value at `value` of `text`, which is valid JSON; gives how many there were. Patterns
  // leave `names` alone; a pointer that leads there means it.
  uint64_t find(std::string_view text, json::Span value, const std::vector<Pointer>& pointers,
                json::Splice& splice, const std::vector<Place>& names = {}) const;
  // Plain text, by the patterns alone.
  std::string plain(std::string_view text, uint64_t* count = nullptr) const;

 private:
  std::string replacement_;  // plain
  std::string quoted_;       // as a JSON string
  std::string rewrite_;      // as RE2 wants it
  std::vector<std::shared_ptr<const RE2>> patterns_;
  bool matches(std::string& text) const;
};

}  // namespace lineward::plugins
