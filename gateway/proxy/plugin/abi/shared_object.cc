#include "proxy/plugin/abi/shared_object.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "foundation/log/log.h"
#include "foundation/log/sanitize.h"
#include "proxy/plugin/abi/shared_host.h"
#include "proxy/plugin/abi/shared_library.h"
#include "proxy/plugin/host.h"

namespace lineward::plugin {
namespace {

using mcp::EndReason;

constexpr size_t kMaxNames = 32;  // header fields, counters

constexpr std::array<MetricRow, 2> kMetrics{{
    {"lineward_shared_object_events_total", "counter", "event", "Counters of a shared object, by its names."},
    {"lineward_shared_object_faults_total", "counter", "",
     "Exchanges that a shared object failed: it threw, said so, or broke the interface."},
}};

class SharedHook;

class SharedPlugin final : public Plugin {
 public:
  SharedPlugin(std::shared_ptr<SharedLibrary> library, const config::PluginEntry& entry, Host& host)
      : library_(std::move(library)), mailbox_(std::make_shared<Mailbox>()), loop_(host.loop()) {
    at_.name = entry.name;
    at_.loop_thread = std::this_thread::get_id();
  }
  ~SharedPlugin() override {
    if (plugin_ != nullptr) call(0, [&] { return api().destroy(plugin_), 0; });
    std::lock_guard<std::mutex> lock(mailbox_->mutex);
    mailbox_->wakeup = nullptr;
  }

  Status<> create(const config::PluginEntry& entry);
  std::unique_ptr<Hook> attach(ExchangeView& exchange) override;
  std::vector<std::string> headers() const override;
  void count(CounterSink& sink) const override;

  const lineward_plugin_api& api() const { return library_->api(); }
  const std::string& name() const { return at_.name; }
  // No exception of a plugin propagates further.
  template <class R, class F>
  R call(R otherwise, F&& work) const {
    try {
      return work();
    } catch (...) {
      log::write(log::Level::error, "plugin.fault",
                 {{"plugin", at_.name}, {"why", "threw an exception through the C interface"}});
      return otherwise;
    }
  }
  lineward_ticket* ticket(SharedHook* hook) {
    hooks_.emplace(++waits_, hook);
    return new lineward_ticket{mailbox_, waits_};
  }
  void forget(uint64_t wait) { hooks_.erase(wait); }

  uint64_t faults = 0;

 private:
  void deliver();
  std::shared_ptr<SharedLibrary> library_;
  lineward_host at_;
  std::shared_ptr<Mailbox> mailbox_;
  net::Loop& loop_;
  std::unique_ptr<net::Wakeup> wakeup_;
  lineward_plugin* plugin_ = nullptr;
  uint64_t waits_ = 0;
  std::unordered_map<uint64_t, SharedHook*> hooks_;  // waiting hooks
};

class SharedHook final : public Hook {
 public:
  SharedHook(SharedPlugin& plugin, ExchangeView& view) : plugin_(plugin) {
    at_.view = &view;
    at_.begin_wait = [this] { return begin_wait(); };
  }
  ~SharedHook() override {
    plugin_.forget(at_.wait);
    if (hook != nullptr) plugin_.call(0, [&] { return plugin_.api().detach(hook), 0; });
  }

  Verdict on_client_message(ExchangeView& view, mcp::Message& message) override {
    return pass(view, message, plugin_.api().on_client_message);
  }
  Verdict on_upstream_message(ExchangeView& view, mcp::Message& message) override {
    return pass(view, message, plugin_.api().on_upstream_message);
  }
  void on_end(const ExchangeView&, const Ending& ending) noexcept override;
  void decided(Decided decision);
  lineward_exchange* exchange() { return &at_; }

  lineward_hook* hook = nullptr;  // null: attach() threw

