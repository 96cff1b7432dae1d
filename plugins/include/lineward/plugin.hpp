// The plugin interface for C++ (C++17 and later), over the C interface of plugin_abi.h. A plugin sees each
// JSON-RPC request and its answer. It passes, changes, refuses or answers them, or suspends the exchange.
// Header only; docs/writing-plugins.md has a whole plugin in 60 lines.
//
//   class Greeter : public lineward::plugin::Plugin {
//    public:
//     Greeter(const lineward::plugin::Config& config, lineward::plugin::Host host);
//     std::unique_ptr<lineward::plugin::Hook> attach(lineward::plugin::Exchange& exchange) override;
//   };
//   LINEWARD_PLUGIN(Greeter, "greeter", "1.0")
//
// An exception thrown from a hook or attach() ends its exchange as `internal` and is logged. An exception
// from the constructor rejects the configuration with its text.
#pragma once

#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lineward/plugin_abi.h"

namespace lineward::plugin {

enum class Verdict : int {
  proceed = LINEWARD_PROCEED,
  answered = LINEWARD_ANSWERED,  // after refuse() or answer(); alone it drops a server's notification
  wait = LINEWARD_WAIT,          // after Exchange::wait()
};
enum class Kind : uint32_t { request, notification, result, error };
enum class Reason : uint32_t { forbidden, rate_limited, unauthorized, invalid_request, internal };
enum class Level : int { debug, info, warn, error };

inline lineward_text to_text(std::string_view text) {
  return {text.data(), text.size()};
}
inline std::string_view from_text(lineward_text text) {
  return text.size == 0 ? std::string_view() : std::string_view(text.data, text.size);
}

struct Refusal {
  Reason reason = Reason::forbidden;
  std::string text;  // one plain sentence for the client; no secrets
  int code = 0;      // of the JSON-RPC error; 0: the reason's default
  int64_t retry_after_ms = -1;
  std::vector<std::pair<std::string, std::string>> headers = {};

  // Calls use(const lineward_refusal&) while the C struct is valid.
  template <class F>
  void with(F&& use) const {
    std::vector<lineward_pair> pairs;
    pairs.reserve(headers.size());
    for (const auto& [name, value] : headers)
      pairs.push_back({to_text(name), to_text(value)});
    lineward_refusal refusal{};
    refusal.size = sizeof refusal;
    refusal.reason = static_cast<uint32_t>(reason);
    refusal.code = code;
    refusal.text = to_text(text);
    refusal.retry_after_ms = retry_after_ms;
    refusal.headers = pairs.data();
    refusal.header_count = pairs.size();
    use(refusal);
  }
};

struct Facts {
  std::string_view call_id, server, method, target, revision, peer, id, principal, session;
  uint64_t bytes_in = 0;
  bool legacy = false, on_stdio = false;
};

struct Ending {
  std::string_view reason, text;
  int code = 0;
  int64_t took_us = 0, queued_ms = 0, upstream_ms = -1;
  uint64_t bytes_out = 0, events = 0;
};

struct Config {
  std::string name, directory;
  std::map<std::string, std::string> options;
  std::string option(const std::string& key, std::string fallback = {}) const {
    auto found = options.find(key);
    return found == options.end() ? std::move(fallback) : found->second;
  }
};

// Copyable; lives as long as the plugin.
class Host {
 public:
  Host(const lineward_host_api* api, lineward_host* host) : api_(api), host_(host) {}
  // From any thread.
  void log(Level level, std::string_view line) const {
    api_->log(host_, static_cast<int>(level), to_text(line));
  }
  const lineward_host_api* api() const { return api_; }

 private:
  const lineward_host_api* api_;
  lineward_host* host_;
};

// A wait, ended once from any thread. A ticket that is destroyed unused fails its exchange.
class Ticket {
 public:
  Ticket() = default;
  Ticket(const lineward_host_api* api, lineward_ticket* ticket) : api_(api), ticket_(ticket) {}
  Ticket(Ticket&& other) noexcept : api_(other.api_), ticket_(std::exchange(other.ticket_, nullptr)) {}
  Ticket& operator=(Ticket&& other) noexcept {
    std::swap(api_, other.api_);
    std::swap(ticket_, other.ticket_);
    return *this;
  }
  ~Ticket() { resume(LINEWARD_FAILED); }
  explicit operator bool() const { return ticket_ != nullptr; }

  void proceed() { resume(LINEWARD_PROCEED); }
  void proceed_with(std::string_view message) { resume(LINEWARD_PROCEED, nullptr, {}, message); }
  void answer(std::string_view result) { resume(LINEWARD_ANSWERED, nullptr, result); }
  void drop() { resume(LINEWARD_ANSWERED); }
  void refuse(const Refusal& refusal) {
    refusal.with([&](const lineward_refusal& plain) { resume(LINEWARD_ANSWERED, &plain); });
  }

