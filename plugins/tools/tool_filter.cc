// Limits the tools, prompts and resources that clients may see and use (docs/plugins.md). Lists are filtered
// by the same rule as calls; calls are checked by name alone, whatever was listed before.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "config/auth_blocks.h"
#include "config/claim_rules.h"
#include "foundation/json/json_member.h"
#include "foundation/log/log.h"
#include "foundation/net/file_watch.h"
#include "plugins/auth/auth_common.h"
#include "plugins/common/task_book.h"
#include "plugins/common/tool_filter_rules.h"
#include "plugins/common/types.h"
#include "plugins/tools/tool_pins.h"
#include "plugins/tools/uri_rule.h"
#include "proxy/plugin/host.h"

namespace lineward::plugins {
namespace {

using mcp::EndReason;
using mcp::Field;
using mcp::Method;
using plugin::Verdict;

constexpr int kInvalidParams = -32602;
constexpr int kLegacyNoResource = -32002;
constexpr size_t kMaxReported = 10000;
constexpr std::chrono::seconds kSaveAgain{10};

constexpr plugin::MetricRow kMetrics[] = {
    {"lineward_tool_filter_hidden_total", "counter", "", "Tools, prompts and resources left out of lists."},
    {"lineward_tool_filter_denied_total", "counter", "reason",
     "Requests for what the filter does not allow: name, scope, or pin."},
    {"lineward_tool_filter_changed_total", "counter", "", "Tools that turned out not to be as pinned."},
    {"lineward_tool_filter_pinned", "gauge", "", "Definitions that are pinned.", true},
};

// Other reference types are unknown: they may name a tool.
bool refers_to_prompt(std::string_view reference) {
  auto types = values_named(reference, "type");
  return types.size() == 1 && json::string_value(types[0]) == "ref/prompt";
}

class ToolFilter final : public plugin::Plugin {
 public:
  ToolFilter(const config::PluginEntry& entry, ScopeRules scopes, std::shared_ptr<ToolPins> pins,
             plugin::Host& host)
      : name_(entry.name), scopes_(std::move(scopes)), pins_(std::move(pins)), host_(host) {
    const config::PluginValues& values = entry.values;
    tools_ = {values.list("allow"), values.list("deny")};
    prompts_ = {values.list("prompts.allow"), values.list("prompts.deny")};
    resources_ = UriRule(values.list("resources.allow"), values.list("resources.deny"));
    if (pins_) {
      watch_ = std::make_unique<net::FileWatch>(host.loop(), pins_->path(), [this] { read_pins(); });
    }
  }

  std::unique_ptr<plugin::Hook> attach(plugin::ExchangeView& exchange) override;
  void count(plugin::CounterSink& sink) const override {
    sink.add("lineward_tool_filter_hidden_total", {}, static_cast<double>(hidden_));
    sink.add("lineward_tool_filter_denied_total", "name", static_cast<double>(denied_));
    sink.add("lineward_tool_filter_denied_total", "scope", static_cast<double>(lacking_));
    sink.add("lineward_tool_filter_denied_total", "pin", static_cast<double>(unpinned_));
    if (!pins_) return;
    sink.add("lineward_tool_filter_changed_total", {}, static_cast<double>(changed_));
    sink.add("lineward_tool_filter_pinned", {}, static_cast<double>(pins_->size()));
  }

  Verdict request(plugin::ExchangeView& exchange, const mcp::Message& message);
  void result(const plugin::RequestInfo& facts, mcp::Message& message);

 private:
  // nullopt: admitted.
  using Refused = std::optional<core::PolicyError>;
  static Verdict verdict(plugin::ExchangeView& exchange, Refused refused);
  Verdict listen(plugin::ExchangeView& exchange, const mcp::Message& message, int no_resource);
  Refused call(const plugin::RequestInfo& facts, const std::string& tool);
  Refused task(const plugin::RequestInfo& facts, const std::string& id);
  bool may_see_task(const plugin::RequestInfo& facts, const std::string& id);
  Refused resource(const std::string& uri, int code);
  Refused refuse(std::string_view what, std::string_view name, int code);
  Refused lacks_scopes(const plugin::RequestInfo& facts, const std::string& what,
                       const std::vector<std::string>& needed);
  bool judges_tools() const { return !tools_.empty() || !scopes_.empty() || pins_ != nullptr; }
  bool may_see(const plugin::RequestInfo& facts, const std::string& tool, std::string_view definition);
  void report(const plugin::RequestInfo& facts, const std::string& tool, std::string_view how);
  void read_pins();
  bool is_oauth(const core::Caller& caller) const;

