// Makes a tool's result smaller: texts of its content are cut, and everything else stays as it is. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lineward::plugins {

struct ResultSize {
  uint64_t bytes = 0;  // of the JSON text
  uint64_t items = 0;  // of `content`
};

struct ResultBounds {
  uint64_t bytes = 0;  // 0: no limit
  uint64_t items = 0;  // the same
  bool exceeded_by(const ResultSize& size) const {
    return (bytes > 0 && size.bytes > bytes) || (items > 0 && size.items > items);
  }
};

// `result`: a valid JSON text, the result of tools/call. Items are counted only if `items` is set.
ResultSize size_of_result(std::string_view result, bool items);

// The result within these bounds. Its last text items are cut first, and the last line of each says how much
// is missing. Items over `items` are left out. Never cuts structuredContent, images, audio or
// resources: nullopt if the rest alone is too large.
std::optional<std::string> cut_result(std::string_view result, const ResultBounds& bounds);

// A result that says `why` and is an error of the tool, for clients of this era.
std::string error_result(std::string_view why, bool modern);

}  // namespace lineward::plugins
