// A line for each client request, and for each HTTP request refused before it became one (docs/plugins.md).
#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "foundation/json/json_splice.h"
#include "foundation/log/log.h"
#include "foundation/net/signals.h"
#include "plugins/audit/access_log_line.h"
#include "plugins/audit/line_writer.h"
#include "plugins/common/rate_limit_table.h"
#include "plugins/common/types.h"
#include "proxy/plugin/host.h"

namespace lineward::plugins {
namespace {

using config::Kind;
using config::plugin_choice;
using config::plugin_option;
using mcp::EndReason;
using mcp::Field;
using plugin::Verdict;
using F = LineField;

constexpr std::chrono::seconds kFaultEvery{10};

constexpr plugin::MetricRow kMetrics[] = {
    {"lineward_access_log_lines_total", "counter", "", "Lines that were taken for writing."},
    {"lineward_access_log_dropped_total", "counter", "",
     "Lost lines: the reader was too slow, the disk was full, or they came too fast."},
};

const std::vector<F>& usual_fields() {
  static const std::vector<F> fields{
      F::time,      F::remote, F::principal, F::upstream, F::route,    F::method,      F::target,
      F::reason,    F::code,   F::status,    F::dur_ms,   F::queue_ms, F::upstream_ms, F::bytes_in,
      F::bytes_out, F::call,   F::era,       F::session,  F::agent,    F::request,     F::error};
  return fields;
}

enum class Payload : uint8_t { none, args, all };

class AccessLog final : public plugin::Plugin {
 public:
  AccessLog(const config::PluginEntry& entry, std::vector<F> fields, std::unique_ptr<LineWriter> writer,
            plugin::Host& host)
      : name_(entry.name),
        servers_(entry.servers),
        fields_(std::move(fields)),
        format_(static_cast<LineFormat>(entry.values.number("format"))),
        payload_(static_cast<Payload>(entry.values.number("payload"))),
        payload_bytes_(entry.values.number("payloadBytes")),
        sample_(entry.values.number("sample")),
        writer_(std::move(writer)),
        host_(host),
        reopen_(host.loop(), SIGUSR1, [this] { writer_->reopen(); }) {
    if (fields_.empty()) fields_ = usual_fields();
    if (payload_ != Payload::none) fields_.push_back(F::arguments);
    if (payload_ == Payload::all) fields_.push_back(F::result);
  }

  std::unique_ptr<plugin::Hook> attach(plugin::ExchangeView& exchange) override;
  std::vector<std::string> headers() const override { return {"user-agent"}; }
  void on_refused(const core::RefusedRequest& request) override;
  void on_out_of_call_end(const plugin::RequestInfo& facts, const core::PolicyError* refusal) override;
  void count(plugin::CounterSink& sink) const override {
    sink.add("lineward_access_log_lines_total", {}, static_cast<double>(writer_->lines()));
    sink.add("lineward_access_log_dropped_total", {}, static_cast<double>(writer_->dropped()));
  }

  Payload payload() const { return payload_; }
  // For the log: without secrets, on one line, at most payloadBytes.
  std::string shown(std::string_view json) const {
    // Redacted as JSON, so that pointers apply, and compacted; values are truncated when they are set.
    std::string text = json::compact(host_.redacted(json));
    LineValues cut;
    cut.set(F::result, text, payload_bytes_);
    return cut.text(F::result);
  }
  // A sample of 1 in `sample` successful requests, and all others.
  bool wanted(EndReason reason) {
    return !mcp::is(reason, mcp::EndKind::success) || sample_ <= 1 || seen_++ % sample_ == 0;
  }
  // For the next line.
  LineValues& values() {
    values_.clear();
    return values_;
  }
  void write(LineValues& values) {
    values.set(F::time, log::iso_now());
    writer_->write(spell_line(format_, fields_, values));
    if (host_.loop().now() < looked_at_ + kFaultEvery) return;
    looked_at_ = host_.loop().now();
    std::string fault = writer_->fault();
    if (!fault.empty()) log::write(log::Level::error, "access_log", {{"plugin", name_}, {"error", fault}});
  }

 private:
  std::string name_;
  std::vector<std::string> servers_;
  std::vector<F> fields_;
  LineFormat format_;
  Payload payload_;
  uint64_t payload_bytes_;
  uint64_t sample_;
  std::unique_ptr<LineWriter> writer_;
  plugin::Host& host_;
  net::SignalWatch reopen_;
  LineValues values_;
  uint64_t seen_ = 0;
  std::chrono::milliseconds looked_at_{0};
};

class Logging final : public plugin::Hook {
 public:
  explicit Logging(AccessLog& log) : log_(log) {}

  Verdict on_client_message(plugin::ExchangeView&, mcp::Message& message) override {
    if (log_.payload() != Payload::none && message.has(Field::params_arguments))
      arguments_ = log_.shown(message.raw(Field::params_arguments));
    return Verdict::proceed;
  }
  Verdict on_upstream_message(plugin::ExchangeView&, mcp::Message& message) override {
    if (log_.payload() != Payload::all) return Verdict::proceed;
    if (message.kind() == mcp::MessageKind::result) result_ = log_.shown(message.raw(Field::result));
    if (message.kind() == mcp::MessageKind::error) result_ = log_.shown(message.raw(Field::error));
    return Verdict::proceed;
  }
  void on_end(const plugin::ExchangeView& exchange, const plugin::Ending& ending) noexcept override;

