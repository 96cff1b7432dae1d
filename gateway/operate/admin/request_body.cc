#include "operate/admin/request_body.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <set>
#include <string_view>
#include <vector>

#include "config/options/names.h"
#include "foundation/json/json_scan.h"
#include "foundation/log/sanitize.h"
#include "operate/admin/api_schemas.h"

namespace lineward::admin {
namespace {

using nlohmann::json;

constexpr size_t kMaxShown = 64;  // of an unknown name

const json& body_schemas() {
  static const json all = json::parse(api_schemas());
  return all;
}

}  // namespace

json parse_body(const std::string& text) {
  std::set<std::string, std::less<>> seen;
  bool doubled = false;
  const auto look = [&](int depth, json::parse_event_t event, json& value) {
    if (event == json::parse_event_t::key && depth == 1)
      doubled = !seen.insert(value.get<std::string>()).second || doubled;
    return true;
  };
  if (lineward::json::validate(text, lineward::json::kDepthCeiling) != lineward::json::Fault::none)
    return json(json::value_t::discarded);
  json body = json::parse(text, look, false);
  return doubled ? json(json::value_t::discarded) : body;
}

std::string body_fault(const ApiRoute& route, const json& body) {
  const json& members = body_schemas().at(std::string(route.body)).at("properties");
  for (const auto& [name, value] : body.items()) {
    auto known = members.find(name);
    if (known == members.end()) {
      std::vector<std::string_view> names;
      for (const auto& one : members.items())
        names.push_back(one.key());
      const std::string_view likely = config::nearest(name, names);
      return fmt::format("the body has '{}', which is not a field here; {}", sanitize(name, kMaxShown),
                         likely.empty() ? fmt::format("it may have {}", fmt::join(names, ", "))
                                        : fmt::format("did you mean '{}'?", likely));
    }
    const auto type = known->at("type").get<std::string>();
    if (type == "boolean" ? !value.is_boolean() : !value.is_string())
      return fmt::format("{} in the body is {}", name, type == "boolean" ? "true or false" : "a text");
  }
  return {};
}

}  // namespace lineward::admin
