// Bounds the results of tools: one that is larger becomes an error of the tool, or its texts are cut.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "config/duration.h"
#include "foundation/base/glob.h"
#include "foundation/json/json_member.h"
#include "foundation/json/json_splice.h"
#include "plugins/common/task_book.h"
#include "plugins/common/types.h"
#include "plugins/tools/result_cut.h"
#include "proxy/plugin/host.h"

namespace lineward::plugins {
namespace {

using config::Kind;
using config::plugin_option;
using mcp::Field;
using mcp::MessageKind;
using mcp::Method;
using plugin::Verdict;

constexpr plugin::MetricRow kMetrics[] = {
    {"lineward_result_limit_total", "counter", "action",
     "Results over a limit of resultLimit: cut, or replaced by an error of the tool (refused)."},
};

enum class Excess : uint8_t { refuse, cut };

// Content as clients of any revision read it: the oldest one has it in `toolResult`.
bool holds_result(std::string_view object) {
  return json::member(object, "content") || json::member(object, "structuredContent") ||
         json::member(object, "toolResult");
}

// A question for input, or the state of a task that a call has begun.
bool is_no_result(Method method, std::string_view object) {
  if (holds_result(object)) return false;
  const std::string type = json::string_value(json::member(object, "resultType"));
  if (type == "input_required") return true;
  return method == Method::tools_call && !json::member(object, "result") &&
         (type == "task" || json::member(object, "task"));
}

class ResultLimit final : public plugin::Plugin {
 public:
  explicit ResultLimit(const config::PluginEntry& entry)
      : tools_(entry.values.list("tools")),
        bounds_{entry.values.number("maxBytes"), entry.values.number("maxItems")},
        excess_(static_cast<Excess>(entry.values.number("excess"))) {}
  std::unique_ptr<plugin::Hook> attach(plugin::ExchangeView& exchange) override;
  void count(plugin::CounterSink& sink) const override {
    sink.add(kMetrics[0].name, "cut", static_cast<double>(cut_));
    sink.add(kMetrics[0].name, "refused", static_cast<double>(refused_));
  }

  void judge(const plugin::RequestInfo& facts, mcp::Message& message);
  bool spares_task(std::string_view server, std::string_view id) const {
    return !tools_.empty() && tasks::is_of_others(server, id, tools_);
  }

 private:
  bool is_named(std::string_view tool) const {
    return tools_.empty() || std::any_of(tools_.begin(), tools_.end(),
                                         [&](const std::string& glob) { return glob_match(glob, tool); });
  }
  // `result`: a part of the message.
  void judge(const plugin::RequestInfo& facts, mcp::Message& message, std::string_view result);
  std::string why(std::string_view tool, const ResultSize& size) const;

  const std::vector<std::string> tools_;
  const ResultBounds bounds_;
  const Excess excess_;
  uint64_t cut_ = 0, refused_ = 0;
};

class Limiting final : public plugin::Hook {
 public:
  explicit Limiting(ResultLimit& limit) : limit_(limit) {}
  Verdict on_client_message(plugin::ExchangeView& view, mcp::Message& message) override {
    const plugin::RequestInfo facts = view.facts();
    for (const std::string& id : tasks::named(facts.method, message))
      task_of_others_ = limit_.spares_task(facts.upstream, id);
    return Verdict::proceed;
  }
  Verdict on_upstream_message(plugin::ExchangeView& view, mcp::Message& message) override {
    const plugin::RequestInfo facts = view.facts();
    tasks::note(facts, message);
    if (message.kind() == MessageKind::result && !task_of_others_) limit_.judge(facts, message);
    return Verdict::proceed;
  }