 private:
  void resume(uint32_t verdict, const lineward_refusal* refusal = nullptr, std::string_view answer = {},
              std::string_view message = {}) {
    if (ticket_ == nullptr) return;
    lineward_decision decision{};
    decision.size = sizeof decision;
    decision.verdict = verdict;
    decision.refusal = refusal;
    decision.answer = to_text(answer);
    decision.message = to_text(message);
    api_->resume(std::exchange(ticket_, nullptr), &decision);
  }
  const lineward_host_api* api_ = nullptr;
  lineward_ticket* ticket_ = nullptr;
};

class Exchange {
 public:
  Exchange(const lineward_host_api* api, lineward_exchange* exchange) : api_(api), exchange_(exchange) {}
  Facts facts() const {
    lineward_facts plain{};
    plain.size = sizeof plain;
    api_->facts(exchange_, &plain);
    Facts out;
    out.call_id = from_text(plain.call_id);
    out.server = from_text(plain.server);
    out.method = from_text(plain.method);
    out.target = from_text(plain.target);
    out.revision = from_text(plain.revision);
    out.peer = from_text(plain.peer);
    out.id = from_text(plain.id);
    out.principal = from_text(plain.principal);
    out.session = from_text(plain.session);
    out.bytes_in = plain.bytes_in;
    out.legacy = plain.legacy != 0;
    out.on_stdio = plain.on_stdio != 0;
    return out;
  }
  // From the client's request; only fields named by Plugin::headers().
  std::string_view header(std::string_view name) const {
    return from_text(api_->header(exchange_, to_text(name)));
  }
  bool set_upstream_header(std::string_view name, std::string_view value) {
    return api_->set_upstream_header(exchange_, to_text(name), to_text(value)) != 0;
  }
  bool add_reply_header(std::string_view name, std::string_view value) {
    return api_->add_reply_header(exchange_, to_text(name), to_text(value)) != 0;
  }
  // For the end of a hook: `return exchange.refuse({Reason::forbidden, "not today"});`
  Verdict refuse(const Refusal& refusal) {
    refusal.with([&](const lineward_refusal& plain) { api_->refuse(exchange_, &plain); });
    return Verdict::answered;
  }
  // `result` is the JSON text of an object.
  Verdict answer(std::string_view result) {
    api_->answer(exchange_, to_text(result));
    return Verdict::answered;
  }
  // Keep the ticket, and return Verdict::wait.
  Ticket wait() { return {api_, api_->begin_wait(exchange_)}; }

 private:
  friend class Message;
  const lineward_host_api* api_;
  lineward_exchange* exchange_;
};

// Views are valid until the hook's call returns.
class Message {
 public:
  Message(const lineward_host_api* api, lineward_exchange* exchange, const lineward_message* message)
      : api_(api), exchange_(exchange), message_(message) {}
  Kind kind() const { return static_cast<Kind>(message_->kind); }
  std::string_view bytes() const { return changed_.empty() ? from_text(message_->bytes) : changed_; }
  std::string_view method() const { return from_text(message_->method); }
  // False: the bytes are not a JSON-RPC message, and nothing has changed. Id and method must not change.
  bool change(std::string bytes) {
    if (api_->set_message(exchange_, to_text(bytes)) == 0) return false;
    changed_ = std::move(bytes);
    return true;
  }

