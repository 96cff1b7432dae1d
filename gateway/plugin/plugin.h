// The interface of plugins: each sees whole JSON-RPC messages and a narrow view of the exchange they belong
// to, at three points: a client's message, a server's message, the end. Built-ins (plugins/) and shared
// objects (plugin/abi/shared_object.h) use the same one. docs/plugins.md says which messages come by.
//
// Everything happens on one worker's thread. A Plugin is made once per worker, a Hook once per exchange.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/options/plugin_spec.h"
#include "core/gate.h"
#include "core/headers.h"
#include "mcp/end_reason.h"
#include "mcp/message.h"
#include "mcp/methods.h"
#include "mcp/revision.h"

namespace lineward::plugin {

class Host;

enum class Verdict : uint8_t {
  proceed,   // pass the message on, changed or not
  answered,  // it goes no further. Of a request: refuse() or answer() was called. Of a server's
             // notification: it is dropped
  wait,      // ExchangeView::resume() is called later; until then nothing of this exchange moves, and the
             // message may still be changed where it is
};

// Why a plugin ends an exchange.
struct Refusal {
  mcp::EndReason reason = mcp::EndReason::forbidden;
  std::string text;             // one plain sentence for the client; no secrets
  core::HeaderFields headers;   // on the HTTP response, where no head was sent yet
  int64_t retry_after_ms = -1;  // in error.data, and as Retry-After when it is not among the headers
  int code = 0;                 // 0: the one of the reason (behaviour.md 2)
  // Of a listen: those URIs and task ids of its filter that it is refused for. Without them this plugin lets
  // it through. Empty: it is refused as a whole.
  std::vector<std::string> parts = {};
  std::string by = {};  // of a message without an exchange: who refused it, by its configured name
};

// What is known of an exchange from its first byte. The views live as long as the exchange.
struct RequestFacts {
  int rate_limited_status = 429;  // HTTP: what a refusal by a rate limit is sent with (errors.legacyStatus)
  std::string_view call_id;
  std::string_view upstream;
  std::string_view endpoint;  // what the client addressed: the same, or the path of many servers as one
  std::string_view method_name;
  mcp::Method method = mcp::Method::other;
  std::string_view target;          // the tool, prompt or URI that it names, or empty
  mcp::Era era = mcp::Era::modern;  // of the messages
  mcp::Era client_era =
      mcp::Era::modern;  // of who is answered: at the path of many servers it may be another
  std::string_view revision;
  std::string_view session;  // of a legacy client; a secret, never to be logged whole
  std::string_view peer;     // "127.0.0.1:51234"
  std::string_view raw_id;   // the client's JSON-RPC id, JSON text
  std::string_view principal;
  const core::Caller* caller = nullptr;  // null: nobody asked who it is
  uint64_t bytes_in = 0;
  bool on_stdio = false;
};

// How an exchange ended.
struct Ending {
  mcp::EndReason reason = mcp::EndReason::ok;
  int code = 0;                       // of a JSON-RPC error that went to the client
  int status = 200;                   // of the HTTP answer
  std::string_view text;              // of Lineward's own error
  std::chrono::microseconds took{0};  // from the request's last byte
  std::chrono::milliseconds queued{0};
  std::chrono::milliseconds upstream{-1};  // from the write to the server; negative: nothing was written
  uint64_t bytes_out = 0;
  uint64_t events = 0;    // messages to the client before the answer
  uint32_t attempts = 1;  // how often its server was asked; what the client tries again is another call
  // Of input_required: what the client brings with its retry (`requestState`), where it got something.
  std::string_view request_state = {};
};

enum class Sampled : bool { no, yes };

class ExchangeView {
 public:
  virtual RequestFacts facts() const = 0;
  // A field of the client's request head that some plugin of this configuration wants (Plugin::headers).
  virtual std::string_view header(std::string_view name) const = 0;
  // On the request to an HTTP server, instead of what the client sent under that name.
  virtual void set_upstream_header(std::string_view name, std::string value) = 0;
  // On the head of the answer, where none was sent yet.
  virtual void add_reply_header(std::string_view name, std::string value) = 0;
  // Before returning Verdict::answered, or before resume(answered). The first one counts.
  virtual void refuse(Refusal refusal) = 0;
  // `result` is the JSON text of an object: the client's answer without the server.
  virtual void answer(std::string result) = 0;
  // What this exchange is called in a trace, for its line in the log, and, where the trace is sampled, for
  // exemplars.
  virtual void note_trace(std::string_view /*trace_id*/, std::string_view /*span_id*/, Sampled) {}
  // Ends a wait. Not after on_end; never needed when the hook itself was destroyed.
  virtual void resume(Verdict verdict) = 0;

