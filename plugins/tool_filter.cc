// Which tools clients may see and call: `allow` and `deny` are globs, a denied one is never allowed. Lists
// are filtered by the rule that guards calls.
#include <algorithm>

#include "base/glob.h"
#include "base/json_member.h"
#include "base/json_splice.h"
#include "plugins/types.h"

namespace lineward::plugins {
namespace {

using config::Kind;
using config::plugin_option;
using mcp::Field;
using plugin::Verdict;

constexpr plugin::MetricRow kMetrics[] = {
    {"lineward_tool_filter_hidden_total", "counter", "", "Tools left out of lists."},
    {"lineward_tool_filter_denied_total", "counter", "", "Calls of tools that the filter does not allow."},
};

class ToolFilter final : public plugin::Plugin {
 public:
  explicit ToolFilter(const config::PluginEntry& entry)
      : allow_(entry.values.list("allow")), deny_(entry.values.list("deny")) {}

  std::unique_ptr<plugin::Hook> attach(plugin::ExchangeView& exchange) override;
  void count(plugin::CounterSink& sink) const override {
    sink.add("lineward_tool_filter_hidden_total", {}, static_cast<double>(hidden));
    sink.add("lineward_tool_filter_denied_total", {}, static_cast<double>(denied));
  }

  bool allows(std::string_view tool) const {
    auto matches = [&](const std::vector<std::string>& globs) {
      return std::any_of(globs.begin(), globs.end(),
                         [&](const std::string& glob) { return glob_match(glob, tool); });
    };
    return !matches(deny_) && (allow_.empty() || matches(allow_));
  }

  uint64_t hidden = 0, denied = 0;

 private:
  std::vector<std::string> allow_, deny_;
};

class Filtering final : public plugin::Hook {
 public:
  explicit Filtering(ToolFilter& filter) : filter_(filter) {}

  Verdict on_client_message(plugin::ExchangeView& exchange, mcp::Message&) override {
    plugin::Facts facts = exchange.facts();
    if (facts.method != mcp::Method::tools_call || filter_.allows(facts.target)) return Verdict::proceed;
    ++filter_.denied;
    // As if it were not there: what a list hides, a call must not find.
    plugin::Refusal refusal;
    refusal.reason = mcp::EndReason::invalid_request;
    refusal.code = -32602;
    refusal.text = "Unknown tool: " + std::string(facts.target.substr(0, 128));
    exchange.refuse(std::move(refusal));
    return Verdict::answered;
  }

  Verdict on_upstream_message(plugin::ExchangeView& exchange, mcp::Message& message) override {
    if (exchange.facts().method != mcp::Method::tools_list || message.kind() != mcp::MessageKind::result)
      return Verdict::proceed;
    std::string_view result = message.raw(Field::result);
    auto list = json::member(result, "tools");
    if (!list) return Verdict::proceed;
    json::Cursor cursor(*list);
    if (!cursor.at_array() || !cursor.enter_array()) return Verdict::proceed;
    std::string kept = "[";
    bool all = true;
    json::Span element;
    while (cursor.next_element() && cursor.skip(element)) {
      std::string_view tool = element.in(*list);
      if (!filter_.allows(json::string_value(json::member(tool, "name")))) {
        all = false;
        ++filter_.hidden;
        continue;
      }
      if (kept.size() > 1) kept += ',';
      kept += tool;
    }
    if (all) return Verdict::proceed;
    kept += ']';
    auto at = static_cast<uint32_t>(list->data() - message.bytes().data());
    json::Splice splice = message.splice();
    splice.replace({at, at + static_cast<uint32_t>(list->size())}, kept);
    if (auto changed = mcp::Message::parse(splice.apply())) message = std::move(*changed);
    return Verdict::proceed;
  }

 private:
  ToolFilter& filter_;
};

std::unique_ptr<plugin::Hook> ToolFilter::attach(plugin::ExchangeView& exchange) {
  mcp::Method method = exchange.facts().method;
  if (method != mcp::Method::tools_call && method != mcp::Method::tools_list) return nullptr;
  return std::make_unique<Filtering>(*this);
}

const config::PluginSpec kSpec{
    "toolFilter",
    "Which tools clients may see and call.",
    false,
    {plugin_option("allow", Kind::list, "", 0, 0, "Globs of tools; empty: all."),
     plugin_option("deny", Kind::list, "", 0, 0, "Globs of tools that are never allowed.")},
    {}};

}  // namespace

plugin::Type tool_filter() {
  return {&kSpec, kMetrics, [](const config::PluginEntry& entry, plugin::Host&) {
            return Result<std::unique_ptr<plugin::Plugin>>(std::make_unique<ToolFilter>(entry));
          }};
}

}  // namespace lineward::plugins
