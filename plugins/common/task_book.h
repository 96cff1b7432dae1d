// Maps tasks to their tools: requests about a task (state, result, input) reach its tool, so rules by tool
// name apply to them too. The process has one map, since a task is reachable by its server's path and by the
// aggregate, possibly on different workers.
//
// Bounded: beyond kMaxTasks the oldest entry is dropped, and its task has an unknown tool.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "protocol/mcp/message.h"
#include "protocol/mcp/methods.h"
#include "proxy/plugin/plugin.h"

namespace lineward::plugins::tasks {

inline constexpr size_t kMaxTasks = 32768;

// Records the task created by a tool call; ignores other answers.
void note(const plugin::RequestInfo& facts, const mcp::Message& answer);
// The possible tools of this server's task: several if the server reused an id, after a restart or in another
// process. Empty: unknown, since this process did not see its creation.
std::vector<std::string> tools_of(std::string_view server, std::string_view task_id);

// Whether a task's tools are known, and match none of these globs.
bool is_of_others(std::string_view server, std::string_view task_id, const std::vector<std::string>& tools);
// Only records the tasks of calls of tools without a rule, so that their tools are known later.
class Remembering final : public plugin::Hook {
 public:
  plugin::Verdict on_upstream_message(plugin::ExchangeView& view, mcp::Message& message) override {
    note(view.facts(), message);
    return plugin::Verdict::proceed;
  }
};

// Whether the method is about one task.
bool is_about_task(mcp::Method method);
// The tasks that a request names: its `taskId`, or those in a listen's filter.
std::vector<std::string> named(mcp::Method method, const mcp::Message& request);

}  // namespace lineward::plugins::tasks