  std::string name_;
  NameRule tools_, prompts_;
  UriRule resources_;
  ScopeRules scopes_;
  std::shared_ptr<ToolPins> pins_;
  std::unique_ptr<net::FileWatch> watch_;
  plugin::Host& host_;
  std::set<std::string> reported_;
  std::chrono::milliseconds save_from_{0};  // pins could not be written: not again before that
  uint64_t hidden_ = 0, denied_ = 0, lacking_ = 0, unpinned_ = 0, changed_ = 0;
};

// ---- requests ----

Verdict ToolFilter::request(plugin::ExchangeView& exchange, const mcp::Message& message) {
  plugin::RequestInfo facts = exchange.facts();
  const int no_resource = facts.client_era == mcp::Era::legacy ? kLegacyNoResource : kInvalidParams;
  switch (facts.method) {
    case Method::tools_call: return verdict(exchange, call(facts, message.text(Field::params_name)));
    case Method::prompts_get: {
      std::string name = message.text(Field::params_name);
      return prompts_.allows(name) ? Verdict::proceed
                                   : verdict(exchange, refuse("Unknown prompt", name, kInvalidParams));
    }
    case Method::resources_read:
    case Method::resources_subscribe:
    case Method::resources_unsubscribe:
      return verdict(exchange, resource(message.text(Field::params_uri), no_resource));
    case Method::tasks_get:
    case Method::tasks_update:
    case Method::tasks_cancel:
    case Method::tasks_result:
      for (const std::string& id : tasks::named(facts.method, message)) {
        if (judges_tools() && verdict(exchange, task(facts, id)) != Verdict::proceed)
          return Verdict::answered;
      }
      return Verdict::proceed;
    case Method::subscriptions_listen: return listen(exchange, message, no_resource);
    case Method::completion_complete:
      for (std::string_view reference : values_named(message.raw(Field::params), "ref")) {
        for (std::string_view raw : values_named(reference, "uri")) {
          // A template or a URI: the rule accepts both.
          if (resources_.empty()) continue;
          std::string uri = json::string_value(raw);
          if (!resources_.allows_template(uri))
            return verdict(exchange, refuse("Resource not found", uri, kInvalidParams));
          if (uri.find('{') == std::string::npos &&
              verdict(exchange, resource(uri, kInvalidParams)) != Verdict::proceed)
            return Verdict::answered;
        }
        for (std::string_view raw : values_named(reference, "name")) {
          std::string name = json::string_value(raw);
          if (!prompts_.allows(name))
            return verdict(exchange, refuse("Unknown prompt", name, kInvalidParams));
          if (!refers_to_prompt(reference) && judges_tools() &&
              verdict(exchange, call(facts, name)) != Verdict::proceed)
            return Verdict::answered;
        }
      }
      return Verdict::proceed;
    default: return Verdict::proceed;
  }
}

Verdict ToolFilter::verdict(plugin::ExchangeView& exchange, Refused refused) {
  if (!refused) return Verdict::proceed;
  exchange.refuse(std::move(*refused));
  return Verdict::answered;
}

// The refusal has the text of the first refused item, and lists all of them: the client may retry without
// them.
Verdict ToolFilter::listen(plugin::ExchangeView& exchange, const mcp::Message& message, int no_resource) {
  const plugin::RequestInfo facts = exchange.facts();
  Refused all;
  const auto add = [&all](const std::string& part, Refused refused) {
    if (!refused) return;
    if (!all) all = refused;
    if (all->reason == refused->reason) all->parts.push_back(part);
  };
  for (const std::string& id : tasks::named(facts.method, message)) {
    if (judges_tools()) add(id, task(facts, id));
  }
  if (resources_.empty()) return verdict(exchange, std::move(all));
  for (std::string_view wanted :
       values_named(message.raw(Field::params_notifications), "resourceSubscriptions")) {
    json::Cursor cursor(wanted, json::kDepthCeiling);
    if (!cursor.at_array() || !cursor.enter_array()) continue;
    json::Span at;
    while (cursor.next_element() && cursor.skip(at)) {
      const std::string uri = json::string_value(at.in(wanted));
      add(uri, resource(uri, no_resource));
    }
  }
  return verdict(exchange, std::move(all));
}

ToolFilter::Refused ToolFilter::call(const plugin::RequestInfo& facts, const std::string& tool) {
  if (!tools_.allows(tool)) return refuse("Unknown tool", tool, kInvalidParams);
  if (!scopes_.allow(tool, facts.caller))
    return lacks_scopes(facts, "tool " + tool.substr(0, 128), scopes_.needed(tool));
  if (!pins_ || pins_->may_call(facts.upstream, tool)) return std::nullopt;
  ++unpinned_;
  core::PolicyError refusal;
  refusal.reason = EndReason::forbidden;
  refusal.text = fmt::format("tool {} is not as it was when it was approved", tool.substr(0, 128));
  return refusal;
}

// A request about a task reaches its tool. Names are the same for all callers, so a task of a denied tool was
// not created through this gateway. Scopes differ: a task with an unknown tool needs the scopes of every tool
// in the rules.
ToolFilter::Refused ToolFilter::task(const plugin::RequestInfo& facts, const std::string& id) {
  const std::vector<std::string> tools = tasks::tools_of(facts.upstream, id);
  for (const std::string& tool : tools) {
    if (Refused refused = call(facts, tool)) return refused;
  }
  if (!tools.empty() || scopes_.allow_all(facts.caller)) return std::nullopt;
  return lacks_scopes(facts, "this task of an unknown tool", scopes_.all());
}

bool ToolFilter::may_see_task(const plugin::RequestInfo& facts, const std::string& id) {
  const std::vector<std::string> tools = tasks::tools_of(facts.upstream, id);
  if (tools.empty()) return scopes_.allow_all(facts.caller);
  return std::all_of(tools.begin(), tools.end(), [&](const std::string& tool) {
    return tools_.allows(tool) && scopes_.allow(tool, facts.caller);
  });
}

ToolFilter::Refused ToolFilter::resource(const std::string& uri, int code) {
  UriRule::Verdict judged = resources_.judge(uri);
  if (judged.allowed) return std::nullopt;
  if (judged.fault.empty()) return refuse("Resource not found", uri, code);
  return refuse(fmt::format("This URI cannot be judged, since {}", judged.fault), uri, kInvalidParams);
}

// As if it did not exist: a call must not reveal an item hidden from lists.
ToolFilter::Refused ToolFilter::refuse(std::string_view what, std::string_view name, int code) {
  ++denied_;
  core::PolicyError refusal;
  refusal.reason = EndReason::invalid_request;
  refusal.code = code;
  refusal.text = fmt::format("{}: {}", what, name.substr(0, 128));
  return refusal;
}

ToolFilter::Refused ToolFilter::lacks_scopes(const plugin::RequestInfo& facts, const std::string& what,
                                             const std::vector<std::string>& needed) {
  ++lacking_;
  core::PolicyError refusal;
  refusal.reason = EndReason::forbidden;
  refusal.text = fmt::format("{} needs the scopes {}", what, joined(needed));
  // Lets an OAuth client request more scopes (RFC 6750, section 3.1; MCP authorization, "Step-Up
  // Authorization Flow").
  // Not where only claims are missing.
  const bool is_asked = facts.caller != nullptr && !has_all(*facts.caller, config::without_rules(needed));
  if (is_asked && is_oauth(*facts.caller)) {
    const Resource resource(host_, std::string(facts.listener));
    Challenge challenge{"insufficient_scope",
                        {},
                        scopes_to_ask(*facts.caller, needed),
                        resource.metadata_url(resource.path_of(facts.endpoint))};
    refusal.headers.emplace_back("WWW-Authenticate", challenge.text());
  }
  return refusal;
}

bool ToolFilter::is_oauth(const core::Caller& caller) const {
  bool found = caller.by == "jwt";
  config::each_auth(host_.config(), [&](const config::Auth& auth) {
    found = found || std::any_of(auth.methods.begin(), auth.methods.end(), [&](const auto& entry) {
              return entry.name == caller.by && entry.type == "jwt";
            });
  });
  return found;
}

// ---- lists ----

void ToolFilter::result(const plugin::RequestInfo& facts, mcp::Message& message) {
  auto by = [](const NameRule& rule) {
    return [&rule](const std::string& name, std::string_view) { return rule.allows(name); };
  };
  switch (facts.method) {
    case Method::tools_list:
      hidden_ +=
          filter_list(message, "tools", "name", [&](const std::string& tool, std::string_view definition) {
            return may_see(facts, tool, definition);
          });
      break;
    case Method::tools_call: tasks::note(facts, message); return;
    case Method::tasks_list:
      hidden_ += filter_list(message, "tasks", "taskId", [&](const std::string& id, std::string_view) {
        return may_see_task(facts, id);
      });
      break;
    case Method::prompts_list: hidden_ += filter_list(message, "prompts", "name", by(prompts_)); break;
    case Method::resources_list:
      hidden_ += filter_list(message, "resources", "uri", [&](const std::string& uri, std::string_view) {
        return resources_.judge(uri).allowed;
      });
      break;
    case Method::resources_templates_list:
      hidden_ += filter_list(
          message, "resourceTemplates", "uriTemplate",
          [&](const std::string& uri, std::string_view) { return resources_.allows_template(uri); });
      break;
    default: return;
  }
  // A list that depends on the caller must not be shared.
  if (facts.method == Method::tools_list && !scopes_.empty() &&
      message.text(Field::result_cache_scope) == "public") {
    json::Splice splice = message.splice();
    splice.replace(message.at(Field::result_cache_scope), "\"private\"");
    if (auto changed = mcp::Message::parse(splice.apply_outlined(), json::kDepthCeiling))
      message = std::move(*changed);
  }
  if (!pins_ || !pins_->unsaved() || host_.loop().now() < save_from_) return;
  auto saved = pins_->save();
  if (!saved) save_from_ = host_.loop().now() + kSaveAgain;
  if (!saved) log::write(log::Level::error, "tool.pins", {{"plugin", name_}, {"error", saved.error().text}});
}

bool ToolFilter::may_see(const plugin::RequestInfo& facts, const std::string& tool,
                         std::string_view definition) {
  if (!tools_.allows(tool)) return false;
  if (pins_) {
    using Finding = ToolPins::Finding;
    std::string_view how;
    switch (pins_->check(facts.upstream, facts.revision, tool, definition)) {
      case Finding::same:
      case Finding::learnt: break;
      case Finding::changed: how = "its definition changed"; break;
      case Finding::unknown: how = "it is not pinned for this revision"; break;
      case Finding::ambiguous: how = "a key stands twice in its definition, or it is too deep"; break;
      case Finding::full: how = "there are too many tools to pin, or its name is too long"; break;
    }
    if (!how.empty()) {
      report(facts, tool, how);
      return false;
    }
  }
  return scopes_.allow(tool, facts.caller);
}

void ToolFilter::report(const plugin::RequestInfo& facts, const std::string& tool, std::string_view how) {
  bool first = reported_.size() < kMaxReported &&
               reported_.insert(fmt::format("{} {} {}", facts.upstream, facts.revision, tool)).second;
  if (!first) return;
  ++changed_;
  log::write(log::Level::warn, "tool.changed",
             {{"plugin", name_},
              {"upstream", facts.upstream},
              {"tool", tool.substr(0, 256)},
              {"revision", facts.revision},
              {"reason", how}});
}

// A change was approved, or another process has learnt pins.
void ToolFilter::read_pins() {
  auto read = pins_->load();
  if (!read) {
    log::write(log::Level::error, "tool.pins", {{"plugin", name_}, {"error", read.error().text}});
    return;
  }
  reported_.clear();
}

class Filtering final : public plugin::Hook {
 public:
  explicit Filtering(ToolFilter& filter) : filter_(filter) {}
  Verdict on_client_message(plugin::ExchangeView& exchange, mcp::Message& message) override {
    return filter_.request(exchange, message);
  }
  Verdict on_upstream_message(plugin::ExchangeView& exchange, mcp::Message& message) override {
    if (message.kind() == mcp::MessageKind::result) filter_.result(exchange.facts(), message);
    return Verdict::proceed;
  }

