// Policy in any language: each selected message is sent to a process or an HTTP service, which decides about
// it. docs/plugins.md has the wire format.
#include <fmt/format.h>

#include <algorithm>

#include "foundation/base/glob.h"
#include "foundation/json/json_splice.h"
#include "foundation/log/log.h"
#include "plugins/common/task_book.h"
#include "plugins/common/types.h"
#include "plugins/hook/hook_answer.h"
#include "plugins/hook/hook_dispatcher.h"
#include "plugins/hook/hook_process.h"
#include "plugins/hook/hook_url.h"
#include "proxy/plugin/client_facts.h"
#include "proxy/plugin/host.h"

namespace lineward::plugins {
namespace {

using config::Kind;
using config::plugin_option;
using mcp::MessageKind;
using plugin::Verdict;

constexpr plugin::MetricRow kMetrics[] = {
    {"lineward_hook_questions_total", "counter", "outcome",
     "Questions to a hook: answered, timed_out, exited (it was gone), full (too many open), broken (no use "
     "in "
     "its answer)."},
    {"lineward_hook_opened_total", "counter", "", "Messages that passed without a verdict (onError: open)."},
    {"lineward_hook_restarts_total", "counter", "", "Ends of a hook's process."},
    {"lineward_hook_ignored_total", "counter", "what",
     "Lines that answered nothing: invalid, late (no call waits any more); ends of calls that could not be "
     "sent."},
    {"lineward_hook_open", "gauge", "state", "Questions that are asked, or queued."},
};

struct Events {
  bool request = false, response = false, notification = false, end = false;
};

std::string facts_json(const plugin::RequestInfo& facts) {
  auto text = [](std::string_view value) { return json::quote(value); };
  return fmt::format(
      R"({{"call":{},"server":{},"method":{},"target":{},"era":{},"revision":{},"peer":{},"listener":{},"principal":{},"id":{}}})",
      text(facts.call_id), text(facts.upstream), text(facts.method_name), text(facts.target),
      text(mcp::name(facts.era)), text(facts.revision), text(facts.peer), text(plugin::listener_of(facts)),
      text(facts.principal), facts.raw_id.empty() ? "null" : facts.raw_id);
}

class HookPlugin final : public plugin::Plugin {
 public:
  HookPlugin(const config::PluginEntry& entry, plugin::Host& host, Events wanted,
             HookDispatcher::Limits limits)
      : dispatcher(host.loop(), limits),
        events(wanted),
        open_on_error(entry.values.number("onError") == 1),
        name_(entry.name),
        methods_(entry.values.list("methods")),
        tools_(entry.values.list("tools")) {}

  std::unique_ptr<plugin::Hook> attach(plugin::ExchangeView& exchange) override;
  void count(plugin::CounterSink& sink) const override;
  const std::string& name() const { return name_; }
  bool is_for(const plugin::RequestInfo& facts, const mcp::Message& request) const;

  HookDispatcher dispatcher;
  const Events events;
  const bool open_on_error;
  uint64_t opened = 0, broken = 0;

 private:
  std::string name_;
  std::vector<std::string> methods_, tools_;
};

class Asking final : public plugin::Hook {
 public:
  explicit Asking(HookPlugin& plugin) : plugin_(plugin) {}
  ~Asking() override { plugin_.dispatcher.forget(asked_); }

  Verdict on_client_message(plugin::ExchangeView& view, mcp::Message& message) override {
    spared_ = !plugin_.is_for(view.facts(), message);
    if (spared_) return Verdict::proceed;
    return plugin_.events.request ? ask(view, message, "request") : Verdict::proceed;
  }
  Verdict on_upstream_message(plugin::ExchangeView& view, mcp::Message& message) override {
    tasks::note(view.facts(), message);
    if (spared_) return Verdict::proceed;
    bool final = message.kind() == MessageKind::result || message.kind() == MessageKind::error;
    if (final) return plugin_.events.response ? ask(view, message, "response") : Verdict::proceed;
    return plugin_.events.notification ? ask(view, message, "notification") : Verdict::proceed;
  }
  void on_end(const plugin::ExchangeView& view, const plugin::Ending& ending) noexcept override;

 private:
  Verdict ask(plugin::ExchangeView& view, mcp::Message& message, std::string_view event);
  void decided(plugin::ExchangeView& view, mcp::Message& message, const HookDispatcher::Outcome& outcome);
  Verdict apply(plugin::ExchangeView& view, mcp::Message& message, HookAnswer answer);
  Verdict failed(plugin::ExchangeView& view, std::string_view why);

