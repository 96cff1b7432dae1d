// Parses untrusted documents to nlohmann trees. Copying, comparing and serializing a tree recurse once per
// level, so a text of some thousand levels would crash the process. For code that links nlohmann_json.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "foundation/json/json_scan.h"

namespace lineward::json {

// Discarded (is_discarded()) if the text is not JSON in UTF-8, or is nested deeper than `max_depth`. A
// leading byte order mark is skipped (RFC 8259, section 8.1).
inline nlohmann::json parse_document(std::string_view text, int max_depth = kDepthCeiling) {
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  if (validate(text, max_depth) != Fault::none) return nlohmann::json(nlohmann::json::value_t::discarded);
  return nlohmann::json::parse(text, nullptr, false);
}

}  // namespace lineward::json
