// W3C trace context in _meta and headers, and two spans for each call: the client's side and the server's.
// docs/plugins.md, "trace"; names follow OpenTelemetry's conventions for MCP.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "foundation/base/memory_charge.h"
#include "foundation/json/json_member.h"
#include "foundation/log/excerpt.h"
#include "foundation/log/log.h"
#include "plugins/common/otlp_exporter.h"
#include "plugins/common/types.h"
#include "plugins/trace/trace_context.h"
#include "plugins/trace/trace_options.h"
#include "plugins/trace/trace_rounds.h"
#include "plugins/trace/trace_span.h"
#include "proxy/plugin/host.h"

namespace lineward::plugins {
namespace {

using mcp::EndReason;
using mcp::Field;
using mcp::Method;
using plugin::Verdict;

constexpr plugin::MetricRow kMetrics[] = {
    {"lineward_trace_spans_total", "counter", "outcome",
     "Spans: sent, dropped (the queue was full, or the collector did not take them), unsampled."},
    {"lineward_trace_export_failures_total", "counter", "", "Batches that were tried again."},
    {"lineward_trace_queued", "gauge", "", "Spans that wait to be sent."},
};
constexpr size_t kMaxEvents = 16;
constexpr size_t kMaxContent = 4096;  // bytes of arguments, and of results

uint64_t now_ns() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::system_clock::now().time_since_epoch())
                                   .count());
}

class Trace final : public plugin::Plugin {
 public:
  Trace(const config::PluginEntry& entry, plugin::Host& at, TraceOptions wanted)
      : host(at), options(std::move(wanted)), exporter(at, entry.name, OtlpSignal::spans, options.exporter) {}
  std::unique_ptr<plugin::Hook> attach(plugin::ExchangeView&) override;
  std::vector<std::string> headers() const override { return {"traceparent", "tracestate"}; }
  void count(plugin::CounterSink& sink) const override {
    sink.add(kMetrics[0].name, "sent", static_cast<double>(exporter.numbers().sent));
    sink.add(kMetrics[0].name, "dropped", static_cast<double>(exporter.numbers().dropped));
    sink.add(kMetrics[0].name, "unsampled", static_cast<double>(unsampled));
    sink.add(kMetrics[1].name, {}, static_cast<double>(exporter.numbers().failed));
    sink.add(kMetrics[2].name, {}, static_cast<double>(exporter.queued()));
  }
  void retired() override { exporter.finish(); }
  void ending() override { exporter.finish_now(); }
  bool is_finishing() const override { return exporter.queued() > 0; }

  plugin::Host& host;
  const TraceOptions options;
  OtlpExporter exporter;
  TraceRounds rounds;
  uint64_t unsampled = 0;
};

class Tracing final : public plugin::Hook {
 public:
  explicit Tracing(Trace& trace) : trace_(trace) {}
  Verdict on_client_message(plugin::ExchangeView& view, mcp::Message& message) override;
  Verdict on_upstream_message(plugin::ExchangeView& view, mcp::Message& message) override;
  void on_end(const plugin::ExchangeView& view, const plugin::Ending& ending) noexcept override;

 private:
  void find_parent(plugin::ExchangeView& view, const mcp::Message& message);
  void pass_on(plugin::ExchangeView& view, mcp::Message& message);
  OtlpAttributes attributes(const plugin::RequestInfo& facts, const plugin::Ending& ending,
                            bool server) const;

  Trace& trace_;
  TraceContext server_, client_;  // the spans of the two sides
  std::string parent_, state_;
  std::vector<TraceContext> links_;
  std::vector<TraceEvent> events_;
  std::string arguments_, result_;
  MemoryCharge held_{Held::telemetry};  // these two
};