 private:
  const lineward_host_api* api_;
  lineward_exchange* exchange_;
  const lineward_message* message_;
  std::string changed_;
};

// For one exchange, and destroyed with it; a Ticket may outlive it.
class Hook {
 public:
  virtual ~Hook() = default;
  virtual Verdict on_client_message(Exchange&, Message&) { return Verdict::proceed; }
  virtual Verdict on_upstream_message(Exchange&, Message&) { return Verdict::proceed; }
  // Called exactly once, for every kind of end.
  virtual void on_end(const Exchange&, const Ending&) noexcept {}
};

struct Counter {
  std::string name;
  double value = 0;
};

class Plugin {
 public:
  virtual ~Plugin() = default;
  // Null: not interested; the plugin then costs this exchange nothing.
  virtual std::unique_ptr<Hook> attach(Exchange& exchange) = 0;
  virtual std::vector<std::string> headers() const { return {}; }
  virtual std::vector<Counter> counters() const { return {}; }
};

// The C functions around a plugin class. They own the plugin's objects, and let no exception through.
namespace glue {

struct PluginBox {
  Host host;
  std::unique_ptr<Plugin> plugin;
};
struct HookBox {
  Host host;
  std::unique_ptr<Hook> hook;
};

template <class F, class R>
R guarded(const Host& host, R otherwise, F&& work) {
  try {
    return work();
  } catch (const std::exception& error) {
    host.log(Level::error, error.what());
  } catch (...) {
    host.log(Level::error, "threw something that is no std::exception");
  }
  return otherwise;
}

template <class P>
lineward_plugin* create(const lineward_host_api* api, lineward_host* host, const lineward_config* plain,
                        char* why, size_t why_size) {
  auto tell = [&](const char* text) {
    if (why_size > 0) std::strncpy(why, text, why_size - 1);
  };
  try {
    Config config;
    config.name = from_text(plain->name);
    config.directory = from_text(plain->directory);
    for (size_t i = 0; i < plain->option_count; ++i)
      config.options.emplace(from_text(plain->options[i].name), from_text(plain->options[i].value));
    Host at(api, host);
    auto box = std::make_unique<PluginBox>(PluginBox{at, std::make_unique<P>(config, at)});
    return reinterpret_cast<lineward_plugin*>(box.release());
  } catch (const std::exception& error) {
    tell(error.what());
  } catch (...) {
    tell("threw something that is no std::exception");
  }
  return nullptr;
}

inline PluginBox& box(lineward_plugin* plugin) {
  return *reinterpret_cast<PluginBox*>(plugin);
}
inline HookBox& box(lineward_hook* hook) {
  return *reinterpret_cast<HookBox*>(hook);
}

inline void destroy(lineward_plugin* plugin) {
  delete &box(plugin);
}
// Replaces the hook if attach() threw: the exchange was not judged.
class Unmade final : public Hook {
 public:
  Verdict on_client_message(Exchange&, Message&) override { return static_cast<Verdict>(LINEWARD_FAILED); }
  Verdict on_upstream_message(Exchange&, Message&) override { return static_cast<Verdict>(LINEWARD_FAILED); }
};
inline lineward_hook* attach(lineward_plugin* plugin, lineward_exchange* exchange) {
  PluginBox& at = box(plugin);
  std::unique_ptr<Hook> hook;
  const bool judged = guarded(at.host, false, [&] {
    Exchange view(at.host.api(), exchange);
    hook = at.plugin->attach(view);
    return true;
  });
  if (!judged) hook.reset(new Unmade);
  return hook ? reinterpret_cast<lineward_hook*>(new HookBox{at.host, std::move(hook)}) : nullptr;
}
inline int message(lineward_hook* hook, lineward_exchange* exchange, const lineward_message* plain,
                   Verdict (Hook::*of)(Exchange&, Message&)) {
  HookBox& at = box(hook);
  return guarded(at.host, static_cast<int>(LINEWARD_FAILED), [&] {
    Exchange view(at.host.api(), exchange);
    Message shown(at.host.api(), exchange, plain);
    return static_cast<int>((at.hook.get()->*of)(view, shown));
  });
}
inline int on_client_message(lineward_hook* hook, lineward_exchange* exchange,
                             const lineward_message* plain) {
  return message(hook, exchange, plain, &Hook::on_client_message);
}
inline int on_upstream_message(lineward_hook* hook, lineward_exchange* exchange,
                               const lineward_message* plain) {
  return message(hook, exchange, plain, &Hook::on_upstream_message);
}
inline void on_end(lineward_hook* hook, lineward_exchange* exchange, const lineward_ending* plain) {
  Ending ending;
  ending.reason = from_text(plain->reason);
  ending.text = from_text(plain->text);
  ending.code = plain->code;
  ending.took_us = plain->took_us;
  ending.queued_ms = plain->queued_ms;
  ending.upstream_ms = plain->upstream_ms;
  ending.bytes_out = plain->bytes_out;
  ending.events = plain->events;
  box(hook).hook->on_end(Exchange(box(hook).host.api(), exchange), ending);
}
inline void detach(lineward_hook* hook) {
  delete &box(hook);
}
inline void headers(lineward_plugin* plugin, void (*add)(void*, lineward_text), void* with) {
  guarded(box(plugin).host, 0, [&] {
    for (const std::string& name : box(plugin).plugin->headers())
      add(with, to_text(name));
    return 0;
  });
}
inline void count(lineward_plugin* plugin, void (*add)(void*, lineward_text, double), void* with) {
  guarded(box(plugin).host, 0, [&] {
    for (const Counter& one : box(plugin).plugin->counters())
      add(with, to_text(one.name), one.value);
    return 0;
  });
}

}  // namespace glue
}  // namespace lineward::plugin

// Use it once in a shared object, outside of any namespace.
#define LINEWARD_PLUGIN(CLASS, NAME, VERSION)                           \
  extern "C" const lineward_plugin_api* lineward_plugin_entry(void) {   \
    namespace glue = lineward::plugin::glue;                            \
    static const lineward_plugin_api api = {sizeof api,                 \
                                            LINEWARD_PLUGIN_ABI,        \
                                            NAME,                       \
                                            VERSION,                    \
                                            &glue::create<CLASS>,       \
                                            &glue::destroy,             \
                                            &glue::attach,              \
                                            &glue::on_client_message,   \
                                            &glue::on_upstream_message, \
                                            &glue::on_end,              \
                                            &glue::detach,              \
                                            &glue::headers,             \
                                            &glue::count};              \
    return &api;                                                        \
  }
