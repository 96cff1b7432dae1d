#include "json_text.h"

#include <simdjson.h>

#include <algorithm>
#include <string>
#include <utility>

namespace lineward::sim {
namespace {

using simdjson::dom::element_type;

Json made_of(simdjson::dom::element value) {
  switch (value.type()) {
    case element_type::OBJECT: {
      Json out = Json::object();
      auto& members = out.get_ref<Json::object_t&>();
      const simdjson::dom::object its = value.get_object().value_unsafe();
      members.reserve(its.size());
      for (const auto& member : its) {
        const auto same = [&](const auto& one) { return one.first == member.key; };
        const auto found = std::find_if(members.begin(), members.end(), same);
        if (found != members.end())
          found->second = made_of(member.value);
        else
          members.emplace_back(std::string(member.key), made_of(member.value));
      }
      return out;
    }
    case element_type::ARRAY: {
      Json out = Json::array();
      auto& items = out.get_ref<Json::array_t&>();
      const simdjson::dom::array its = value.get_array().value_unsafe();
      items.reserve(its.size());
      for (const auto item : its)
        items.push_back(made_of(item));
      return out;
    }
    case element_type::STRING: return std::string(value.get_string().value_unsafe());
    case element_type::INT64: {
      // As nlohmann has it: what is not negative is unsigned.
      const int64_t number = value.get_int64().value_unsafe();
      return number < 0 ? Json(number) : Json(static_cast<uint64_t>(number));
    }
    case element_type::UINT64: return value.get_uint64().value_unsafe();
    case element_type::DOUBLE: return value.get_double().value_unsafe();
    case element_type::BOOL: return value.get_bool().value_unsafe();
    case element_type::NULL_VALUE: break;
  }
  return nullptr;
}

}  // namespace

Json read_json(std::string_view text) {
  // Only one thread of a world runs at a time.
  static simdjson::dom::parser parser;
  simdjson::dom::element value;
  if (parser.parse(text.data(), text.size()).get(value) == simdjson::SUCCESS) return made_of(value);
  return Json::parse(text, nullptr, false);  // a number that is too big for it, or no JSON
}

std::vector<std::string> elements_of(std::string_view array) {
  std::vector<std::string> found;
  size_t depth = 0, began = 0;
  bool quoted = false;
  for (size_t at = 0; at < array.size(); ++at) {
    const char c = array[at];
    if (quoted) {
      if (c == '\\') ++at;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      if (++depth == 2) began = at;
    } else if (c == '}' || c == ']') {
      if (--depth == 1) found.emplace_back(array.substr(began, at + 1 - began));
    }
  }
  return found;
}

const Json& member_of(const Json& object, const char* name) {
  static const Json none;
  const auto found = object.is_object() ? object.find(name) : object.end();
  return found == object.end() ? none : *found;
}

const Json& object_in(const Json& object, const char* name) {
  static const Json none = Json::object();
  const Json& member = member_of(object, name);
  return member.is_object() ? member : none;
}

}  // namespace lineward::sim
