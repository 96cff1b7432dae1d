// The plugin interface. A plugin sees whole JSON-RPC messages and a narrow view of their exchange at three
// points: a client's message, a server's message, the end. Built-in plugins (plugins/) and shared objects
// (proxy/plugin/abi/shared_object.h) use the same interface. docs/plugins.md lists the messages.
//
// Everything runs on one worker's thread. There is one Plugin per worker and one Hook per exchange.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/options/plugin_spec.h"
#include "foundation/base/result.h"
#include "protocol/mcp/end_reason.h"
#include "protocol/mcp/message.h"
#include "protocol/mcp/methods.h"
#include "protocol/mcp/revision.h"
#include "proxy/core/gate.h"
#include "proxy/core/headers.h"

namespace lineward::plugin {

class Host;

enum class Verdict : uint8_t {
  proceed,   // pass the message on, changed or not
  answered,  // stop the message. A request: refuse() or answer() was called. A server's notification: it is
             // dropped
  wait,      // ExchangeView::resume() is called later; until then the exchange is suspended, and the message
             // may still be changed in place
};

// Facts of an exchange, known from its first byte. The views live as long as the exchange.
struct RequestInfo {
  int rate_limited_status = 429;  // HTTP status of a refusal by a rate limit (errors.legacyStatus)
  std::string_view call_id;
  std::string_view upstream;
  std::string_view endpoint;  // the name the client addressed: the same, or the aggregate's path
  std::string_view method_name;
  mcp::Method method = mcp::Method::other;
  std::string_view target;                 // the tool, prompt or URI named in the request, or empty
  mcp::Era era = mcp::Era::modern;         // of the messages
  mcp::Era client_era = mcp::Era::modern;  // of the client; at the aggregate it may differ from `era`
  std::string_view revision;
  std::string_view session;   // of a legacy client; a secret, never log it whole
  std::string_view peer;      // "127.0.0.1:51234"
  std::string_view listener;  // the further listener that it came to; of a server's message outside of calls
                              // the one where the session was opened. Empty: `listen`, or stdio
  std::string_view raw_id;    // the client's JSON-RPC id, JSON text
  std::string_view principal;
  const core::Caller* caller = nullptr;  // null: no authentication took place
  uint64_t bytes_in = 0;
  bool on_stdio = false;
};

// How an exchange ended.
struct Ending {
  mcp::EndReason reason = mcp::EndReason::ok;
  int code = 0;                       // of a JSON-RPC error sent to the client
  int status = 200;                   // of the HTTP response
  std::string_view text;              // of Lineward's own error
  std::chrono::microseconds took{0};  // since the request's last byte
  std::chrono::milliseconds queued{0};
  std::chrono::milliseconds upstream{-1};  // since the write to the server; negative: nothing was written
  uint64_t bytes_out = 0;
  uint64_t events = 0;    // messages to the client before the answer
  uint32_t attempts = 1;  // requests sent to its server; a client's retry is another call
  // For input_required: the `requestState` that the client returns with its retry, if any.
  std::string_view request_state = {};
};

enum class Sampled : bool { no, yes };

class ExchangeView {
 public:
  virtual RequestInfo facts() const = 0;
  // A field of the client's request head that some configured plugin reads (Plugin::headers).
  virtual std::string_view header(std::string_view name) const = 0;
  // Sets a header of the request to an HTTP server, replacing the client's.
  virtual void set_upstream_header(std::string_view name, std::string value) = 0;
  // Adds a header to the response head, if it is not sent yet.
  virtual void add_reply_header(std::string_view name, std::string value) = 0;
  // Before returning Verdict::answered, or before resume(answered). The first call counts.
  virtual void refuse(core::PolicyError refusal) = 0;
  // `result` is the JSON text of an object: the client's answer without the server.
  virtual void answer(std::string result) = 0;
  // Sets the exchange's trace ids, for its log line and, if the trace is sampled, for exemplars.
  virtual void note_trace(std::string_view /*trace_id*/, std::string_view /*span_id*/, Sampled) {}
  // Ends a wait. Not after on_end; not needed if the hook was destroyed.
  virtual void resume(Verdict verdict) = 0;

