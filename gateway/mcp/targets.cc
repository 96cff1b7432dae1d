#include "mcp/targets.h"

namespace lineward::mcp {
namespace {

// {"type":"ref/prompt","name":…} or {"type":"ref/resource","uri":…}; whichever stands there, however often.
std::string reference_fault(std::string_view params) {
  std::string fault;
  for_each_param(params, [&](const std::string& key, std::string_view reference) {
    if (key != "ref" || !fault.empty()) return;
    if (reference.front() != '{') fault = "params.ref must be an object";
    for_each_param(reference, [&](const std::string& inner, std::string_view value) {
      const bool target = inner == "name" || inner == "uri" || inner == "type";
      if (target && value.front() != '"') fault = "params.ref." + inner + " must be a string";
    });
  });
  return fault;
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
    case Method::tasks_get:
    case Method::tasks_update:
    case Method::tasks_cancel:
    case Method::tasks_result: return wrong(Field::params_task_id) ? "params.taskId must be a string" : "";
    default: return {};
  }
}

}  // namespace lineward::mcp