  HookPlugin& plugin_;
  uint64_t asked_ = 0;
  bool spared_ = false;  // it is about tasks of other tools
};

Verdict Asking::ask(plugin::ExchangeView& view, mcp::Message& message, std::string_view event) {
  std::string bytes = message.bytes();
  json::flatten_lines(bytes);
  plugin::RequestInfo facts = view.facts();
  std::string members =
      fmt::format(R"(,"event":"{}","hook":{},"method":{},"facts":{},"message":{})", event,
                  json::quote(plugin_.name()), json::quote(facts.method_name), facts_json(facts), bytes);
  std::string_view why;
  asked_ = plugin_.dispatcher.ask(
      std::move(members),
      // The exchange outlives this hook, and the message stays in place while the exchange waits.
      [this, &view, &message](const HookDispatcher::Outcome& outcome) { decided(view, message, outcome); },
      why);
  return asked_ == 0 ? failed(view, why) : Verdict::wait;
}

void Asking::decided(plugin::ExchangeView& view, mcp::Message& message,
                     const HookDispatcher::Outcome& outcome) {
  asked_ = 0;
  if (!outcome.answered) return view.resume(failed(view, outcome.text));
  auto answer = read_hook_answer(outcome.text);
  if (!answer) {
    ++plugin_.broken;
    return view.resume(failed(view, answer.error().text));
  }
  view.resume(apply(view, message, std::move(*answer)));
}

Verdict Asking::apply(plugin::ExchangeView& view, mcp::Message& message, HookAnswer answer) {
  for (auto& [name, value] : answer.headers)
    view.set_upstream_header(name, std::move(value));
  switch (answer.kind) {
    case HookAnswer::Kind::refuse: view.refuse(std::move(answer.refusal)); return Verdict::answered;
    case HookAnswer::Kind::answer: view.answer(std::move(answer.result)); return Verdict::answered;
    case HookAnswer::Kind::drop:
      if (message.kind() == MessageKind::notification) return Verdict::answered;
      ++plugin_.broken;
      return failed(view, "drops what is no notification");
    case HookAnswer::Kind::proceed: break;
  }
  if (!answer.message) return Verdict::proceed;
  auto final = [](const mcp::Message& one) {
    return one.kind() == MessageKind::result || one.kind() == MessageKind::error;
  };
  bool same = final(message) == final(*answer.message) && message.method() == answer.message->method() &&
              message.raw(mcp::Field::id) == answer.message->raw(mcp::Field::id);
  if (!same) {
    ++plugin_.broken;
    return failed(view, "changed a message's id, method or kind");
  }
  message = std::move(*answer.message);
  return Verdict::proceed;
}

Verdict Asking::failed(plugin::ExchangeView& view, std::string_view why) {
  log::write(log::Level::warn, "hook.failed",
             {{"plugin", plugin_.name()}, {"call", view.facts().call_id}, {"why", why}});
  if (plugin_.open_on_error) {
    ++plugin_.opened;
    return Verdict::proceed;
  }
  core::PolicyError refusal;
  refusal.reason = mcp::EndReason::internal;
  refusal.text = fmt::format("hook {} {}", plugin_.name(), why);
  view.refuse(std::move(refusal));
  return Verdict::answered;
}

void Asking::on_end(const plugin::ExchangeView& view, const plugin::Ending& ending) noexcept {
  plugin_.dispatcher.forget(std::exchange(asked_, 0));
  if (!plugin_.events.end || spared_) return;
  plugin::RequestInfo facts = view.facts();
  plugin_.dispatcher.tell(fmt::format(
      R"(,"event":"end","hook":{},"method":{},"facts":{},"ending":{{"reason":"{}","code":{},"tookMs":{},"bytesOut":{},"events":{}}})",
      json::quote(plugin_.name()), json::quote(facts.method_name), facts_json(facts),
      mcp::name(ending.reason), ending.code, ending.took.count() / 1000, ending.bytes_out, ending.events));
}

std::unique_ptr<plugin::Hook> HookPlugin::attach(plugin::ExchangeView& exchange) {
  plugin::RequestInfo facts = exchange.facts();
  auto among = [](const std::vector<std::string>& globs, std::string_view name) {
    return std::any_of(globs.begin(), globs.end(),
                       [&](const std::string& glob) { return glob_match(glob, name); });
  };
  if (!methods_.empty() && !among(methods_, facts.method_name)) return nullptr;
  if (tools_.empty()) return std::make_unique<Asking>(*this);
  if (facts.method == mcp::Method::tools_call && !among(tools_, facts.target))
    return std::make_unique<tasks::Remembering>();
  bool reaches = facts.method == mcp::Method::tools_call || tasks::is_about_task(facts.method) ||
                 facts.method == mcp::Method::subscriptions_listen;
  return reaches ? std::make_unique<Asking>(*this) : nullptr;
}

// With `tools`, requests about tasks are for the hook if their tool is listed or unknown.
bool HookPlugin::is_for(const plugin::RequestInfo& facts, const mcp::Message& request) const {
  if (tools_.empty() || facts.method == mcp::Method::tools_call) return true;
  const std::vector<std::string> ids = tasks::named(facts.method, request);
  return std::any_of(ids.begin(), ids.end(),
                     [&](const std::string& id) { return !tasks::is_of_others(facts.upstream, id, tools_); });
}

void HookPlugin::count(plugin::CounterSink& sink) const {
  const HookDispatcher::Numbers& n = dispatcher.numbers();
  auto add = [&](size_t row, std::string_view label, uint64_t value) {
    sink.add(kMetrics[row].name, label, static_cast<double>(value));
  };
  add(0, "answered", n.answered - broken);
  add(0, "timed_out", n.timed_out);
  add(0, "exited", n.exited);
  add(0, "full", n.full);
  add(0, "broken", broken);
  add(1, {}, opened);
  add(2, {}, dispatcher.restarts());
  add(3, "rubbish", n.rubbish);
  add(3, "late", n.late);
  add(3, "end", n.untold);
  add(4, "asked", dispatcher.in_flight());
  add(4, "queued", dispatcher.queued());
}

std::string_view check_events(const config::Value& value) {
  for (const std::string& one : value.list) {
    if (one != "request" && one != "response" && one != "notification" && one != "end")
      return "events are request, response, notification and end";
  }
  return {};
}

const config::PluginSpec kSpec{
    "hook",
    "Asks a program of yours, or an HTTP service, what becomes of each message.",
    false,
    {plugin_option("command", Kind::text, "", 0, 0, "The program: one process for all messages."),
     plugin_option("args", Kind::list, "", 0, 0, "Its arguments."),
     plugin_option("env", Kind::map, "", 0, 0, "Its variables, besides PATH, HOME, LANG, TZ and TMPDIR."),
     plugin_option("url", Kind::text, "", 0, 0,
                   "Instead of a program: https://, or http:// on this machine."),
     plugin_option("headers", Kind::map, "", 0, 0, "On requests to the URL; values may be secrets."),
     plugin_option("caFile", Kind::text, "", 0, 0, "Authorities to trust for the URL (PEM)."),
     plugin_option("events", Kind::list, "", 0, 0,
                   "Among request, response, notification and end; empty: request.", check_events),
     plugin_option("methods", Kind::list, "", 0, 0, "Globs of methods that it wants; empty: all."),
     plugin_option("tools", Kind::list, "", 0, 0, "Globs of tools that it wants: then no other method."),
     plugin_option("timeout", Kind::duration, "2s", 10, 600000,
                   "For each answer, its place in the queue too."),
     config::plugin_choice("onError", "closed|open", "closed",
                           "Without a verdict: refuse the call, or let it pass."),
     plugin_option("maxInFlight", Kind::count, "64", 1, 10000, "Questions at a time."),
     plugin_option("maxQueue", Kind::count, "256", 0, 100000, "Questions that wait; then as onError says.")},
    {}};

Result<std::unique_ptr<plugin::Plugin>> make(const config::PluginEntry& entry, plugin::Host& host) {
  const config::PluginValues& values = entry.values;
  const std::string &command = values.text("command"), &url = values.text("url");
  if (command.empty() == url.empty()) return fail("give either command or url");
  Events events;
  for (const std::string& one : values.list("events")) {
    events.request = events.request || one == "request";
    events.response = events.response || one == "response";
    events.notification = events.notification || one == "notification";
    events.end = events.end || one == "end";
  }
  if (values.list("events").empty()) events.request = true;
  HookDispatcher::Limits limits;
  limits.timeout = values.duration("timeout");
  limits.in_flight = values.number("maxInFlight");
  limits.queue = values.number("maxQueue");
  auto made = std::make_unique<HookPlugin>(entry, host, events, limits);
  if (!command.empty()) {
    HookCommand wanted;
    wanted.name = entry.name;
    wanted.argv.push_back(command);
    wanted.argv.insert(wanted.argv.end(), values.list("args").begin(), values.list("args").end());
    wanted.env = values.map("env");
    wanted.cwd = entry.directory;
    made->dispatcher.use(
        std::make_unique<HookProcess>(host.loop(), host.spawner(), std::move(wanted), made->dispatcher));
  } else {
    HookUrl where{url, values.text("caFile"), values.map("headers"), limits.timeout};
    made->dispatcher.use(std::make_unique<HookService>(host, std::move(where), made->dispatcher));
  }
  return Result<std::unique_ptr<plugin::Plugin>>(std::move(made));
}

}  // namespace

plugin::Type hook() {
  return {&kSpec, kMetrics, make};
}

}  // namespace lineward::plugins
