// Redacts tools' arguments and results: values by JSON pointer, and matches of patterns in strings. In logs
// and displays only, or on the wire too.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "config/duration.h"
#include "foundation/base/glob.h"
#include "foundation/json/json_member.h"
#include "plugins/common/task_book.h"
#include "plugins/common/types.h"
#include "plugins/tools/redact_places.h"
#include "plugins/tools/redact_rules.h"
#include "protocol/mcp/targets.h"
#include "proxy/plugin/host.h"

namespace lineward::plugins {
namespace {

using config::Kind;
using config::plugin_option;
using mcp::Field;
using mcp::MessageKind;
using mcp::Method;
using plugin::Direction;
using plugin::Verdict;

constexpr plugin::MetricRow kMetrics[] = {
    {"lineward_redact_replacements_total", "counter", "where",
     "Values and texts that were blacked out, in what is shown (log) and in messages (wire)."},
    {"lineward_redact_too_large_total", "counter", "", "Messages that were refused: over redact.maxBytes."},
};

enum class Where : uint8_t { log, wire, both };

// Used by the log from any thread, so it is shared with the redactor.
struct Rules {
  RedactRules rules;
  std::vector<Pointer> arguments, results;
  std::vector<Pointer> tasks;  // `results`, also within the result in a task's state
  std::vector<Pointer> shown;  // of both, at any depth of a text
  std::atomic<uint64_t> in_log = 0;

  std::string for_log(std::string_view text) {
    bool is_json = !text.empty() && (text.front() == '{' || text.front() == '[') &&
                   json::validate(text, json::kDepthCeiling) == json::Fault::none;
    uint64_t count = 0;
    std::string out;
    if (is_json) {
      json::Splice splice(text);
      count = rules.find(text, {0, static_cast<uint32_t>(text.size())}, shown, splice);
      out = count == 0 ? std::string(text) : splice.apply();
    } else {
      out = rules.plain(text, &count);
    }
    in_log += count;
    return out;
  }
};

class Redact final : public plugin::Plugin {
 public:
  Redact(const config::PluginEntry& entry, plugin::Host& host, std::shared_ptr<Rules> rules)
      : rules_(std::move(rules)),
        tools_(entry.values.list("tools")),
        most_(entry.values.number("maxBytes")),
        where_(static_cast<Where>(entry.values.number("where"))) {
    // Values redacted on the wire are redacted in logs too.
    kept_ = host.add_redactor([shared = rules_](std::string_view text) { return shared->for_log(text); });
  }
  std::unique_ptr<plugin::Hook> attach(plugin::ExchangeView& exchange) override;
  void count(plugin::CounterSink& sink) const override {
    sink.add(kMetrics[0].name, "log", static_cast<double>(rules_->in_log.load()));
    sink.add(kMetrics[0].name, "wire", static_cast<double>(on_wire_));
    sink.add(kMetrics[1].name, {}, static_cast<double>(too_large_));
  }

  Verdict request(plugin::ExchangeView& view, mcp::Message& message);
  Verdict reply(plugin::ExchangeView& view, mcp::Message& message);
  // A client's message other than a request; a server's message, for an answer of this method.
  void from_client(mcp::Message& message);
  void from_server(Method method, mcp::Message& message);
  void words(std::string& text);
  std::optional<core::PolicyError> on_out_of_call(const plugin::RequestInfo& facts, mcp::Message& message,
                                                  Direction way) override;
  bool reads_all() const override { return where_ != Where::log; }
  bool has_tools() const { return !tools_.empty(); }
  // Whether its tools are known, and not among `tools`.
  bool spares_task(std::string_view server, std::string_view id) const;

 private:
  bool concerns(const plugin::RequestInfo& facts) const;
  bool is_named(const std::string& tool) const;
  std::optional<core::PolicyError> too_large(const mcp::Message& message);
  void apply(mcp::Message& message, json::Splice& splice, uint64_t count);
  std::shared_ptr<Rules> rules_;
  std::shared_ptr<void> kept_;
  std::vector<std::string> tools_;
  size_t most_;
  Where where_;
  uint64_t on_wire_ = 0, too_large_ = 0;
};

class Redacting final : public plugin::Hook {
 public:
  explicit Redacting(Redact& redact) : redact_(redact) {}
  Verdict on_client_message(plugin::ExchangeView& view, mcp::Message& message) override {
    plugin::RequestInfo facts = view.facts();
    for (const std::string& id : tasks::named(facts.method, message))
      tasks_of_others_ = redact_.spares_task(facts.upstream, id);
    return passes(facts) ? Verdict::proceed : redact_.request(view, message);
  }
  Verdict on_upstream_message(plugin::ExchangeView& view, mcp::Message& message) override {
    plugin::RequestInfo facts = view.facts();
    // Messages of a listen belong to a tool if they are about a task.
    const bool told = facts.method == Method::subscriptions_listen && redact_.has_tools();
    const bool spared = told && (!message.has(Field::params_task_id) ||
                                 redact_.spares_task(facts.upstream, message.text(Field::params_task_id)));
    return spared || passes(facts) ? Verdict::proceed : redact_.reply(view, message);
  }
  void on_client_answer(plugin::ExchangeView&, mcp::Message& message) override {
    redact_.from_client(message);
  }
  void on_failure_text(std::string& text) override { redact_.words(text); }