// `_meta` has precedence over the header, which then becomes a link; both are validated. A retry after a
// question belongs to the call's trace, unless its client sends another one.
void Tracing::find_parent(plugin::ExchangeView& view, const mcp::Message& message) {
  auto in_meta = parse_traceparent(message.text(Field::meta_traceparent));
  auto in_header = parse_traceparent(view.header("traceparent"));
  std::optional<TraceContext> parent = in_meta ? in_meta : in_header;
  if (in_meta) {
    state_ =
        usable_tracestate(json::string_value(json::member(message.raw(Field::params_meta), "tracestate")));
    if (in_header && in_header->span_id != in_meta->span_id) links_.push_back(*in_header);
  } else if (in_header) {
    state_ = usable_tracestate(view.header("tracestate"));
  }
  if (auto before = trace_.rounds.find(message.text(Field::params_request_state))) {
    if (parent) {
      links_.push_back(before->context);
    } else {
      parent = before->context;
      state_ = before->state;
    }
  }
  if (parent) {
    parent_ = parent->span_id;
    server_.trace_id = parent->trace_id;
    server_.sampled =
        trace_.options.follow_parent ? parent->sampled : in_sample(parent->trace_id, trace_.options.ratio);
  } else {
    server_.trace_id = new_trace_id();
    server_.sampled = in_sample(server_.trace_id, trace_.options.ratio);
  }
  server_.span_id = new_span_id();
  client_ = {server_.trace_id, new_span_id(), server_.sampled};
}

// The usual request has no trace yet: one copy, and no search for the members of its `_meta`. Empty: it is
// not such a request.
std::string with_first_trace(const mcp::Message& message, std::string_view header) {
  if (!message.is_object(Field::params_meta) || message.has(Field::meta_traceparent) || message.outline())
    return {};
  const json::Span meta = message.at(Field::params_meta);
  const std::string_view raw = meta.in(message.bytes());
  // An escape may be a part of its name.
  if (raw.find("tracestate") != std::string_view::npos || raw.find('\\') != std::string_view::npos) return {};
  const bool is_empty = raw.find('"') == std::string_view::npos;
  const std::string member = fmt::format(R"("traceparent":"{}"{})", header, is_empty ? "" : ",");
  return json::replaced(message.bytes(), {meta.begin + 1, meta.begin + 1}, member);
}

void Tracing::pass_on(plugin::ExchangeView& view, mcp::Message& message) {
  const std::string header = client_.header();
  view.set_upstream_header("traceparent", header);
  if (!state_.empty()) view.set_upstream_header("tracestate", state_);
  if (state_.empty()) {
    if (std::string text = with_first_trace(message, header); !text.empty()) {
      if (auto changed = mcp::Message::parse(std::move(text), json::kDepthCeiling))
        message = std::move(*changed);
      return;
    }
  }
  std::string parent = json::quote(header);
  json::Splice splice = message.splice();
  if (message.is_object(Field::params_meta)) {
    if (message.has(Field::meta_traceparent)) {
      splice.replace(message.at(Field::meta_traceparent), parent);
    } else {
      splice.add_member(message.at(Field::params_meta), "traceparent", parent);
    }
    // The tracestate must belong to the chosen parent.
    json::Span meta = message.at(Field::params_meta);
    std::string_view text = meta.in(message.bytes());
    json::Cursor cursor(text, json::kDepthCeiling);
    json::Span key, value;
    bool escaped = false, there = false;
    if (cursor.at_object() && cursor.enter_object()) {
      while (cursor.next_key(key, escaped) && cursor.skip(value)) {
        if (!json::key_equals(key.in(text), escaped, "tracestate")) continue;
        there = true;
        json::Span at{value.begin + meta.begin, value.end + meta.begin};
        if (state_.empty()) {
          splice.remove_member(meta, {key.begin + meta.begin, key.end + meta.begin}, at);
        } else if (json::string_value(value.in(text)) != state_) {
          splice.replace(at, json::quote(state_));
        }
      }
    }
    if (!there && !state_.empty()) splice.add_member(meta, "tracestate", json::quote(state_));
  } else if (!message.has(Field::params_meta)) {
    std::string meta = fmt::format(R"({{"traceparent":{}}})", parent);
    if (message.is_object(Field::params)) {
      splice.add_member(message.at(Field::params), "_meta", meta);
    } else if (message.has(Field::params)) {  // null
      splice.replace(message.at(Field::params), fmt::format(R"({{"_meta":{}}})", meta));
    } else {
      splice.add_member({0, static_cast<uint32_t>(message.bytes().size())}, "params",
                        fmt::format(R"({{"_meta":{}}})", meta));
    }
  }
  if (splice.empty()) return;
  if (auto changed = mcp::Message::parse(splice.apply_outlined(), json::kDepthCeiling))
    message = std::move(*changed);
}