 private:
  AccessLog& log_;
  std::string arguments_, result_;
};

void Logging::on_end(const plugin::ExchangeView& exchange, const plugin::Ending& ending) noexcept {
  if (!log_.wanted(ending.reason)) return;
  const plugin::RequestInfo facts = exchange.facts();
  LineValues& values = log_.values();
  values.set(F::remote, facts.peer);
  values.set(F::principal, facts.principal, 256);
  values.set(F::upstream, facts.upstream);
  if (facts.endpoint != facts.upstream) values.set(F::route, facts.endpoint);
  values.set(F::method, facts.method_name, 100);
  values.set(F::target, facts.target, 256);
  values.set(F::reason, mcp::name(ending.reason));
  if (ending.code != 0) values.set(F::code, ending.code);
  if (!facts.on_stdio) values.set(F::status, ending.status);
  values.set_ms(F::dur_ms, ending.took);
  values.set(F::queue_ms, ending.queued.count());
  if (ending.upstream.count() >= 0) values.set(F::upstream_ms, ending.upstream.count());
  values.set(F::bytes_in, static_cast<int64_t>(facts.bytes_in));
  values.set(F::bytes_out, static_cast<int64_t>(ending.bytes_out));
  values.set(F::events, static_cast<int64_t>(ending.events));
  values.set(F::call, facts.call_id);
  values.set(F::rpc_id, facts.raw_id, 64);
  values.set(F::era, facts.era == mcp::Era::modern ? "modern" : "legacy");
  values.set(F::revision, facts.revision, 32);
  // Distinguishes sessions, but is useless to an attacker.
  if (!facts.session.empty()) values.set(F::session, hex(rate_key(facts.session)).substr(0, 8));
  values.set(F::agent, exchange.header("user-agent"), 256);
  values.set(F::error, ending.text, 300);
  if (!arguments_.empty()) values.set(F::arguments, arguments_, std::string::npos);
  if (!result_.empty()) values.set(F::result, result_, std::string::npos);
  log_.write(values);
}

std::unique_ptr<plugin::Hook> AccessLog::attach(plugin::ExchangeView&) {
  return std::make_unique<Logging>(*this);
}

// A notification or an answer: it has no outcome to record, and no tool.
void AccessLog::on_out_of_call_end(const plugin::RequestInfo& facts, const core::PolicyError* refusal) {
  const EndReason reason = refusal == nullptr ? EndReason::ok : refusal->reason;
  if (!wanted(reason)) return;
  LineValues& values = this->values();
  values.set(F::remote, facts.peer);
  values.set(F::principal, facts.principal, 256);
  values.set(F::upstream, facts.upstream);
  values.set(F::method, facts.method_name, 100);
  values.set(F::reason, mcp::name(reason));
  if (refusal != nullptr)
    values.set(F::code, int64_t{refusal->code != 0 ? refusal->code : mcp::row(reason).code});
  int64_t status = refusal == nullptr ? 202 : mcp::row(reason).code;
  if (reason == EndReason::rate_limited) status = facts.rate_limited_status;
  if (!facts.on_stdio) values.set(F::status, status);
  values.set(F::bytes_in, static_cast<int64_t>(facts.bytes_in));
  values.set(F::era, facts.era == mcp::Era::modern ? "modern" : "legacy");
  values.set(F::revision, facts.revision, 32);
  if (!facts.session.empty()) values.set(F::session, hex(rate_key(facts.session)).substr(0, 8));
  if (refusal != nullptr) values.set(F::error, refusal->text, 300);
  write(values);
}

void AccessLog::on_refused(const core::RefusedRequest& request) {
  bool ours =
      servers_.empty() || std::find(servers_.begin(), servers_.end(), request.server) != servers_.end();
  if (!ours) return;
  LineValues& values = this->values();
  values.set(F::remote, request.peer);
  values.set(F::upstream, request.server);
  values.set(F::reason, mcp::name(request.reason));
  if (request.caller != nullptr) values.set(F::principal, request.caller->principal, 256);
  if (!request.on_stdio) values.set(F::status, request.status);
  // Never the query, which may hold secrets.
  std::string_view path = request.path.substr(0, request.path.find('?'));
  if (!request.method.empty()) {
    values.set(F::request, fmt::format("{} {}", request.method.substr(0, 32), path.substr(0, 256)));
  }
  values.set(F::error, request.why, 300);
  write(values);
}

const config::PluginSpec kSpec{
    "accessLog",
    "A line for each request, including refused ones.",
    false,
    {plugin_option("path", Kind::text, "stderr", 0, 0,
                   "A file, stderr or stdout. A file is opened anew on SIGUSR1, and when it was moved away."),
     plugin_choice("format", "json|logfmt|combined", "json", "How a line is spelled."),
     plugin_option("fields", Kind::list, "", 0, 0, "Which fields, in which order; empty: the usual ones."),
     plugin_option("sample", Kind::count, "1", 1, 1000000,
                   "A line for one in so many successes; failures always."),
     plugin_choice("payload", "none|args|all", "none", "Arguments, and with `all` results, after redaction."),
     plugin_option("payloadBytes", Kind::size, "4KiB", 1, 1048576, "So much of each.")},
    {}};

Result<std::unique_ptr<plugin::Plugin>> make(const config::PluginEntry& entry, plugin::Host& host) {
  auto fields = parse_fields(entry.values.list("fields"));
  if (!fields) return fail(fields.error().text);
  std::string target = entry.values.text("path");
  if (target == "stdout" && host.config().listen.address == "stdio")
    return fail("stdout belongs to the protocol here: choose stderr or a file");
  if (target.empty()) return fail("path is empty");
  if (target != "stdout" && target != "stderr") target = entry.path_of(target);
  auto writer = LineWriter::open(host.loop(), target);
  if (!writer) return fail(writer.error().text);
  return Result<std::unique_ptr<plugin::Plugin>>(
      std::make_unique<AccessLog>(entry, std::move(*fields), std::move(*writer), host));
}

}  // namespace

plugin::Type access_log() {
  return {&kSpec, kMetrics, make};
}

}  // namespace lineward::plugins
