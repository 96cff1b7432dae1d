#include "mcp/output_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/json_member.h"
#include "base/json_splice.h"

namespace lineward::mcp {
namespace {

constexpr std::string_view kNewPlace = "/properties/result";

bool is_any(std::string_view key, const auto& names) {
  return std::find(names.begin(), names.end(), key) != names.end();
}

// Their values are data, whatever it looks like.
constexpr std::array<std::string_view, 5> kData{"const", "enum", "default", "examples", "example"};
// Their members are named by the schema's author: each is a schema.
constexpr std::array<std::string_view, 7> kMaps{"properties",  "patternProperties", "$defs",
                                                "definitions", "dependentSchemas",  "dependencies",
                                                "$vocabulary"};
constexpr std::array<std::string_view, 3> kReferences{"$ref", "$dynamicRef", "$recursiveRef"};

class Mover {
 public:
  explicit Mover(std::string_view text) : text_(text), splice_(text) {}

  void schema(std::string_view value, bool root) {
    if (value.empty()) return;
    if (value.front() == '[') return each_element(value);
    if (value.front() != '{') return;
    // A schema with an identifier of its own is the base of its references, wherever it stands.
    if (!json::string_value(json::member(value, "$id")).empty()) return;
    json::for_each_member(value, [&](const std::string& key, std::string_view inner) {
      if (is_any(key, kReferences) && inner.front() == '"') return reference(inner);
      if (root && key == "$schema") return;
      if (is_any(key, kData)) return;
      if (!is_any(key, kMaps) || inner.front() != '{') return schema(inner, false);
      json::for_each_member(inner, [&](const std::string&, std::string_view one) { schema(one, false); });
    });
  }

  std::string apply() { return splice_.empty() ? std::string(text_) : splice_.apply(); }

 private:
  void each_element(std::string_view array) {
    json::Cursor cursor(array);
    if (!cursor.at_array() || !cursor.enter_array()) return;
    json::Span value;
    while (cursor.next_element() && cursor.skip(value))
      schema(value.in(array), false);
  }
  void reference(std::string_view raw) {
    std::string target = json::string_value(raw);
    // "#name" is an anchor, which is found wherever it stands.
    if (target != "#" && target.rfind("#/", 0) != 0) return;
    auto begin = static_cast<uint32_t>(raw.data() - text_.data());
    splice_.replace({begin, begin + static_cast<uint32_t>(raw.size())},
                    json::quote(fmt::format("#{}{}", kNewPlace, target.substr(1))));
  }

  std::string_view text_;
  json::Splice splice_;
};

}  // namespace

bool is_object_schema(std::string_view schema) {
  return json::string_value(json::member(schema, "type")) == "object";
}

std::string wrapped_schema(std::string_view schema) {
  // The dialect is said once, at the root.
  auto dialect = json::member(schema, "$schema");
  std::string said = dialect ? fmt::format(R"("$schema":{},)", *dialect) : std::string();
  Mover mover(schema);
  mover.schema(schema, true);
  return fmt::format(R"({{{}"type":"object","properties":{{"result":{}}},"required":["result"]}})", said,
                     mover.apply());
}

}  // namespace lineward::mcp