 private:
  ResultLimit& limit_;
  bool task_of_others_ = false;  // the task's tool is known, and is not limited
};

std::unique_ptr<plugin::Hook> ResultLimit::attach(plugin::ExchangeView& exchange) {
  const plugin::RequestInfo facts = exchange.facts();
  if (facts.method == Method::tools_call) {
    if (is_named(facts.target)) return std::make_unique<Limiting>(*this);
    return std::make_unique<tasks::Remembering>();
  }
  return tasks::is_about_task(facts.method) ? std::make_unique<Limiting>(*this) : nullptr;
}

std::string ResultLimit::why(std::string_view tool, const ResultSize& size) const {
  const bool by_bytes = bounds_.bytes > 0 && size.bytes > bounds_.bytes;
  const std::string what =
      by_bytes ? fmt::format("{} bytes", size.bytes) : fmt::format("{} items", size.items);
  const std::string limit = by_bytes
                                ? fmt::format("resultLimit.maxBytes ({})", config::format_size(bounds_.bytes))
                                : fmt::format("resultLimit.maxItems ({})", bounds_.items);
  return fmt::format(
      "The result{} has {}, more than the gateway passes on: {}. The tool has run; ask it for less.",
      tool.empty() ? "" : fmt::format(" of {}", tool), what, limit);
}

// The result of a call is the whole; a task's state has it within. A result beside that counts too: clients
// read either.
void ResultLimit::judge(const plugin::RequestInfo& facts, mcp::Message& message) {
  const bool is_state = facts.method != Method::tools_call && facts.method != Method::tasks_result;
  if (!is_state) return judge(facts, message, message.raw(Field::result));
  if (const auto within = json::member(message.raw(Field::result), "result")) judge(facts, message, *within);
  if (holds_result(message.raw(Field::result))) judge(facts, message, message.raw(Field::result));
}

void ResultLimit::judge(const plugin::RequestInfo& facts, mcp::Message& message, std::string_view result) {
  if (bounds_.items == 0 && result.size() <= bounds_.bytes) return;
  const ResultSize size = size_of_result(result, bounds_.items > 0);
  if (!bounds_.exceeded_by(size) || is_no_result(facts.method, result)) return;
  std::optional<std::string> changed;
  if (excess_ == Excess::cut) changed = cut_result(result, bounds_);
  ++(changed ? cut_ : refused_);
  if (!changed)
    changed = error_result(why(facts.method == Method::tools_call ? facts.target : "", size),
                           facts.era == mcp::Era::modern);
  json::Splice splice = message.splice();
  const auto begin = static_cast<uint32_t>(result.data() - message.bytes().data());
  splice.replace({begin, begin + static_cast<uint32_t>(result.size())}, std::move(*changed));
  auto smaller = mcp::Message::parse(splice.apply_outlined(), json::kDepthCeiling);
  if (smaller) message = std::move(*smaller);
}

const config::PluginSpec kSpec{
    "resultLimit",
    "Bounds the size of tools' results: a larger one becomes an error of the tool, or its texts are cut.",
    false,
    {plugin_option("maxBytes", Kind::size, "1MiB", 0, 1 << 30, "The largest result, as JSON. 0: no limit."),
     plugin_option("maxItems", Kind::count, "0", 0, 1000000, "The most items of its content. 0: no limit."),
     plugin_option("tools", Kind::list, "", 0, 0, "Globs of the tools; empty: every tool."),
     config::plugin_choice("excess", "refuse|cut", "refuse",
                           "Refuse a larger result with an error of the tool, or cut its texts.")},
    {}};

Result<std::unique_ptr<plugin::Plugin>> make(const config::PluginEntry& entry, plugin::Host&) {
  const uint64_t bytes = entry.values.number("maxBytes");
  if (bytes == 0 && entry.values.number("maxItems") == 0)
    return fail("give maxBytes or maxItems: there is no limit");
  if (bytes > 0 && bytes < 1024) return fail("maxBytes: at least 1KiB");
  return Result<std::unique_ptr<plugin::Plugin>>(std::make_unique<ResultLimit>(entry));
}

}  // namespace

plugin::Type result_limit() {
  return {&kSpec, kMetrics, make};
}

}  // namespace lineward::plugins
