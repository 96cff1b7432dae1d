// Members of a gateway's answer. All are optional: a newer gateway may send different ones.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace lineward::cli {

// null if it is absent.
inline const nlohmann::json& member_of(const nlohmann::json& object, const char* key) {
  static const nlohmann::json none;
  auto found = object.find(key);
  return found == object.end() ? none : *found;
}

inline bool has(const nlohmann::json& object, const char* key) {
  auto found = object.find(key);
  return found != object.end() && !found->is_null();
}

inline std::string text_of(const nlohmann::json& object, const char* key) {
  auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

inline bool is_true(const nlohmann::json& object, const char* key) {
  const nlohmann::json& value = member_of(object, key);
  return value.is_boolean() && value.get<bool>();
}

inline int64_t number_of(const nlohmann::json& object, const char* key, int64_t fallback = 0) {
  auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<int64_t>() : fallback;
}

}  // namespace lineward::cli
