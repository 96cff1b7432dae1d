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

class RedactRules {
 public:
  // The error names what is wrong and the pattern.
  static Result<RedactRules> make(const std::vector<std::string>& patterns, std::string replacement);

  // Adds edits for the value at `value` of `text`, which is valid JSON; gives how many there were. Patterns
  // leave the strings that begin at `keep` alone.
  uint64_t find(std::string_view text, json::Span value, const std::vector<Pointer>& pointers,
                json::Splice& splice, const std::vector<uint32_t>& keep = {}) const;
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
