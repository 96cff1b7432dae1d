// The methods that the gateway knows; all others are handled by their shape alone. Each method has a row.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "protocol/mcp/message.h"

namespace lineward::mcp {

enum class Method : uint8_t {
  initialize,
  ping,
  server_discover,
  tools_list,
  tools_call,
  prompts_list,
  prompts_get,
  resources_list,
  resources_templates_list,
  resources_read,
  resources_subscribe,
  resources_unsubscribe,
  completion_complete,
  logging_set_level,
  subscriptions_listen,
  tasks_get,
  tasks_update,
  tasks_cancel,
  tasks_list,  // 2025-11-25 only
  tasks_result,
  initialized,  // notifications from here on
  cancelled,
  progress,
  message,
  resources_updated,
  tools_list_changed,
  prompts_list_changed,
  resources_list_changed,
  roots_list_changed,
  subscriptions_acknowledged,
  elicitation_complete,
  roots_list,  // requests sent by servers
  sampling_create_message,
  elicitation_create,
  other
};

struct MethodRow {
  Method method;
  std::string_view name;
  bool modern;     // part of 2026-07-28; a removed method is −32601 for modern clients
  Field mcp_name;  // the field in the Mcp-Name header; Field::count_: no such header
  bool may_ask;    // the server may send requests to its client during this call
};

inline constexpr std::array<MethodRow, static_cast<size_t>(Method::other)> kMethods{{
    {Method::initialize, "initialize", false, Field::count_, false},
    {Method::ping, "ping", false, Field::count_, false},
    {Method::server_discover, "server/discover", true, Field::count_, false},
    {Method::tools_list, "tools/list", true, Field::count_, false},
    {Method::tools_call, "tools/call", true, Field::params_name, true},
    {Method::prompts_list, "prompts/list", true, Field::count_, false},
    {Method::prompts_get, "prompts/get", true, Field::params_name, true},
    {Method::resources_list, "resources/list", true, Field::count_, false},
    {Method::resources_templates_list, "resources/templates/list", true, Field::count_, false},
    {Method::resources_read, "resources/read", true, Field::params_uri, true},
    {Method::resources_subscribe, "resources/subscribe", false, Field::count_, false},
    {Method::resources_unsubscribe, "resources/unsubscribe", false, Field::count_, false},
    {Method::completion_complete, "completion/complete", true, Field::count_, false},
    {Method::logging_set_level, "logging/setLevel", false, Field::count_, false},
    {Method::subscriptions_listen, "subscriptions/listen", true, Field::count_, false},
    {Method::tasks_get, "tasks/get", true, Field::params_task_id, false},
    {Method::tasks_update, "tasks/update", true, Field::params_task_id, false},
    {Method::tasks_cancel, "tasks/cancel", true, Field::params_task_id, false},
    {Method::tasks_list, "tasks/list", false, Field::count_, false},
    {Method::tasks_result, "tasks/result", false, Field::count_, false},
    {Method::initialized, "notifications/initialized", false, Field::count_, false},
    {Method::cancelled, "notifications/cancelled", true, Field::count_, false},
    {Method::progress, "notifications/progress", true, Field::count_, false},
    {Method::message, "notifications/message", true, Field::count_, false},
    {Method::resources_updated, "notifications/resources/updated", true, Field::count_, false},
    {Method::tools_list_changed, "notifications/tools/list_changed", true, Field::count_, false},
    {Method::prompts_list_changed, "notifications/prompts/list_changed", true, Field::count_, false},
    {Method::resources_list_changed, "notifications/resources/list_changed", true, Field::count_, false},
    {Method::roots_list_changed, "notifications/roots/list_changed", false, Field::count_, false},
    {Method::subscriptions_acknowledged, "notifications/subscriptions/acknowledged", true, Field::count_,
     false},
    {Method::elicitation_complete, "notifications/elicitation/complete", false, Field::count_, false},
    {Method::roots_list, "roots/list", false, Field::count_, false},
    {Method::sampling_create_message, "sampling/createMessage", false, Field::count_, false},
    {Method::elicitation_create, "elicitation/create", false, Field::count_, false},
}};

// The slot at which the search for a method begins. Methods of the same slot use the next free ones.
constexpr size_t kMethodSlots = 128;
constexpr size_t method_slot(std::string_view name) {
  const auto byte = [name](size_t at) { return static_cast<unsigned char>(name[at]); };
  return (name.size() + 3u * byte(name.size() - 3) + 7u * byte(name.size() * 2 / 3)) % kMethodSlots;
}
constexpr auto kMethodTable = [] {
  std::array<Method, kMethodSlots> table{};
  table.fill(Method::other);
  for (const auto& r : kMethods) {
    size_t slot = method_slot(r.name);
    while (table[slot] != Method::other)
      slot = (slot + 1) % kMethodSlots;
    table[slot] = r.method;
  }
  return table;
}();

constexpr Method method_of(std::string_view name) {
  if (name.size() < 3) return Method::other;
  for (size_t slot = method_slot(name);; slot = (slot + 1) % kMethodSlots) {
    const Method method = kMethodTable[slot];
    if (method == Method::other || kMethods[static_cast<size_t>(method)].name == name) return method;
  }
}
// Null for Method::other.
constexpr const MethodRow* row(Method method) {
  return method == Method::other ? nullptr : &kMethods[static_cast<size_t>(method)];
}
// Excludes quick read-only methods: their statuses (401, 404) start sessions and sign-ins, and repeating them
// does no harm. All others may run for long.
constexpr bool may_take_long(Method method) {
  switch (method) {
    case Method::initialize:
    case Method::ping:
    case Method::server_discover:
    case Method::tools_list:
    case Method::prompts_list:
    case Method::resources_list:
    case Method::resources_templates_list:
    case Method::resources_subscribe:
    case Method::resources_unsubscribe:
    case Method::logging_set_level:
    case Method::tasks_list: return false;
    default: return true;
  }
}
constexpr bool may_ask(Method method) {
  return method != Method::other && row(method)->may_ask;
}

}  // namespace lineward::mcp
