#include "protocol/mcp/client_capabilities.h"

#include <array>

#include "foundation/json/json_member.h"
#include "foundation/json/json_splice.h"
#include "protocol/mcp/methods.h"

namespace lineward::mcp {
namespace {

bool is_object(std::optional<std::string_view> value) {
  return value && !value->empty() && value->front() == '{';
}

// Members of `object` with these names, if they are objects.
std::string only(std::string_view object, std::initializer_list<std::string_view> names) {
  std::string out;
  for (std::string_view name : names) {
    auto value = json::member(object, name);
    if (!is_object(value)) continue;
    out += out.empty() ? "" : ",";
    out += '"';
    out += name;
    out += "\":";
    out += json::compact(*value);
  }
  return "{" + out + "}";
}

// Extensions that a legacy server may see: without the tasks of 2026-07-28, which differ from its own.
std::string crossing(std::string_view extensions) {
  std::string out;
  json::for_each_member(extensions, [&](const std::string& name, std::string_view value) {
    if (name == "io.modelcontextprotocol/tasks") return;
    if (!out.empty()) out += ',';
    out += json::quote(name);
    out += ':';
    out += json::compact(value);
  });
  return "{" + out + "}";
}

}  // namespace

LegacyCapabilities legacy_capabilities(std::string_view declared, RootsChanges roots) {
  struct Row {
    std::string_view name;
    bool asks;
  };
  constexpr std::array<Row, 5> kRows{{{"elicitation", true},
                                      {"sampling", true},
                                      {"roots", true},
                                      {"experimental", false},
                                      {"extensions", false}}};
  LegacyCapabilities out;
  std::string members;
  for (const Row& row : kRows) {
    auto value = json::member(declared, row.name);
    if (!is_object(value)) continue;
    std::string object;
    if (row.name == "elicitation") {
      object = only(*value, {"form", "url"});
    } else if (row.name == "sampling") {
      object = only(*value, {"context", "tools"});
    } else {
      // A modern client cannot notify changes of its roots.
      const bool without_members = row.name == "roots" && roots == RootsChanges::untold;
      object = without_members ? "{}" : row.name == "extensions" ? crossing(*value) : json::compact(*value);
    }
    members += members.empty() ? "\"" : ",\"";
    members += row.name;
    members += "\":" + object;
    out.may_be_asked = out.may_be_asked || row.asks;
  }
  out.object = "{" + members + "}";
  return out;
}

bool declares(std::string_view capabilities, const Message& question) {
  auto has = [&](std::string_view outer, std::string_view inner = {}) {
    auto value = json::member(capabilities, outer);
    return is_object(value) && (inner.empty() || is_object(json::member(*value, inner)));
  };
  std::string_view params = question.raw(Field::params);
  switch (method_of(question.method())) {
    case Method::elicitation_create:
      if (json::string_value(json::member(params, "mode")) == "url") return has("elicitation", "url");
      // An empty object means forms.
      return has("elicitation", "form") || (has("elicitation") && !has("elicitation", "url"));
    case Method::sampling_create_message:
      return has("sampling",
                 json::member(params, "tools") || json::member(params, "toolChoice") ? "tools" : "");
    case Method::roots_list: return has("roots");
    default: return false;
  }
}

bool declares_any(std::string_view capabilities) {
  return json::member(capabilities, "elicitation") || json::member(capabilities, "sampling") ||
         json::member(capabilities, "roots");
}

}  // namespace lineward::mcp