Verdict Tracing::on_client_message(plugin::ExchangeView& view, mcp::Message& message) {
  find_parent(view, message);
  view.note_trace(server_.trace_id, server_.span_id,
                  server_.sampled ? plugin::Sampled::yes : plugin::Sampled::no);
  if (trace_.options.arguments && server_.sampled) {
    std::string_view raw = message.raw(Field::params_arguments);
    if (raw.size() <= kMaxContent) arguments_ = trace_.host.redacted(raw);
    held_.set(arguments_.size());
  }
  // initialize gets no trace context: it belongs to no client's work, and old servers may reject it.
  if (view.facts().method != Method::initialize) pass_on(view, message);
  return Verdict::proceed;
}

Verdict Tracing::on_upstream_message(plugin::ExchangeView& view, mcp::Message& message) {
  if (mcp::method_of(message.method()) == Method::progress && events_.size() < kMaxEvents)
    events_.push_back({"lineward.progress", now_ns()});
  if (trace_.options.results && server_.sampled && view.facts().method == Method::tools_call) {
    std::string_view raw = message.raw(Field::result);
    if (raw.size() <= kMaxContent) result_ = trace_.host.redacted(raw);
    held_.set(arguments_.size() + result_.size());
  }
  return Verdict::proceed;
}

bool is_caller_fault(int code) {
  return code == -32700 || code == -32600 || code == -32601 || code == -32602 || code == -32002;
}

OtlpAttributes Tracing::attributes(const plugin::RequestInfo& facts, const plugin::Ending& ending,
                                   bool server) const {
  OtlpAttributes out;
  out.text("mcp.method.name", log::Excerpt(facts.method_name, 200));
  std::string target = trace_.host.redacted(log::Excerpt(facts.target, 500));
  if (facts.method == Method::tools_call) {
    out.text("gen_ai.operation.name", "execute_tool");
    out.text("gen_ai.tool.name", target);
  } else if (facts.method == Method::prompts_get) {
    out.text("gen_ai.prompt.name", target);
  } else if (facts.method_name.substr(0, 10) == "resources/") {
    out.text("mcp.resource.uri", target);
  }
  std::string_view id = facts.raw_id.substr(0, 64);
  out.text("jsonrpc.request.id",
           id.size() > 2 && id.front() == '"' ? json::string_value(id) : std::string(id));
  out.text("mcp.protocol.version", facts.revision);
  if (ending.code != 0) out.text("rpc.response.status_code", std::to_string(ending.code));
  if (mcp::is(ending.reason, mcp::EndKind::timeout)) {
    out.text("error.type", "timeout");
  } else if (ending.reason == EndReason::tool_error) {
    out.text("error.type", "tool_error");
  } else if (ending.code != 0) {
    out.text("error.type", std::to_string(ending.code));
  }
  if (server) {
    // "192.0.2.7:80", "[2001:db8::1]:80", or without a port, as a proxy told it.
    const size_t colon = facts.peer.rfind(':');
    const bool has_port =
        colon != std::string_view::npos && facts.peer.find(']', colon) == std::string_view::npos;
    const bool tcp = !facts.on_stdio && facts.peer.find_first_of(".:") != std::string_view::npos &&
                     facts.peer.substr(0, 4) != "unix";
    out.text("network.transport", facts.on_stdio ? "pipe" : tcp ? "tcp" : "unix");
    if (!facts.on_stdio) out.text("network.protocol.name", "http");
    if (tcp) {
      out.text("client.address", facts.peer.substr(0, has_port ? colon : facts.peer.size()));
      if (has_port) out.number("client.port", std::atoi(std::string(facts.peer.substr(colon + 1)).c_str()));
    }
    out.text("gen_ai.tool.call.arguments", arguments_);
    // Questions are not a result, nor is a result that the client does not get.
    if (ending.reason == EndReason::ok || ending.reason == EndReason::tool_error)
      out.text("gen_ai.tool.call.result", result_);
  } else {
    describe_server(trace_.host.config(), facts.upstream, out);
  }
  out.text("lineward.upstream", facts.upstream);
  if (facts.endpoint != facts.upstream) out.text("lineward.route", facts.endpoint);
  out.text("lineward.reason", mcp::name(ending.reason));
  out.text("lineward.call.id", facts.call_id);
  out.number("lineward.attempt", ending.attempts);
  out.number("lineward.queue.duration_ms", ending.queued.count());
  return out;
}