 private:
  lineward_ticket* begin_wait() {
    if (!at_.in_call || at_.wait != 0) return nullptr;
    lineward_ticket* ticket = plugin_.ticket(this);
    at_.wait = ticket->wait;
    return ticket;
  }
  using Of = int (*)(lineward_hook*, lineward_exchange*, const lineward_message*);
  Verdict pass(ExchangeView& view, mcp::Message& message, Of of);
  Verdict broke(ExchangeView& view, std::string_view how);
  SharedPlugin& plugin_;
  lineward_exchange at_;
};

// ---- the plugin ----

Status<> SharedPlugin::create(const config::PluginEntry& entry) {
  auto wakeup = net::Wakeup::create(loop_, [this] { deliver(); });
  if (!wakeup) return fail(wakeup.error().text);
  wakeup_ = std::move(*wakeup);
  mailbox_->wakeup = wakeup_.get();
  std::vector<lineward_pair> options;
  options.reserve(entry.raw.size());
  for (const auto& [key, value] : entry.raw)
    options.push_back({to_text(key), to_text(value)});
  lineward_config config{};
  config.size = sizeof config;
  config.name = to_text(entry.name);
  config.directory = to_text(entry.directory);
  config.options = options.data();
  config.option_count = options.size();
  std::array<char, 512> why{};
  plugin_ = call(static_cast<lineward_plugin*>(nullptr),
                 [&] { return api().create(&host_api(), &at_, &config, why.data(), why.size()); });
  why.back() = '\0';
  if (plugin_ != nullptr) return Done{};
  std::string text = sanitize(why.data());
  return fail(text.empty() ? entry.path + " could not be set up and does not say why" : text);
}

std::unique_ptr<Hook> SharedPlugin::attach(ExchangeView& exchange) {
  auto made = std::make_unique<SharedHook>(*this, exchange);
  const bool judged = call(false, [&] {
    made->hook = api().attach(plugin_, made->exchange());
    return true;
  });
  // If it threw, no plugin judged the exchange: a hook without the plugin's half fails it.
  if (judged && made->hook == nullptr) return nullptr;
  return made;
}

std::vector<std::string> SharedPlugin::headers() const {
  std::vector<std::string> out;
  if (api().size < offsetof(lineward_plugin_api, count) || api().headers == nullptr) return out;
  auto add = [](void* with, lineward_text name) {
    auto& names = *static_cast<std::vector<std::string>*>(with);
    std::string text(from_text(name));
    for (char& c : text)
      c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    if (names.size() < kMaxNames && !text.empty() && text.size() <= 128) names.push_back(std::move(text));
  };
  call(0, [&] { return api().headers(plugin_, add, &out), 0; });
  return out;
}

void SharedPlugin::count(CounterSink& sink) const {
  sink.add(kMetrics[1].name, {}, static_cast<double>(faults));
  if (api().size < sizeof(lineward_plugin_api) || api().count == nullptr) return;
  struct Names {
    CounterSink* sink;
    std::vector<std::string> seen;
  } names{&sink, {}};
  auto add = [](void* with, lineward_text name, double value) {
    auto& to = *static_cast<Names*>(with);
    std::string_view text = from_text(name, 64);
    bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
      return (c < 128 && std::isalnum(c) != 0) || c == '_';
    });
    if (!plain || to.seen.size() >= kMaxNames ||
        std::find(to.seen.begin(), to.seen.end(), text) != to.seen.end())
      return;
    to.seen.emplace_back(text);
    to.sink->add(kMetrics[0].name, text, value);
  };
  call(0, [&] { return api().count(plugin_, add, &names), 0; });
}

void SharedPlugin::deliver() {
  std::vector<Decided> all;
  {
    std::lock_guard<std::mutex> lock(mailbox_->mutex);
    all.swap(mailbox_->decided);
  }
  for (Decided& one : all) {
    auto found = hooks_.find(one.wait);  // its exchange may be over
    if (found == hooks_.end()) continue;
    SharedHook* hook = found->second;
    hooks_.erase(found);
    hook->decided(std::move(one));
  }
}

// ---- one exchange ----

Verdict SharedHook::broke(ExchangeView& view, std::string_view how) {
  ++plugin_.faults;
  log::write(log::Level::error, "plugin.fault",
             {{"plugin", plugin_.name()}, {"call", view.facts().call_id}, {"why", how}});
  core::PolicyError refusal;
  refusal.reason = EndReason::internal;
  refusal.text = fmt::format("plugin {} failed", plugin_.name());
  view.refuse(std::move(refusal));
  return Verdict::answered;
}