 protected:
  ~ExchangeView() = default;
};

// What one plugin does for one exchange; made by Plugin::attach(), dies with the exchange. A hook that waits
// gives up whatever it waits for when it is destroyed.
class Hook {
 public:
  virtual ~Hook() = default;
  // The request, before it goes anywhere. Its id and method stay as they are; everything else may change by
  // assigning a message parsed from new bytes.
  virtual Verdict on_client_message(ExchangeView&, mcp::Message&) { return Verdict::proceed; }
  // The answer or a notification before it (a server's question too), in the order in which they came; ids
  // and tokens are Lineward's own. Plugins see it in the reverse of the configured order.
  virtual Verdict on_upstream_message(ExchangeView&, mcp::Message&) { return Verdict::proceed; }
  // The client's answer to a question of this exchange, where it does not come as a request; may be changed.
  virtual void on_client_answer(ExchangeView&, mcp::Message&) {}
  // Why the server failed, as the client will be told: a server's own words may stand in it.
  virtual void on_failure_text(std::string&) {}
  // Exactly once for each hook, however it ended.
  virtual void on_end(const ExchangeView&, const Ending&) noexcept {}
};

// One number of a plugin for /metrics: a row of its type's table, and its label's value.
class CounterSink {
 public:
  virtual void add(std::string_view metric, std::string_view label_value, double value) = 0;

 protected:
  ~CounterSink() = default;
};

// A message that belongs to no exchange: a client's notification or answer to a question, or what a server
// says to a legacy session. Of the facts there is no call, and no target.
enum class Direction : uint8_t { to_server, to_client };
inline constexpr std::string_view kAnswer = "response";  // RequestFacts::method_name of an answer

// Says who calls. Only one authenticator decides: the first that knows this kind of credential.
struct Judgement {
  enum class Kind : uint8_t { not_mine, decided, later } kind = Kind::not_mine;
  core::GateAnswer answer = core::CallerPtr();  // of `decided`
};
class Authenticator {
 public:
  virtual ~Authenticator() = default;
  // `done` is called once when `later` was returned, never from inside, unless this was destroyed. Without
  // `done` nothing is begun: `later` then only says that it cannot be told at once.
  virtual Judgement judge(const core::GateRequest& request, core::GateDone done) = 0;
  // One challenge of a WWW-Authenticate field for who brought no credentials, such as "Bearer realm=…";
  // empty: none.
  virtual std::string challenge(const core::GateRequest& request) const = 0;
};

// One configured plugin of one worker: what its exchanges share.
class Plugin {
 public:
  virtual ~Plugin() = default;
  // Null means "not interested": it then costs this exchange nothing.
  virtual std::unique_ptr<Hook> attach(ExchangeView& exchange) = 0;
  // Null for all but those below `auth:`.
  virtual Authenticator* authenticator() { return nullptr; }
  // Header fields that it reads of clients' requests, lower case. Asked for once.
  virtual std::vector<std::string> headers() const { return {}; }
  virtual void on_refused(const core::RefusedRequest&) {}
  // The message may be changed. A refusal ends it: the client is told where it can be, a server's question is
  // refused with its text.
  virtual std::optional<Refusal> on_loose(const RequestFacts&, mcp::Message&, Direction) {
    return std::nullopt;
  }
  // After that, of messages of clients; null: it went on.
  virtual void on_loose_end(const RequestFacts&, const Refusal*) {}
  // Must it see every message that goes to a client?
  virtual bool reads_all() const { return false; }
  virtual void count(CounterSink&) const {}
  // A reload took it out of service. Exchanges that began with it go on; what it does by itself ends.
  virtual void retired() {}
  // All calls of its worker have ended, and the gateway is about to.
  virtual void ending() {}
  // After one of these two it still has something to do by itself, and gets a moment for it (PluginHost).
  virtual bool is_finishing() const { return false; }
};

struct MetricRow {
  std::string_view name;   // lineward_…
  std::string_view type;   // counter | gauge
  std::string_view label;  // its one label besides `plugin`, or empty
  std::string_view help;
  // Each worker says the same, or whether all is well: the lowest counts, not the sum.
  bool lowest = false;
};

// One row of plugins/registry.cc.
struct Type {
  const config::PluginSpec* spec;
  std::span<const MetricRow> metrics;
  // `entry` was checked against the spec. The error says what is wrong, and never a value of a secret option.
  Result<std::unique_ptr<Plugin>> (*make)(const config::PluginEntry& entry, Host& host);
};
using Registry = std::span<const Type>;

}  // namespace lineward::plugin
