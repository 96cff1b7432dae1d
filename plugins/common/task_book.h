// Which tool a task came from: whatever is asked of a task later (its state, its result, input for it)
// reaches that tool, so that rules by the names of tools hold there too. One book for the process, since a
// server's tasks are reached by its own path and among many servers alike, perhaps on different workers.
//
// Bounded: beyond kMaxTasks the oldest entry goes, and its task is one whose tool is not known.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mcp/message.h"
#include "mcp/methods.h"
#include "plugin/plugin.h"

namespace lineward::plugins::tasks {

inline constexpr size_t kMaxTasks = 32768;

// Remembers the task that a call of a tool became; anything else is passed over.
void note(const plugin::RequestFacts& facts, const mcp::Message& answer);
// The tools that may be behind a task of this server: several where it has given an id twice, after a restart
// or in another process of its own. Empty: not known, since this process did not see it made.
std::vector<std::string> tools_of(std::string_view server, std::string_view task_id);

// Is a task known to be of tools that none of these globs is for?
bool is_of_others(std::string_view server, std::string_view task_id, const std::vector<std::string>& tools);
// Only remembers what a call becomes: of a tool that a rule is not about, so that this is known of its task.
class Remembering final : public plugin::Hook {
 public:
  plugin::Verdict on_upstream_message(plugin::ExchangeView& view, mcp::Message& message) override {
    note(view.facts(), message);
    return plugin::Verdict::proceed;
  }
};

// Is this a request about one task?
bool is_about_task(mcp::Method method);
// The tasks that a request names: its `taskId`, or those that a listen wants to hear of, wherever they stand.
std::vector<std::string> named(mcp::Method method, const mcp::Message& request);

}  // namespace lineward::plugins::tasks
