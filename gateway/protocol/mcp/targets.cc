#include "protocol/mcp/targets.h"

#include <fmt/format.h>

#include "foundation/json/json_at.h"
#include "foundation/json/json_case.h"
#include "foundation/json/json_member.h"
#include "protocol/mcp/rewrite.h"

namespace lineward::mcp {
namespace {

// Is there a key that some servers match case-insensitively (foundation/json/json_case.h)? Covers keys that
// the message's own parser does not check.
std::string likeness(std::string_view where, const std::string& key, std::string_view name) {
  if (key == name || !json::differs_in_case_alone(key, name)) return {};
  return fmt::format("a key of {} differs from \"{}\" in its case alone", where, name);
}

// {"type":"ref/prompt","name":…} or {"type":"ref/resource","uri":…}; checks duplicates as well.
std::string reference_fault(std::string_view params) {
  std::string fault;
  for_each_param(params, [&](const std::string& key, std::string_view reference) {
    if (fault.empty()) fault = likeness("params", key, "ref");
    if (key != "ref" || !fault.empty()) return;
    if (reference.front() != '{') fault = "params.ref must be an object";
    for_each_param(reference, [&](const std::string& inner, std::string_view value) {
      for (const char* target : {"name", "uri", "type"}) {
        if (fault.empty()) fault = likeness("params.ref", inner, target);
        if (inner == target && value.front() != '"') fault = "params.ref." + inner + " must be a string";
      }
    });
  });
  return fault;
}

bool is_array_of_strings(std::string_view value) {
  bool strings = true;
  const json::Span all{0, static_cast<uint32_t>(value.size())};
  const bool array = json::for_each_element_at(
      value, all, [&](json::Span element) { strings = strings && json::is_string_at(value, element); });
  return array && strings;
}

// Checks duplicates as well: a server may use the one that no rule has read.
std::string filter_fault(std::string_view filter) {
  std::string fault;
  for_each_param(filter, [&](const std::string& key, std::string_view value) {
    for (const char* wanted : {"resourceSubscriptions", "taskIds"}) {
      if (fault.empty()) fault = likeness("params.notifications", key, wanted);
      if (fault.empty() && key == wanted && !is_array_of_strings(value))
        fault = fmt::format("params.notifications.{} must be an array of strings", wanted);
    }
  });
  return fault;
}

std::string long_uri() {
  return fmt::format("the URI of a subscription is longer than {} bytes", kMaxUriBytes);
}

std::string listen_fault(std::string_view filter) {
  if (filter.size() > kMaxListenBytes)
    return fmt::format("params.notifications of a listen is larger than {} bytes", kMaxListenBytes);
  auto uris = json::member(filter, "resourceSubscriptions");
  if (!uris || uris->size() <= kMaxUriBytes) return {};
  for (const std::string& uri : string_array(*uris)) {
    if (uri.size() > kMaxUriBytes) return long_uri();
  }
  return {};
}

}  // namespace

std::string target_fault(Method method, const Message& message) {
  const auto wrong = [&](Field field) { return message.has(field) && !message.is_string(field); };
  switch (method) {
    case Method::tools_call:
    case Method::prompts_get: return wrong(Field::params_name) ? "params.name must be a string" : "";
    case Method::resources_read:
    case Method::resources_subscribe:
    case Method::resources_unsubscribe: return wrong(Field::params_uri) ? "params.uri must be a string" : "";
    case Method::completion_complete: return reference_fault(message.raw(Field::params));
    case Method::subscriptions_listen: return filter_fault(message.raw(Field::params_notifications));
    case Method::tasks_get:
    case Method::tasks_update:
    case Method::tasks_cancel:
    case Method::tasks_result: return wrong(Field::params_task_id) ? "params.taskId must be a string" : "";
    default: return {};
  }
}

std::string size_fault(Method method, const Message& message) {
  if (message.raw(Field::meta_progress_token).size() > kMaxIdBytes)
    return fmt::format("the progress token is longer than {} bytes", kMaxIdBytes);
  switch (method) {
    case Method::initialize:
      if (message.raw(Field::params).size() <= kMaxInitializeBytes) return {};
      return fmt::format("the params of initialize are larger than {} bytes", kMaxInitializeBytes);
    case Method::resources_subscribe:
    case Method::resources_unsubscribe:
      // Unescaped text is never longer than its JSON: short JSON need not be unescaped.
      if (message.raw(Field::params_uri).size() <= kMaxUriBytes) return {};
      return message.text(Field::params_uri).size() > kMaxUriBytes ? long_uri() : "";
    case Method::subscriptions_listen: return listen_fault(message.raw(Field::params_notifications));
    default: return {};
  }
}

std::string uri_params(const std::string& uri) {
  return fmt::format(R"({{"uri":{}}})", json::quote(uri));
}

std::string level_params(const Message& set_level) {
  const std::string level = set_level.text(Field::params_level);
  return level.size() > 64 ? std::string() : fmt::format(R"({{"level":{}}})", json::quote(level));
}

}  // namespace lineward::mcp