 private:
  bool passes(const plugin::RequestInfo& facts) const {
    return tasks_of_others_ && tasks::is_about_task(facts.method);
  }
  Redact& redact_;
  bool tasks_of_others_ = false;  // the task's tool is known, and has no rule
};

bool Redact::is_named(const std::string& tool) const {
  return std::any_of(tools_.begin(), tools_.end(),
                     [&](const std::string& glob) { return glob_match(glob, tool); });
}

bool Redact::spares_task(std::string_view server, std::string_view id) const {
  return !tools_.empty() && tasks::is_of_others(server, id, tools_);
}

// With `tools`: calls of them, requests about tasks, and listens, which may report tasks. A task's tool may
// be known only after its id is read.
bool Redact::concerns(const plugin::RequestInfo& facts) const {
  if (tools_.empty() || tasks::is_about_task(facts.method)) return true;
  if (facts.method == Method::tools_call) return is_named(std::string(facts.target));
  return facts.method == Method::subscriptions_listen || facts.method == Method::tasks_list;
}

std::unique_ptr<plugin::Hook> Redact::attach(plugin::ExchangeView& exchange) {
  if (where_ == Where::log) return nullptr;
  plugin::RequestInfo facts = exchange.facts();
  if (concerns(facts)) return std::make_unique<Redacting>(*this);
  if (facts.method == Method::tools_call) return std::make_unique<tasks::Remembering>();
  return nullptr;
}

// A message too large to be searched in reasonable time is refused.
std::optional<core::PolicyError> Redact::too_large(const mcp::Message& message) {
  if (message.bytes().size() <= most_) return std::nullopt;
  ++too_large_;
  core::PolicyError refusal;
  refusal.reason = mcp::EndReason::internal;
  refusal.text = fmt::format("a message of {} bytes is over redact.maxBytes ({})", message.bytes().size(),
                             config::format_size(most_));
  return refusal;
}

void Redact::apply(mcp::Message& message, json::Splice& splice, uint64_t count) {
  if (count == 0) return;
  on_wire_ += count;
  auto changed = mcp::Message::parse(splice.apply_outlined(), json::kDepthCeiling);
  if (changed) message = std::move(*changed);
}

json::Span place_of(const mcp::Message& message, std::string_view value) {
  auto begin = static_cast<uint32_t>(value.data() - message.bytes().data());
  return {begin, begin + static_cast<uint32_t>(value.size())};
}

Verdict Redact::request(plugin::ExchangeView& view, mcp::Message& message) {
  if (auto refusal = too_large(message)) {
    view.refuse(std::move(*refusal));
    return Verdict::answered;
  }
  from_client(message);
  return Verdict::proceed;
}

void Redact::from_client(mcp::Message& message) {
  const RedactRules& rules = rules_->rules;
  json::Splice splice = message.splice();
  uint64_t count = 0;
  if (message.kind() == MessageKind::result || message.kind() == MessageKind::error) {
    count = rules.find(message.bytes(), message.at(Field::result), {}, splice, names_in_answer());
    count += rules.find(message.bytes(), message.at(Field::error), {}, splice);
  } else {
    const auto look = [&](const std::string& key, std::string_view value) {
      const NamesInParam names = names_in_param(key);
      if (names.all) return;
      const bool arguments = key == "arguments";
      count += rules.find(message.bytes(), place_of(message, value),
                          arguments ? rules_->arguments : std::vector<Pointer>(), splice,
                          names.places == nullptr ? std::vector<Place>() : *names.places);
    };
    mcp::for_each_param(message.raw(Field::params), [&](const std::string& key, std::string_view value) {
      if (key == "_meta" && value.front() == '{') {
        mcp::for_each_param(value, look);
      } else {
        look(key, value);
      }
    });
  }
  apply(message, splice, count);
}

Verdict Redact::reply(plugin::ExchangeView& view, mcp::Message& message) {
  if (auto refusal = too_large(message)) {
    view.refuse(std::move(*refusal));
    return Verdict::answered;
  }
  plugin::RequestInfo facts = view.facts();
  tasks::note(facts, message);
  from_server(facts.method, message);
  return Verdict::proceed;
}

void Redact::from_server(Method method, mcp::Message& message) {
  json::Splice splice = message.splice();
  const RedactRules& rules = rules_->rules;
  uint64_t count = 0;
  // A task's state, and a notification of it, contain the result of its call.
  const bool of_task = tasks::is_about_task(method);
  switch (message.kind()) {
    case MessageKind::result:
      count = rules.find(message.bytes(), message.at(Field::result),
                         of_task ? rules_->tasks : rules_->results, splice, names_in_result(method));
      break;
    case MessageKind::error:
      count = rules.find(message.bytes(), message.at(Field::error), {}, splice, names_in_error());
      break;
    default:
      if (message.has(Field::params))
        count = rules.find(message.bytes(), message.at(Field::params),
                           message.has(Field::params_task_id) ? rules_->tasks : std::vector<Pointer>(),
                           splice, names_in_params(mcp::method_of(message.method())));
      break;
  }
  apply(message, splice, count);
}

void Redact::words(std::string& text) {
  uint64_t count = 0;
  text = rules_->rules.plain(text, &count);
  on_wire_ += count;
}

// The tool of such a message is unknown: it is redacted for any `tools`.
std::optional<core::PolicyError> Redact::on_out_of_call(const plugin::RequestInfo& facts,
                                                        mcp::Message& message, Direction way) {
  if (where_ == Where::log) return std::nullopt;
  if (auto refusal = too_large(message)) return refusal;
  way == Direction::to_server ? from_client(message) : from_server(facts.method, message);
  return std::nullopt;
}

const config::PluginSpec kSpec{
    "redact",
    "Blacks out parts of arguments and results, in what is shown or on the wire.",
    false,
    {plugin_option("arguments", Kind::list, "", 0, 0,
                   "JSON pointers into a call's arguments, * for any: /users/*/email."),
     plugin_option("results", Kind::list, "", 0, 0, "JSON pointers into results."),
     plugin_option("patterns", Kind::list, "", 0, 0,
                   "Patterns (RE2) for what is blacked out of strings, wherever they stand."),
     plugin_option("tools", Kind::list, "", 0, 0,
                   "On the wire: globs of the tools to look at; empty: every tool."),
     config::plugin_choice("where", "log|wire|both", "log",
                           "In what is logged and shown alone, or in the messages themselves too."),
     plugin_option("replacement", Kind::text, "***", 0, 0, "The replacement text."),
     plugin_option("maxBytes", Kind::size, "8MiB", 1024, 1 << 30,
                   "On the wire: a larger message is refused, since it cannot be looked through.")},
    {}};

Result<std::unique_ptr<plugin::Plugin>> make(const config::PluginEntry& entry, plugin::Host& host) {
  const config::PluginValues& values = entry.values;
  auto made = RedactRules::make(values.list("patterns"), values.text("replacement"));
  if (!made) return fail(made.error().text);
  auto rules = std::make_shared<Rules>();
  rules->rules = std::move(*made);
  for (auto [option, list] :
       {std::pair("arguments", &rules->arguments), std::pair("results", &rules->results)}) {
    if (values.list(option).size() > 256) return fail(fmt::format("{}: at most 256 pointers", option));
    for (const std::string& text : values.list(option)) {
      auto pointer = parse_pointer(text);
      if (!pointer) return fail(fmt::format("{}: {}", option, pointer.error().text));
      list->push_back(std::move(*pointer));
    }
  }
  bool any = !rules->arguments.empty() || !rules->results.empty() || !values.list("patterns").empty();
  if (!any) return fail("give arguments, results or patterns: there is nothing to black out");
  auto also_below = [&](const Pointer& pointer, const std::vector<Pointer>& places) {
    for (Pointer place : places) {
      place.insert(place.end(), pointer.begin(), pointer.end());
      rules->shown.push_back(std::move(place));
    }
  };
  for (const Pointer& one : rules->arguments)
    also_below(one, {{}, {"arguments"}, {"params", "arguments"}});
  rules->tasks = rules->results;
  for (const Pointer& one : rules->results) {
    also_below(one, {{}, {"result"}});
    Pointer inner = one;
    inner.insert(inner.begin(), "result");
    rules->tasks.push_back(std::move(inner));
  }
  return Result<std::unique_ptr<plugin::Plugin>>(std::make_unique<Redact>(entry, host, std::move(rules)));
}

}  // namespace

plugin::Type redact() {
  return {&kSpec, kMetrics, make};
}

}  // namespace lineward::plugins