 private:
  ToolFilter& filter_;
};

std::unique_ptr<plugin::Hook> ToolFilter::attach(plugin::ExchangeView& exchange) {
  bool concerned = false;
  switch (exchange.facts().method) {
    case Method::tools_call:
    case Method::tools_list:
    case Method::tasks_get:
    case Method::tasks_update:
    case Method::tasks_cancel:
    case Method::tasks_result:
    case Method::tasks_list: concerned = judges_tools(); break;
    case Method::prompts_get:
    case Method::prompts_list: concerned = !prompts_.empty(); break;
    case Method::resources_read:
    case Method::resources_subscribe:
    case Method::resources_unsubscribe:
    case Method::resources_list:
    case Method::resources_templates_list: concerned = !resources_.empty(); break;
    case Method::subscriptions_listen: concerned = !resources_.empty() || judges_tools(); break;
    case Method::completion_complete:
      concerned = !prompts_.empty() || !resources_.empty() || judges_tools();
      break;
    default: break;
  }
  return concerned ? std::make_unique<Filtering>(*this) : nullptr;
}

Result<std::unique_ptr<plugin::Plugin>> make(const config::PluginEntry& entry, plugin::Host& host) {
  auto scopes = ScopeRules::make(entry.values.map("scopes"));
  if (!scopes) return fail(scopes.error().text);
  std::shared_ptr<ToolPins> pins;
  if (!entry.values.text("pin.file").empty()) {
    pins = ToolPins::of(entry.path_of(entry.values.text("pin.file")),
                        static_cast<ToolPins::Mode>(entry.values.number("pin.mode")));
    auto read = pins->load();
    if (!read) return fail(read.error().text);
  }
  return Result<std::unique_ptr<plugin::Plugin>>(
      std::make_unique<ToolFilter>(entry, std::move(*scopes), std::move(pins), host));
}

}  // namespace

plugin::Type tool_filter() {
  return {&tool_filter_spec(), kMetrics, make};
}

}  // namespace lineward::plugins
