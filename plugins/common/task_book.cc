#include "plugins/common/task_book.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <unordered_map>

#include "foundation/base/glob.h"
#include "foundation/base/memory_charge.h"
#include "foundation/json/json_member.h"
#include "plugins/common/rate_limit_table.h"
#include "plugins/common/tool_filter_rules.h"

namespace lineward::plugins::tasks {
namespace {

using mcp::Field;
using mcp::Method;

constexpr size_t kMaxTool = 256;
constexpr size_t kMaxTools = 8;     // for one id
constexpr size_t kBytesEach = 160;  // of the tables, without the name

struct Hash {
  size_t operator()(const RateKey& key) const {
    size_t out = 0;
    std::memcpy(&out, key.data(), sizeof out);
    return out;
  }
};

struct Book {
  std::mutex mutex;
  std::unordered_map<RateKey, std::vector<std::string>, Hash> tools;
  std::deque<RateKey> order;  // oldest first
  size_t bytes = 0;
  MemoryCharge held{Held::plugins};
};

Book& book() {
  static Book* const kBook = new Book;  // outlives every thread
  return *kBook;
}

// Digests: any id has the same size, and a client cannot choose its hash bucket.
RateKey key_of(std::string_view server, std::string_view task_id) {
  std::string text(server);
  text += '\0';
  return rate_key(text.append(task_id));
}

// An id that is used for too many tools counts as unknown.
void forget_tools(Book& all, std::vector<std::string>& tools) {
  for (const std::string& tool : tools)
    all.bytes -= tool.size() + sizeof(std::string);
  tools.clear();
}

void put(std::string_view server, std::string_view task_id, std::string_view tool) {
  // A truncated name would be wrong: the task then has an unknown tool.
  if (task_id.empty() || tool.empty() || tool.size() > kMaxTool) return;
  const RateKey key = key_of(server, task_id);
  Book& all = book();
  std::lock_guard<std::mutex> lock(all.mutex);
  auto [entry, made] = all.tools.try_emplace(key);
  std::vector<std::string>& tools = entry->second;
  if (made) {
    all.order.push_back(key);
    all.bytes += kBytesEach;
  } else if (tools.empty() || std::find(tools.begin(), tools.end(), tool) != tools.end()) {
    return;
  }
  tools.emplace_back(tool);
  all.bytes += tool.size() + sizeof(std::string);
  if (tools.size() > kMaxTools) forget_tools(all, tools);
  while (all.order.size() > kMaxTasks) {
    auto oldest = all.tools.find(all.order.front());
    forget_tools(all, oldest->second);
    all.bytes -= kBytesEach;
    all.tools.erase(oldest);
    all.order.pop_front();
  }
  all.held.set(all.bytes);
}

}  // namespace

void note(const plugin::RequestInfo& facts, const mcp::Message& answer) {
  if (facts.method != Method::tools_call || answer.kind() != mcp::MessageKind::result) return;
  // Most results have no task, and some are large: a search is cheaper than a walk.
  const std::string& bytes = answer.bytes();
  if (bytes.find("taskId") == std::string::npos && bytes.find("\\u") == std::string::npos) return;
  // 2025-11-25 has it in `task`, the tasks extension of 2026-07-28 in the result itself.
  for (std::string_view object : {answer.raw(Field::result_task), answer.raw(Field::result)}) {
    for (std::string_view id : values_named(object, "taskId"))
      put(facts.upstream, json::string_value(id), facts.target);
  }
}

std::vector<std::string> tools_of(std::string_view server, std::string_view task_id) {
  const RateKey key = key_of(server, task_id);
  Book& all = book();
  std::lock_guard<std::mutex> lock(all.mutex);
  auto found = all.tools.find(key);
  return found == all.tools.end() ? std::vector<std::string>() : found->second;
}

bool is_of_others(std::string_view server, std::string_view task_id, const std::vector<std::string>& tools) {
  const std::vector<std::string> behind = tools_of(server, task_id);
  return !behind.empty() && std::none_of(behind.begin(), behind.end(), [&](const std::string& tool) {
    return std::any_of(tools.begin(), tools.end(),
                       [&](const std::string& glob) { return glob_match(glob, tool); });
  });
}

bool is_about_task(Method method) {
  return method == Method::tasks_get || method == Method::tasks_update || method == Method::tasks_cancel ||
         method == Method::tasks_result;
}

std::vector<std::string> named(Method method, const mcp::Message& request) {
  std::vector<std::string> out;
  if (is_about_task(method)) {
    for (std::string_view id : values_named(request.raw(Field::params), "taskId"))
      out.push_back(json::string_value(id));
    if (out.empty()) out.emplace_back();  // invalid for the server; its tool is unknown
  }
  if (method != Method::subscriptions_listen) return out;
  for (std::string_view wanted : values_named(request.raw(Field::params_notifications), "taskIds")) {
    json::Cursor cursor(wanted, json::kDepthCeiling);
    if (!cursor.at_array() || !cursor.enter_array()) continue;
    json::Span at;
    while (cursor.next_element() && cursor.skip(at))
      out.push_back(json::string_value(at.in(wanted)));
  }
  return out;
}

}  // namespace lineward::plugins::tasks