void Tracing::on_end(const plugin::ExchangeView& view, const plugin::Ending& ending) noexcept {
  if (server_.span_id.empty()) return;  // refused before it reached this plugin
  if (ending.reason == EndReason::input_required) trace_.rounds.keep(ending.request_state, {server_, state_});
  bool written = ending.upstream.count() >= 0;
  if (!server_.sampled) {
    trace_.unsampled += written ? 2 : 1;
    return;
  }
  plugin::RequestInfo facts = view.facts();
  TraceSpan span;
  span.context = server_;
  span.parent = parent_;
  span.state = state_;
  span.name = log::Excerpt(facts.method_name, 200);
  if ((facts.method == Method::tools_call || facts.method == Method::prompts_get) && !facts.target.empty())
    span.name += " " + trace_.host.redacted(log::Excerpt(facts.target, 200));
  span.end_ns = now_ns();
  span.begin_ns = span.end_ns - static_cast<uint64_t>(std::max<int64_t>(ending.took.count(), 0)) * 1000;
  span.attributes = attributes(facts, ending, true);
  bool failed = ending.code != 0 || !mcp::is(ending.reason, mcp::EndKind::success);
  span.failed = failed && !is_caller_fault(ending.code);
  span.links = std::move(links_);
  std::string server_json = span.json();
  if (written) {
    auto upstream = static_cast<uint64_t>(ending.upstream.count()) * 1000000;
    span.begin_ns = std::max(span.begin_ns, span.end_ns - upstream);
    span.context = client_;
    span.parent = server_.span_id;
    span.server = false;
    span.links.clear();
    span.attributes = attributes(facts, ending, false);
    span.failed = failed;
    span.events = std::move(events_);
    if (mcp::is(ending.reason, mcp::EndKind::cancel) || mcp::is(ending.reason, mcp::EndKind::timeout))
      span.events.push_back({"lineward.cancel_sent", span.end_ns});
    trace_.exporter.add(span.json());
  }
  trace_.exporter.add(std::move(server_json));
}

std::unique_ptr<plugin::Hook> Trace::attach(plugin::ExchangeView&) {
  return std::make_unique<Tracing>(*this);
}

Result<std::unique_ptr<plugin::Plugin>> make(const config::PluginEntry& entry, plugin::Host& host) {
  auto options = read_trace_options(entry.values, [](const char* name) { return std::getenv(name); });
  if (!options) return fail(options.error().text);
  return Result<std::unique_ptr<plugin::Plugin>>(std::make_unique<Trace>(entry, host, std::move(*options)));
}

}  // namespace

plugin::Type trace() {
  return {&trace_spec(), kMetrics, make};
}

}  // namespace lineward::plugins
