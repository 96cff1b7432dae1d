#include "protocol/mcp/output_schema.h"

#include <fmt/format.h>

#include <array>
#include <utility>
#include <vector>

#include "foundation/base/is_among.h"
#include "foundation/json/json_member.h"
#include "foundation/json/json_splice.h"
#include "foundation/json/json_walk.h"

namespace lineward::mcp {
namespace {

constexpr std::string_view kNewPlace = "/properties/result";

// Keywords with arbitrary data as values.
constexpr std::array<std::string_view, 5> kData{"const", "enum", "default", "examples", "example"};
// Keywords that contain schemas under author-defined names.
constexpr std::array<std::string_view, 7> kMaps{"properties",  "patternProperties", "$defs",
                                                "definitions", "dependentSchemas",  "dependencies",
                                                "$vocabulary"};
constexpr std::array<std::string_view, 3> kReferences{"$ref", "$dynamicRef", "$recursiveRef"};

// Walks a schema once and collects the references that must be moved.
class Mover {
 public:
  explicit Mover(std::string_view text) : text_(text), cursor_(text, json::kDepthCeiling) { schema(true); }

  std::string apply() {
    json::Splice splice(text_);
    for (auto& [at, moved] : found_)
      splice.replace(at, std::move(moved));
    return splice.empty() ? std::string(text_) : splice.apply();
  }

 private:
  void schema(bool root) {
    if (cursor_.at_array()) {
      json::walk_elements(cursor_, [&] { schema(false); });
      return;
    }
    if (!cursor_.at_object()) return pass();
    const size_t before = found_.size();
    bool seen_id = false, has_id = false;
    json::walk_members(cursor_, text_, [&](std::string_view key, json::Span) {
      if (key == "$id" && !seen_id) {
        seen_id = true;
        has_id = !json::walk_string(cursor_, text_).empty();
      } else if (is_among(kReferences, key)) {
        reference();
      } else if ((root && key == "$schema") || is_among(kData, key)) {
        pass();
      } else if (is_among(kMaps, key) && cursor_.at_object()) {
        json::walk_members(cursor_, text_, [&](std::string_view, json::Span) { schema(false); });
      } else {
        schema(false);
      }
    });
    // A schema with its own identifier is the base of its references, wherever it is located.
    if (has_id) found_.erase(found_.begin() + static_cast<ptrdiff_t>(before), found_.end());
  }
  void reference() {
    if (cursor_.at_object() || cursor_.at_array()) return schema(false);
    json::Span where;
    const std::string target = json::walk_string(cursor_, text_, &where);
    // "#name" is an anchor, which does not depend on its position.
    if (target != "#" && target.rfind("#/", 0) != 0) return;
    found_.emplace_back(where, json::quote(fmt::format("#{}{}", kNewPlace, target.substr(1))));
  }
  void pass() {
    json::Span value;
    cursor_.skip(value);
  }

  std::string_view text_;
  json::Cursor cursor_;
  std::vector<std::pair<json::Span, std::string>> found_;
};

}  // namespace

bool is_object_schema(std::string_view schema) {
  return json::string_value(json::member(schema, "type")) == "object";
}

std::string wrapped_schema(std::string_view schema) {
  // The dialect is declared once, at the root.
  auto dialect = json::member(schema, "$schema");
  std::string said = dialect ? fmt::format(R"("$schema":{},)", *dialect) : std::string();
  Mover mover(schema);
  return fmt::format(R"({{{}"type":"object","properties":{{"result":{}}},"required":["result"]}})", said,
                     mover.apply());
}

}  // namespace lineward::mcp
