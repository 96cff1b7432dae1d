// Documents of others as a tree of nlohmann's: its copies, comparisons and texts call themselves once for
// each level, so that a text of some thousand levels ends the process. For whoever links nlohmann_json.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "json/json_scan.h"

namespace lineward::json {

// Discarded (is_discarded()) when the text is no JSON in UTF-8, or is nested deeper than that. A byte order
// mark before it is passed over (RFC 8259, 8.1).
inline nlohmann::json parse_document(std::string_view text, int max_depth = kDepthCeiling) {
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  if (validate(text, max_depth) != Fault::none) return nlohmann::json(nlohmann::json::value_t::discarded);
  return nlohmann::json::parse(text, nullptr, false);
}

}  // namespace lineward::json