Verdict SharedHook::pass(ExchangeView& view, mcp::Message& message, Of of) {
  if (hook == nullptr) return broke(view, "threw where it is asked for a hook");
  at_.message = &message;
  at_.in_call = true;
  std::string method = message.method();
  std::string bytes = message.bytes();  // the plugin may replace them
  lineward_message shown{sizeof shown, static_cast<uint32_t>(message.kind()), to_text(bytes),
                         to_text(method)};
  int verdict = plugin_.call(static_cast<int>(LINEWARD_FAILED), [&] { return of(hook, &at_, &shown); });
  at_.in_call = false;
  if (verdict == LINEWARD_WAIT) {
    if (at_.wait == 0) return broke(view, "wants to wait and took no ticket");
    return Verdict::wait;
  }
  plugin_.forget(std::exchange(at_.wait, 0));
  at_.message = nullptr;
  switch (verdict) {
    case LINEWARD_PROCEED: return Verdict::proceed;
    case LINEWARD_ANSWERED: return Verdict::answered;
    case LINEWARD_FAILED: return broke(view, "could not decide");
    default: return broke(view, fmt::format("gave {} for a verdict", verdict));
  }
}

void SharedHook::decided(Decided decision) {
  at_.wait = 0;
  mcp::Message* message = std::exchange(at_.message, nullptr);
  ExchangeView& view = *at_.view;
  bool failed = decision.verdict != LINEWARD_PROCEED && decision.verdict != LINEWARD_ANSWERED;
  if (failed) return view.resume(broke(view, "could not decide after a wait"));
  if (!decision.message.empty()) {
    auto parsed = mcp::Message::parse(std::move(decision.message), json::kDepthCeiling);
    if (!parsed) return view.resume(broke(view, "put something in a message's place that is none"));
    *message = std::move(*parsed);
  }
  if (decision.verdict == LINEWARD_PROCEED) return view.resume(Verdict::proceed);
  if (decision.refusal) {
    view.refuse(std::move(*decision.refusal));
  } else if (!decision.answer.empty()) {
    if (!is_json_object(decision.answer))
      return view.resume(broke(view, "answered with something that is no JSON object"));
    view.answer(std::move(decision.answer));
  }
  view.resume(Verdict::answered);
}

void SharedHook::on_end(const ExchangeView&, const Ending& ending) noexcept {
  plugin_.forget(std::exchange(at_.wait, 0));
  at_.message = nullptr;
  if (hook == nullptr) return;
  lineward_ending plain{};
  plain.size = sizeof plain;
  plain.reason = to_text(mcp::name(ending.reason));
  plain.text = to_text(ending.text);
  plain.code = ending.code;
  plain.took_us = ending.took.count();
  plain.queued_ms = ending.queued.count();
  plain.upstream_ms = ending.upstream.count();
  plain.bytes_out = ending.bytes_out;
  plain.events = ending.events;
  plugin_.call(0, [&] { return plugin_.api().on_end(hook, &at_, &plain), 0; });
}

const config::PluginSpec kSpec{kSharedObject, "A plugin in a shared object.", false, {}, {}};

Result<std::unique_ptr<Plugin>> make(const config::PluginEntry& entry, Host& host) {
  if (entry.path.empty()) return fail("path is empty");
  const std::string path = entry.path_of(entry.path);
  auto library = SharedLibrary::open(path);
  if (!library) return fail(library.error().text);
  const lineward_plugin_api& api = (*library)->api();
  auto plugin = std::make_unique<SharedPlugin>(*library, entry, host);
  auto created = plugin->create(entry);
  if (!created) return fail(created.error().text);
  log::write(
      log::Level::info, "plugin.loaded",
      {{"plugin", entry.name},
       {"path", path},
       {"is", api.name == nullptr ? "" : sanitize(std::string_view(api.name).substr(0, 64))},
       {"version", api.version == nullptr ? "" : sanitize(std::string_view(api.version).substr(0, 64))}});
  return std::unique_ptr<Plugin>(std::move(plugin));
}

}  // namespace

Type shared_object() {
  return {&kSpec, kMetrics, make};
}

}  // namespace lineward::plugin
