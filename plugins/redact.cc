// Blacks out what nobody else should see: values by JSON pointer, and what patterns find in strings, of
// tools' arguments and results. In what is logged and shown, or on the wire.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "base/glob.h"
#include "base/json_member.h"
#include "config/duration.h"
#include "plugin/host.h"
#include "plugins/redact_rules.h"
#include "plugins/types.h"

namespace lineward::plugins {
namespace {

using config::Kind;
using config::plugin_option;
using mcp::Field;
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
  std::vector<Pointer> shown;  // of both, wherever in a text they may stand
  std::atomic<uint64_t> in_log = 0;

  std::string for_log(std::string_view text) {
    bool is_json = !text.empty() && (text.front() == '{' || text.front() == '[') &&
                   json::validate(text) == json::Fault::none;
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
    if (where_ == Where::wire) return;
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

 private:
  bool too_large(plugin::ExchangeView& view, const mcp::Message& message);
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
    return redact_.request(view, message);
  }
  Verdict on_upstream_message(plugin::ExchangeView& view, mcp::Message& message) override {
    return redact_.reply(view, message);
  }

 private:
  Redact& redact_;
};

std::unique_ptr<plugin::Hook> Redact::attach(plugin::ExchangeView& exchange) {
  if (where_ == Where::log) return nullptr;
  plugin::Facts facts = exchange.facts();
  bool mine = tools_.empty() || (facts.method == mcp::Method::tools_call &&
                                 std::any_of(tools_.begin(), tools_.end(), [&](const std::string& glob) {
                                   return glob_match(glob, facts.target);
                                 }));
  return mine ? std::make_unique<Redacting>(*this) : nullptr;
}

// What cannot be looked through in reasonable time does not pass unseen.
bool Redact::too_large(plugin::ExchangeView& view, const mcp::Message& message) {
  if (message.bytes().size() <= most_) return false;
  ++too_large_;
  plugin::Refusal refusal;
  refusal.reason = mcp::EndReason::internal;
  refusal.text = fmt::format("a message of {} bytes is over redact.maxBytes ({})", message.bytes().size(),
                             config::format_size(most_));
  view.refuse(std::move(refusal));
  return true;
}

void Redact::apply(mcp::Message& message, json::Splice& splice, uint64_t count) {
  if (count == 0) return;
  on_wire_ += count;
  auto changed = mcp::Message::parse(splice.apply(), json::kDepthCeiling);
  if (changed) message = std::move(*changed);
}

Verdict Redact::request(plugin::ExchangeView& view, mcp::Message& message) {
  if (!message.has(Field::params_arguments) && !message.has(Field::params_input_responses))
    return Verdict::proceed;
  if (too_large(view, message)) return Verdict::answered;
  json::Splice splice = message.splice();
  uint64_t count =
      rules_->rules.find(message.bytes(), message.at(Field::params_arguments), rules_->arguments, splice);
  count += rules_->rules.find(message.bytes(), message.at(Field::params_input_responses), {}, splice);
  apply(message, splice, count);
  return Verdict::proceed;
}

// What the client gives back as it is, and what names a call: changed by a pattern it would lead nowhere.
std::vector<uint32_t> opaque(const mcp::Message& message) {
  std::vector<uint32_t> out;
  for (Field field : {Field::result_next_cursor, Field::result_type, Field::params_progress_token,
                      Field::params_request_id})
    if (message.has(field)) out.push_back(message.at(field).begin);
  if (auto state = json::member(message.raw(Field::result), "requestState"))
    out.push_back(static_cast<uint32_t>(state->data() - message.bytes().data()));
  return out;
}

Verdict Redact::reply(plugin::ExchangeView& view, mcp::Message& message) {
  if (too_large(view, message)) return Verdict::answered;
  json::Splice splice = message.splice();
  const RedactRules& rules = rules_->rules;
  uint64_t count = 0;
  switch (message.kind()) {
    case mcp::MessageKind::result:
      count =
          rules.find(message.bytes(), message.at(Field::result), rules_->results, splice, opaque(message));
      break;
    case mcp::MessageKind::error:
      count = rules.find(message.bytes(), message.at(Field::error), {}, splice);
      break;
    default:
      if (message.has(Field::params))
        count = rules.find(message.bytes(), message.at(Field::params), {}, splice, opaque(message));
      break;
  }
  apply(message, splice, count);
  return Verdict::proceed;
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
                   "On the wire: globs of tools whose calls are looked at; empty: everything."),
     config::plugin_choice("where", "log|wire|both", "log",
                           "In what is logged and shown, in the messages themselves, or both."),
     plugin_option("replacement", Kind::text, "***", 0, 0, "What stands there instead."),
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
  for (const Pointer& one : rules->results)
    also_below(one, {{}, {"result"}});
  return Result<std::unique_ptr<plugin::Plugin>>(std::make_unique<Redact>(entry, host, std::move(rules)));
}

}  // namespace

plugin::Type redact() {
  return {&kSpec, kMetrics, make};
}

}  // namespace lineward::plugins
