#include "proxy/metrics/stats.h"

#include <algorithm>

#include "protocol/mcp/errors.h"
#include "protocol/mcp/revision.h"

namespace lineward::metrics {
namespace {

using mcp::EndReason;

// Codes of the specification's revisions and of SDKs; the first slot is "none", the last "_other".
constexpr std::array<int, 14> kCodes{0,      -32700, -32600, -32601, -32602, -32603, -32000,
                                     -32001, -32002, -32020, -32021, -32022, -32042, -32800};
constexpr uint8_t kOtherCode = kCodes.size();

constexpr std::array<std::string_view, 8> kHttpMethods{"_OTHER", "GET",     "POST",  "DELETE",
                                                       "PUT",    "OPTIONS", "PATCH", "HEAD"};

bool is_timeout(EndReason reason) {
  return mcp::is(reason, mcp::EndKind::timeout);
}

}  // namespace

void NameTable::learn(std::string_view name) {
  // Names longer than this are labelled `_other`.
  constexpr size_t kMaxLength = 128;
  if (name.empty() || name.size() > kMaxLength || names_.size() >= kMaxEntries || slots_.contains(name))
    return;
  names_.emplace_back(name);
  slots_.emplace(name, static_cast<uint8_t>(names_.size() + kOther));
}

uint8_t NameTable::find(std::string_view name) const {
  if (name.empty()) return kNone;
  auto found = slots_.find(name);
  return found == slots_.end() ? kOther : found->second;
}

std::string_view NameTable::name(uint8_t slot) const {
  if (slot == kNone) return {};
  size_t at = static_cast<size_t>(slot) - kOther - 1;
  return slot == kOther || at >= names_.size() ? std::string_view("_other") : std::string_view(names_[at]);
}

// 0: unknown (yet); the last: a revision that Lineward does not support.
uint8_t revision_slot(std::string_view revision) {
  if (revision.empty()) return 0;
  for (size_t i = 0; i < mcp::kRevisions.size(); ++i) {
    if (mcp::kRevisions[i].name == revision) return static_cast<uint8_t>(i + 1);
  }
  return static_cast<uint8_t>(mcp::kRevisions.size() + 1);
}

std::string_view revision_label(uint8_t slot) {
  if (slot == 0) return {};
  return slot <= mcp::kRevisions.size() ? mcp::kRevisions[slot - 1u].name : std::string_view("_other");
}

uint8_t code_slot(int code) {
  auto found = std::find(kCodes.begin(), kCodes.end(), code);
  return found == kCodes.end() ? kOtherCode : static_cast<uint8_t>(found - kCodes.begin());
}

std::string code_label(uint8_t slot) {
  return slot < kCodes.size() ? std::to_string(kCodes[slot]) : std::string("_other");
}

std::string error_type(const Operation& operation) {
  if (mcp::is(operation.reason, mcp::EndKind::success)) return {};
  if (operation.reason == EndReason::rpc_error) return code_label(operation.code);
  if (is_timeout(operation.reason)) return "timeout";
  return std::string(mcp::name(operation.reason));
}

std::string status_code(const Operation& operation) {
  if (operation.reason == EndReason::rpc_error) return code_label(operation.code);
  int code = mcp::row(operation.reason).code;
  return code == 0 ? std::string() : std::to_string(code);
}

// Reasons with the same labels share a series.
uint32_t OperationSeries::pack(const Operation& operation) {
  EndReason reason = operation.reason;
  if (mcp::is(reason, mcp::EndKind::success)) reason = EndReason::ok;
  if (is_timeout(reason)) reason = EndReason::timeout_request;
  uint32_t code = reason == EndReason::rpc_error ? operation.code : 0;
  return static_cast<uint32_t>(operation.method) | uint32_t{operation.name} << 8 |
         uint32_t{operation.revision} << 16 | static_cast<uint32_t>(reason) << 20 | code << 26;
}

Operation OperationSeries::unpack(uint32_t key) {
  Operation operation;
  operation.method = static_cast<mcp::Method>(key & 0xff);
  operation.name = static_cast<uint8_t>(key >> 8 & 0xff);
  operation.revision = static_cast<uint8_t>(key >> 16 & 0xf);
  operation.reason = static_cast<EndReason>(key >> 20 & 0x3f);
  operation.code = static_cast<uint8_t>(key >> 26);
  return operation;
}

OperationSeries::Series& OperationSeries::series_of(Operation operation) {
  uint32_t key = pack(operation);
  if (key != last_key_) {
    auto found = series_.find(key);
    if (found == series_.end() && series_.size() >= kMaxSeries) {
      operation.name = operation.name == NameTable::kNone ? NameTable::kNone : NameTable::kOther;
      operation.revision = 0;
      operation.code = kOtherCode;
      key = pack(operation);
      found = series_.find(key);
    }
    if (found == series_.end()) found = series_.emplace(key, std::make_unique<Series>()).first;
    last_key_ = key;
    last_ = found->second.get();
  }
  return *last_;
}

void OperationSeries::observe(Operation operation, double seconds, const TraceName& trace) {
  Series& series = series_of(operation);
  series.histogram.observe(seconds);
  if (!trace.trace_id.empty()) remember(series, seconds, trace);
}

void OperationSeries::add(Series& series, const Exemplars& more) {
  if (!series.exemplars) {
    if (with_exemplars_ >= kMaxWithExemplars) return;
    ++with_exemplars_;
    series.exemplars = std::make_unique<Exemplars>();
  }
  for (size_t i = 0; i < more.size(); ++i) {
    Exemplar& mine = (*series.exemplars)[i];
    if (more[i].there() && more[i].at >= mine.at) mine = more[i];
  }
}

void OperationSeries::remember(Series& series, double seconds, const TraceName& trace) {
  if (!series.exemplars) {
    if (with_exemplars_ >= kMaxWithExemplars) return;
    ++with_exemplars_;
    series.exemplars = std::make_unique<Exemplars>();
  }
  (*series.exemplars)[series.histogram.bucket_of(seconds)].set(trace, seconds);
}

namespace {

template <size_t N>
void add_all(std::array<uint64_t, N>& sum, const std::array<uint64_t, N>& more) {
  for (size_t i = 0; i < N; ++i)
    sum[i] += more[i];
}

template <class Row, size_t N>
void add_all(std::array<Row, N>& sum, const std::array<Row, N>& more) {
  for (size_t i = 0; i < N; ++i)
    add_all(sum[i], more[i]);
}

}  // namespace

void UpstreamStats::add(const UpstreamStats& other) {
  if (!other.server_address.empty() || server_address.empty()) {
    transport = other.transport;
    server_address = other.server_address;
    server_port = other.server_port;
  }
  add_all(ends, other.ends);
  tools.add(other.tools);
  prompts.add(other.prompts);
  const auto name_of = [&](const Operation& operation) {
    const bool is_prompt = operation.method == mcp::Method::prompts_get;
    if (operation.name == NameTable::kNone) return operation.name;
    return is_prompt ? prompts.find(other.prompts.name(operation.name))
                     : tools.find(other.tools.name(operation.name));
  };
  server_operations.add(other.server_operations, name_of);
  client_operations.add(other.client_operations, name_of);
  queue_wait.add(other.queue_wait);
  cancel_latency.add(other.cancel_latency);
  start_duration.add(other.start_duration);
  for (size_t i = 0; i < client_sessions.size(); ++i)
    client_sessions[i].add(other.client_sessions[i]);
  add_all(cancellations, other.cancellations);
  late_responses += other.late_responses;
  cache_hits += other.cache_hits;
  cache_misses += other.cache_misses;
  cache_shared += other.cache_shared;
  park_timeouts += other.park_timeouts;
  http2_connections += other.http2_connections;
  http2_streams += other.http2_streams;
  add_all(subscription_events, other.subscription_events);
  starts_ok += other.starts_ok;
  starts_failed += other.starts_failed;
  abandoned += other.abandoned;
  add_all(exits, other.exits);
  stderr_lines += other.stderr_lines;
  add_all(message_errors, other.message_errors);
  add_all(retries, other.retries);
  add_all(remembered, other.remembered);
  missing_parts += other.missing_parts;
  left_out_items += other.left_out_items;
  if (!other.routed) return;
  if (!routed) routed = std::make_unique<UpstreamStats>(name);
  routed->add(*other.routed);
}

void UpstreamStats::cancel_settled(uint64_t tag, const CancelReport& report) {
  bool knew = report.told == CancelTold::notification || report.told == CancelTold::stream_closed;
  if (knew && report.outcome != CancelOutcome::ignored) cancel_latency.observe(report.after);
  if (cancel_watcher != nullptr) cancel_watcher->on_cancel_settled(tag, report);
}

void UpstreamStats::message_error(const mcp::MessageFault& fault) {
  if (fault.names_method()) return message_error(MessageError::malformed);
  bool utf8 = fault.text.find("UTF-8") != std::string::npos;
  message_error(utf8 ? MessageError::bad_utf8 : MessageError::not_json);
}

uint32_t UpstreamStats::take_instance() {
  auto free = std::find(instances.begin(), instances.end(), false);
  auto number = static_cast<uint32_t>(free - instances.begin());
  if (free == instances.end()) {
    instances.push_back(true);
  } else {
    *free = true;
  }
  return number;
}

void UpstreamStats::free_instance(uint32_t number) {
  if (number < instances.size()) instances[number] = false;
}

std::string_view HttpSeries::method_label(uint32_t key) {
  return kHttpMethods[key >> 16];
}

void HttpSeries::observe(std::string_view method, int status, double seconds) {
  auto found = std::find(kHttpMethods.begin(), kHttpMethods.end(), method);
  auto slot = found == kHttpMethods.end() ? 0u : static_cast<uint32_t>(found - kHttpMethods.begin());
  uint32_t key = slot << 16 | (static_cast<uint32_t>(status) & 0xffff);
  if (key != last_key_) {
    auto& histogram = series_[key];
    if (!histogram) histogram = std::make_unique<Histogram>(Buckets::http);
    last_key_ = key;
    last_ = histogram.get();
  }
  last_->observe(seconds);
}

void HttpSeries::add(const HttpSeries& other) {
  for (const auto& [key, histogram] : other.series_) {
    auto& mine = series_[key];
    if (!mine) mine = std::make_unique<Histogram>(Buckets::http);
    mine->add(*histogram);
  }
}

void GatewayStats::add(const GatewayStats& other) {
  for (size_t side = 0; side < bytes_in.size(); ++side) {
    bytes_in[side] += other.bytes_in[side];
    bytes_out[side] += other.bytes_out[side];
  }
  overhead_request.add(other.overhead_request);
  overhead_response.add(other.overhead_response);
  loop_lag.add(other.loop_lag);
  http_requests.add(other.http_requests);
  http_active += other.http_active;
  for (size_t i = 0; i < refused.size(); ++i)
    refused[i] += other.refused[i];
  for (size_t i = 0; i < overload.size(); ++i)
    overload[i] += other.overload[i];
  for (size_t i = 0; i < limits.size(); ++i)
    limits[i] += other.limits[i];
  for (size_t i = 0; i < passed.size(); ++i)
    passed[i] += other.passed[i];
  for (size_t i = 0; i < tls_handshakes.size(); ++i)
    tls_handshakes[i] += other.tls_handshakes[i];
  http2_connections += other.http2_connections;
  for (size_t i = 0; i < http2_streams.size(); ++i)
    http2_streams[i] += other.http2_streams[i];
  for (size_t i = 0; i < http2_faults.size(); ++i)
    http2_faults[i] += other.http2_faults[i];
  for (size_t i = 0; i < proxy_headers.size(); ++i)
    proxy_headers[i] += other.proxy_headers[i];
  for (size_t i = 0; i < server_sessions.size(); ++i)
    server_sessions[i].add(other.server_sessions[i]);
}

namespace {
thread_local GatewayStats* this_threads = nullptr;
}

GatewayStats& stats() {
  static GatewayStats first;
  return this_threads != nullptr ? *this_threads : first;
}

void use_stats(GatewayStats* mine) {
  this_threads = mine;
}

void limit_reached(Limit limit) {
  ++stats().limits[static_cast<size_t>(limit)];
}

UpstreamStats& upstream_stats(std::string_view name) {
  return upstream_stats(stats(), name);
}

UpstreamStats& upstream_stats(GatewayStats& of, std::string_view name) {
  auto& all = of.upstreams;
  for (auto& one : all) {
    if (one->name == name) return *one;
  }
  return *all.emplace_back(std::make_unique<UpstreamStats>(std::string(name)));
}

UpstreamStats& routed_stats(std::string_view name) {
  UpstreamStats& its = upstream_stats(name);
  if (!its.routed) its.routed = std::make_unique<UpstreamStats>(its.name);
  return *its.routed;
}

namespace {
template <typename Kind>
std::string_view one_of(Kind kind, const std::array<std::string_view, size_of<Kind>>& labels) {
  return labels[static_cast<size_t>(kind)];
}
}  // namespace

std::string_view label(CancelInitiator initiator) {
  return one_of(initiator, {"client", "operator", "timeout", "drain"});
}
std::string_view label(CancelOutcome outcome) {
  return one_of(outcome, {"stopped", "raced", "ignored"});
}
std::string_view label(ListenType type) {
  return one_of(type, {"tools", "prompts", "resources", "resource"});
}
std::string_view label(MessageError kind) {
  return one_of(kind, {"not_json", "oversize", "unknown_id", "bad_utf8", "malformed"});
}
std::string_view label(ExitCause cause) {
  return one_of(cause, {"exit", "signal", "killed", "spawn"});
}
std::string_view label(Overload what) {
  return one_of(what, {"requests", "streams", "in_flight", "principal", "connections", "address",
                       "descriptors", "backlog"});
}
std::string_view label(TlsHandshake how) {
  return one_of(how, {"full", "resumed", "failed"});
}
std::string_view label(Http2Stream how) {
  return one_of(how, {"answered", "left", "cut", "refused"});
}
std::string_view label(Http2Fault fault) {
  return one_of(fault, {"resets", "control_frames", "head", "protocol"});
}
std::string_view label(ProxyHeader how) {
  return one_of(how, {"taken", "local", "bad", "late", "untrusted"});
}
std::string_view label(Passed what) {
  return one_of(what, {"in", "out", "failed"});
}
std::string_view label(RetryOn on) {
  return one_of(on, {"connect", "reset", "unavailable", "session_lost", "origin"});
}

std::string_view label(Remembered what) {
  return one_of(what, {"answered", "same", "different", "failed"});
}

CancelInitiator initiator_of(EndReason reason) {
  if (is_timeout(reason)) return CancelInitiator::timeout;
  if (reason == EndReason::cancelled_operator) return CancelInitiator::operator_;
  if (reason == EndReason::cancelled_drain) return CancelInitiator::drain;
  return CancelInitiator::client;
}

}  // namespace lineward::metrics