 protected:
  ~ExchangeView() = default;
};

// A plugin's part in one exchange; made by Plugin::attach(), destroyed with the exchange. A waiting hook
// abandons its wait when it is destroyed.
class Hook {
 public:
  virtual ~Hook() = default;
  // The request, before it is forwarded. Its id and method must not change; everything else may change by
  // assigning a message parsed from new bytes.
  virtual Verdict on_client_message(ExchangeView&, mcp::Message&) { return Verdict::proceed; }
  // The answer, or an earlier notification or question of the server, in order of arrival; ids and tokens are
  // Lineward's own. Plugins see it in reverse of the configured order.
  virtual Verdict on_upstream_message(ExchangeView&, mcp::Message&) { return Verdict::proceed; }
  // The client's answer to a question of this exchange, unless it arrives as a request; may be changed.
  virtual void on_client_answer(ExchangeView&, mcp::Message&) {}
  // The failure text for the client; it may quote the server.
  virtual void on_failure_text(std::string&) {}
  // Called exactly once for each hook, for every kind of end.
  virtual void on_end(const ExchangeView&, const Ending&) noexcept {}
};

// Receives a plugin's values for /metrics: a row of its type's table, and its label's value.
class CounterSink {
 public:
  virtual void add(std::string_view metric, std::string_view label_value, double value) = 0;

 protected:
  ~CounterSink() = default;
};

// The direction of a message that belongs to no exchange: a client's notification or answer, or a message of
// a server to a legacy session. Its facts have no call and no target.
enum class Direction : uint8_t { to_server, to_client };
inline constexpr std::string_view kAnswer = "response";  // RequestInfo::method_name of an answer

// The result of authentication. Only one authenticator decides: the first that recognises this kind of
// credential.
struct Judgement {
  enum class Kind : uint8_t { not_mine, decided, later } kind = Kind::not_mine;
  core::GateAnswer answer = core::CallerPtr();  // for `decided`
};
class Authenticator {
 public:
  virtual ~Authenticator() = default;
  // After `later`, `done` is called once, never from inside, unless this object was destroyed. Without `done`
  // nothing is started: `later` then means that the result is not known immediately.
  virtual Judgement judge(const core::GateRequest& request, core::GateDone done) = 0;
  // A WWW-Authenticate challenge for requests without credentials, such as "Bearer realm=…"; empty: none.
  virtual std::string challenge(const core::GateRequest& request) const = 0;
};

// A configured plugin on one worker: state shared by its exchanges.
class Plugin {
 public:
  virtual ~Plugin() = default;
  // Null means "not interested": the plugin then costs this exchange nothing.
  virtual std::unique_ptr<Hook> attach(ExchangeView& exchange) = 0;
  // Null for all plugins except those below `auth:`.
  virtual Authenticator* authenticator() { return nullptr; }
  // Request header fields that it reads, lower case. Called once.
  virtual std::vector<std::string> headers() const { return {}; }
  virtual void on_refused(const core::RefusedRequest&) {}
  // The message may be changed. A refusal ends it: the client gets an error if possible, and a server's
  // question is refused with the text.
  virtual std::optional<core::PolicyError> on_out_of_call(const RequestInfo&, mcp::Message&, Direction) {
    return std::nullopt;
  }
  // After that, for messages of clients; null: it was forwarded.
  virtual void on_out_of_call_end(const RequestInfo&, const core::PolicyError*) {}
  // Whether it must see every message sent to a client.
  virtual bool reads_all() const { return false; }
  virtual void count(CounterSink&) const {}
  // A reload removed it. Exchanges that began with it continue; its own background work ends.
  virtual void retired() {}
  // All calls of its worker have ended, and the gateway is stopping.
  virtual void ending() {}
  // After retired() or ending(): it still has work to finish, and gets a moment for it (PluginHost).
  virtual bool is_finishing() const { return false; }
};

struct MetricRow {
  std::string_view name;   // lineward_…
  std::string_view type;   // counter | gauge
  std::string_view label;  // its only label besides `plugin`, or empty
  std::string_view help;
  // All workers report the same value, or a health flag: use the lowest, not the sum.
  bool lowest = false;
};

// A row of plugins/registry.cc.
struct Type {
  const config::PluginSpec* spec;
  std::span<const MetricRow> metrics;
  // `entry` was checked against the spec. The error never contains a value of a secret option.
  Result<std::unique_ptr<Plugin>> (*make)(const config::PluginEntry& entry, Host& host);
};
using Registry = std::span<const Type>;

}  // namespace lineward::plugin
