// The four kinds of lists, and the fields of an item that the aggregate rewrites.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "protocol/mcp/message.h"
#include "protocol/mcp/methods.h"

namespace lineward::aggregate {

enum class List : uint8_t { tools, prompts, resources, templates, count_ };

struct ListRow {
  List list;
  mcp::Method method;
  std::string_view member;      // of the result: the array
  mcp::Field items;             // the same array
  std::string_view capability;  // declared by a server with such a list
  std::string_view key;         // the identifying field of an item
};

inline constexpr std::array<ListRow, static_cast<size_t>(List::count_)> kLists{{
    {List::tools, mcp::Method::tools_list, "tools", mcp::Field::result_tools, "tools", "name"},
    {List::prompts, mcp::Method::prompts_list, "prompts", mcp::Field::result_prompts, "prompts", "name"},
    {List::resources, mcp::Method::resources_list, "resources", mcp::Field::result_resources, "resources",
     "uri"},
    {List::templates, mcp::Method::resources_templates_list, "resourceTemplates",
     mcp::Field::result_resource_templates, "resources", "uriTemplate"},
}};

constexpr const ListRow& row(List list) {
  return kLists[static_cast<size_t>(list)];
}
// Null for other methods.
constexpr const ListRow* list_of(mcp::Method method) {
  for (const auto& one : kLists) {
    if (one.method == method) return &one;
  }
  return nullptr;
}

// Fixed limits.
inline constexpr size_t kMaxNames = 100'000;  // stored names of each kind, over all servers
inline constexpr size_t kMaxSeen = 10'000;    // URIs seen in results, the last ones
inline constexpr uint32_t kMaxPages = 1000;   // of one server's list

}  // namespace lineward::aggregate
