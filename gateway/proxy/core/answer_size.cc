#include "proxy/core/answer_size.h"

#include <fmt/format.h>

#include <array>

#include "proxy/metrics/limits.h"

namespace lineward::core {
namespace {

using mcp::Field;
using mcp::Method;

bool is_list(Method method) {
  switch (method) {
    case Method::tools_list:
    case Method::prompts_list:
    case Method::resources_list:
    case Method::resources_templates_list:
    case Method::tasks_list: return true;
    default: return false;
  }
}

Failure refused(std::string_view what, size_t bytes, uint64_t most) {
  metrics::limit_reached(metrics::Limit::list_bytes);
  return {mcp::EndReason::upstream_protocol,
          fmt::format("{} of {} bytes, more than {} (limits.maxListBytes)", what, bytes, most)};
}

}  // namespace

std::optional<Failure> too_long(const config::Server& server, Method method, const mcp::Message& answer) {
  const uint64_t most = server.limits.max_list_bytes;
  if (answer.kind() != mcp::MessageKind::result || answer.bytes().size() <= most) return std::nullopt;
  constexpr std::array kLists{Field::result_tools, Field::result_prompts, Field::result_resources,
                              Field::result_resource_templates, Field::result_tasks};
  if (is_list(method)) {
    for (const Field list : kLists) {
      if (const size_t bytes = answer.at(list).size(); bytes > most)
        return refused("sent a list", bytes, most);
    }
  }
  if (answer.has(Field::result_type) && answer.text_is(Field::result_type, "input_required")) {
    if (const size_t bytes = answer.bytes_to_walk(Field::result); bytes > most)
      return refused("asked its client with a result", bytes, most);
  }
  return std::nullopt;
}

std::optional<Failure> content_too_long(const config::Server& server, const mcp::Message& answer) {
  const uint64_t most = server.limits.max_list_bytes;
  if (answer.bytes().size() <= most) return std::nullopt;
  size_t bytes = 0;
  for (const Field field :
       {Field::result_content, Field::result_messages, Field::result_contents, Field::result_result})
    bytes += answer.bytes_to_walk(field);
  if (bytes <= most) return std::nullopt;
  return refused("answered with content, without its long texts,", bytes, most);
}

}  // namespace lineward::core
