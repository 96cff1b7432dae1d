// Parses untrusted JSON documents off the hot path. Duplicate names in an object are rejected, since two
// readers may use different values.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/json/json_scan.h"

namespace lineward::plugins {

inline std::optional<nlohmann::json> strict_object(std::string_view text) {
  using nlohmann::json;
  constexpr int kMaxDepth = 32;
  if (lineward::json::validate(text, kMaxDepth) != lineward::json::Fault::none) return std::nullopt;
  std::vector<std::set<std::string>> names;
  bool fine = true;
  auto look = [&](int, json::parse_event_t event, json& value) {
    if (event == json::parse_event_t::object_start) {
      names.emplace_back();
    } else if (event == json::parse_event_t::object_end) {
      names.pop_back();
    } else if (event == json::parse_event_t::key) {
      fine = fine && names.back().insert(value.get<std::string>()).second;
    }
    return true;
  };
  json document = json::parse(text.begin(), text.end(), look, false);
  if (!fine || !document.is_object()) return std::nullopt;
  return document;
}

}  // namespace lineward::plugins
