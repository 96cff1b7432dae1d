#include "admin/request_body.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <vector>

#include "admin/api_schemas.h"
#include "config/options/names.h"
#include "log/printable.h"

namespace lineward::admin {
namespace {

using nlohmann::json;

constexpr size_t kMaxShown = 64;  // of a name that is not ours

const json& body_schemas() {
  static const json all = json::parse(api_schemas());
  return all;
}

}  // namespace

std::string body_fault(const ApiRoute& route, const json& body) {
  const json& members = body_schemas().at(std::string(route.body)).at("properties");
  for (const auto& [name, value] : body.items()) {
    auto known = members.find(name);
    if (known == members.end()) {
      std::vector<std::string_view> names;
      for (const auto& one : members.items())
        names.push_back(one.key());
      const std::string_view likely = config::nearest(name, names);
      return fmt::format("the body has '{}', which is not a field here; {}", printable(name, kMaxShown),
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
