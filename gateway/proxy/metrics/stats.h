// Counters of the running gateway: plain numbers, no locks. admin/ makes metrics from them.
//
// Global like the log, with one instance for each worker's thread. The hot path increments through references
// looked up once; a series is allocated when its labels first occur. All label values are bounded: methods,
// reasons, codes and revisions by their tables, tools and prompts by the server's own lists (NameTable).
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "protocol/mcp/end_reason.h"
#include "protocol/mcp/message.h"
#include "protocol/mcp/methods.h"
#include "proxy/metrics/exemplar.h"
#include "proxy/metrics/histogram.h"
#include "proxy/metrics/limits.h"

namespace lineward::metrics {

template <class Enum>
constexpr size_t size_of = static_cast<size_t>(Enum::count_);

enum class CancelInitiator : uint8_t { client, operator_, timeout, drain, count_ };
// The outcome of a cancel (docs/metrics.md).
// `stopped`: it had not been sent, its stream was closed, its process ended, or the server answered that it
// stopped. `raced`: the server had finished anyway. `ignored`: the server sent nothing about it within
// cancelGrace. The specification asks servers to be silent, so an ignored call may have stopped.
enum class CancelOutcome : uint8_t { stopped, raced, ignored, count_ };
// How the server was notified.
enum class CancelTold : uint8_t {
  not_sent,
  notification,
  stream_closed,
  nothing,
  process_ended,
  others_wait,    // not notified: the request continues for other callers
  servers_behind  // an aggregate: each member with a part was notified in its own way
};
enum class ListenType : uint8_t { tools, prompts, resources, resource, count_ };
enum class MessageError : uint8_t { not_json, oversize, unknown_id, bad_utf8, malformed, count_ };
enum class ExitCause : uint8_t { exit, signal, killed, spawn, count_ };
// `origin`: at another origin of the server, since nothing was sent to the first.
enum class RetryOn : uint8_t { connect, reset, unavailable, session_lost, origin, count_ };
// Answers given from the memory of an earlier life, and what the server's own answers showed afterwards.
enum class Remembered : uint8_t { answered, same, different, failed, count_ };
// Refusals because of overload: requests by a global limit, connections before any request.
enum class Overload : uint8_t {
  requests,
  streams,
  in_flight,
  principal,
  connections,
  address,
  descriptors,
  backlog,  // cut, not refused: memory of unread data was needed for other clients
  count_
};
// TLS of clients; failed: also a connection that broke it later.
enum class TlsHandshake : uint8_t { full, resumed, failed, count_ };
// Streams of HTTP/2 at their end. left: by the client; cut: by the gateway, without a whole answer.
enum class Http2Stream : uint8_t { answered, left, cut, refused, count_ };
// The faults for which a client loses its HTTP/2 connection.
enum class Http2Fault : uint8_t { resets, control_frames, head, protocol, count_ };
// PROXY headers of trusted proxies: with an address; without one (a proxy's own connection); malformed or
// missing; not complete in time. And connections of other networks that were closed (`required`).
enum class ProxyHeader : uint8_t { taken, local, bad, late, untrusted, count_ };
// Requests between replicas: received from a peer, passed to a peer, and passed ones left without an answer.
enum class Passed : uint8_t { in, out, failed, count_ };
enum class Side : uint8_t { client, upstream, count_ };

// Names of tools or prompts for labels: the first 200 that the server listed.
class NameTable {
 public:
  static constexpr size_t kMaxEntries = 200;
  static constexpr uint8_t kNone = 0;   // the call has no name
  static constexpr uint8_t kOther = 1;  // a name not listed, or beyond the limit

  void learn(std::string_view name);
  uint8_t find(std::string_view name) const;
  // The label: empty, "_other" or the name.
  std::string_view name(uint8_t slot) const;
  size_t size() const { return names_.size(); }
  // Learns the other table's names.
  void add(const NameTable& other) {
    for (const std::string& name : other.names_)
      learn(name);
  }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  std::unordered_map<std::string, uint8_t, Hash, std::equal_to<>> slots_;
  std::vector<std::string> names_;
};

// The labels of one MCP operation, as small numbers.
struct Operation {
  mcp::Method method = mcp::Method::other;
  uint8_t name = NameTable::kNone;  // a tool's slot for tools/call, a prompt's for prompts/get
  uint8_t revision = 0;             // revision_slot()
  mcp::EndReason reason = mcp::EndReason::ok;
  uint8_t code = 0;  // code_slot(), of rpc_error only
};

// Protocol revisions and JSON-RPC error codes in labels; all others share one value each.
uint8_t revision_slot(std::string_view revision);
std::string_view revision_label(uint8_t slot);
uint8_t code_slot(int code);
std::string code_label(uint8_t slot);
// semconv error.type and rpc.response.status_code; empty if there is none.
std::string error_type(const Operation& operation);
std::string status_code(const Operation& operation);

// Durations of operations by their labels.
class OperationSeries {
 public:
  static constexpr size_t kMaxSeries = 4000;
  static constexpr size_t kMaxWithExemplars = 200;  // of these

  using Exemplars = std::array<Exemplar, Histogram::kMaxBuckets>;  // by bucket

  // A call of a sampled trace becomes its bucket's exemplar.
  void observe(Operation operation, double seconds, const TraceName& trace = {});
  template <class F>
  void for_each(F&& visit) const {
    for (const auto& [key, one] : series_)
      visit(unpack(key), one->histogram);
  }
  // With their exemplars, null if there are none.
  template <class F>
  void for_each_with_exemplars(F&& visit) const {
    for (const auto& [key, one] : series_)
      visit(unpack(key), one->histogram, static_cast<const Exemplars*>(one->exemplars.get()));
  }
  size_t size() const { return series_.size(); }
  // Adds another worker's. `name_of`: the slot here of that worker's name of the operation.
  template <class F>
  void add(const OperationSeries& other, F&& name_of) {
    for (const auto& [key, one] : other.series_) {
      Operation operation = unpack(key);
      operation.name = name_of(operation);
      Series& mine = series_of(operation);
      mine.histogram.add(one->histogram);
      if (one->exemplars) add(mine, *one->exemplars);
    }
  }

 private:
  struct Series {
    Histogram histogram;
    std::unique_ptr<Exemplars> exemplars;  // null until there is one
  };
  static uint32_t pack(const Operation& operation);
  static Operation unpack(uint32_t key);
  Series& series_of(Operation operation);
  void add(Series& series, const Exemplars& more);
  void remember(Series& series, double seconds, const TraceName& trace);
  std::unordered_map<uint32_t, std::unique_ptr<Series>> series_;
  uint32_t last_key_ = UINT32_MAX;
  Series* last_ = nullptr;
  size_t with_exemplars_ = 0;
};

struct CancelReport {
  CancelOutcome outcome = CancelOutcome::stopped;
  CancelTold told = CancelTold::not_sent;
  std::chrono::milliseconds after{0};  // from the cancel to its outcome

  // Whether there is an outcome at the server. A request that continues for others has none.
  bool has_outcome() const { return told != CancelTold::others_wait; }
};

// Receives the outcome of each cancelled call once, named by UpstreamRequest::tag. It may be called from
// inside Call::cancel(), so it must not call into upstreams.
class CancelWatcher {
 public:
  virtual void on_cancel_settled(uint64_t tag, const CancelReport& report) = 0;

 protected:
  ~CancelWatcher() = default;
};

// Counters of one configured server. They live as long as the process.
struct UpstreamStats {
  explicit UpstreamStats(std::string its_name) : name(std::move(its_name)) {}
  UpstreamStats(const UpstreamStats&) = delete;
  UpstreamStats& operator=(const UpstreamStats&) = delete;

  const std::string name;
  // The transport: "pipe", "tcp" or "unix"; address and port if there are any. Never a path or credentials.
  std::string transport = "pipe";
  std::string server_address, server_port;

  using Ends = std::array<uint64_t, static_cast<size_t>(mcp::EndReason::count_)>;
  std::array<Ends, static_cast<size_t>(mcp::Method::other) + 1> ends{};
  NameTable tools, prompts;
  OperationSeries server_operations;  // the client's view: arrival to end
  OperationSeries client_operations;  // the hop to the server: written to end
  Histogram queue_wait{Buckets::mcp};
  Histogram cancel_latency{Buckets::mcp};
  Histogram start_duration{Buckets::mcp};
  std::array<Histogram, 8> client_sessions{};  // by revision_slot
  std::array<std::array<uint64_t, size_of<CancelOutcome>>, size_of<CancelInitiator>> cancellations{};
  uint64_t late_responses = 0;
  uint64_t cache_hits = 0, cache_misses = 0, cache_shared = 0;
  uint64_t park_timeouts = 0;
  uint64_t http2_connections = 0, http2_streams = 0;  // open ones; all so far
  std::array<uint64_t, size_of<ListenType>> subscription_events{};
  uint64_t starts_ok = 0, starts_failed = 0;
  uint64_t abandoned = 0;  // processes that ended because their sessions' clients had gone
  std::array<uint64_t, size_of<ExitCause>> exits{};
  std::array<uint64_t, size_of<Remembered>> remembered{};
  uint64_t stderr_lines = 0;
  std::array<uint64_t, size_of<MessageError>> message_errors{};
  std::array<uint64_t, size_of<RetryOn>> retries{};
  uint64_t missing_parts = 0, left_out_items = 0;  // of it, in merged answers
  std::vector<bool> instances;                     // instance labels in use
  // Exchange counters of calls routed to it by the aggregate; null: none yet.
  std::unique_ptr<UpstreamStats> routed;

  // Adds another worker's counters of the same server.
  void add(const UpstreamStats& other);

  CancelWatcher* cancel_watcher = nullptr;
  void cancel_settled(uint64_t tag, const CancelReport& report);
  void message_error(const mcp::MessageFault& fault);
  void message_error(MessageError kind) {
    ++message_errors[static_cast<size_t>(kind)];
    if (kind == MessageError::oversize) limit_reached(Limit::message_bytes);
  }
  // Takes the lowest free number for a process: labels then do not grow with restarts.
  uint32_t take_instance();
  void free_instance(uint32_t number);
};

// Clients' HTTP requests by method and status.
class HttpSeries {
 public:
  void observe(std::string_view method, int status, double seconds);
  void add(const HttpSeries& other);
  template <class F>
  void for_each(F&& visit) const {
    for (const auto& [key, histogram] : series_)
      visit(method_label(key), static_cast<int>(key & 0xffff), *histogram);
  }

 private:
  static std::string_view method_label(uint32_t key);
  std::unordered_map<uint32_t, std::unique_ptr<Histogram>> series_;
  uint32_t last_key_ = UINT32_MAX;
  Histogram* last_ = nullptr;
};

struct GatewayStats {
  std::array<uint64_t, size_of<Side>> bytes_in{}, bytes_out{};
  Histogram overhead_request{Buckets::precise};
  Histogram overhead_response{Buckets::precise};
  Histogram loop_lag{Buckets::precise};
  double loop_lag_now = 0;  // seconds: the maximum of the last minute; per worker
  HttpSeries http_requests;
  int64_t http_active = 0;
  UpstreamStats::Ends refused{};  // requests refused before becoming a call
  std::array<uint64_t, size_of<Overload>> overload{};
  std::array<uint64_t, size_of<Limit>> limits{};
  std::array<uint64_t, size_of<Passed>> passed{};
  std::array<uint64_t, size_of<TlsHandshake>> tls_handshakes{};
  int64_t http2_connections = 0;
  std::array<uint64_t, size_of<Http2Stream>> http2_streams{};
  std::array<uint64_t, size_of<Http2Fault>> http2_faults{};
  std::array<uint64_t, size_of<ProxyHeader>> proxy_headers{};
  std::array<Histogram, 8> server_sessions{};  // legacy sessions of clients, by revision_slot
  std::vector<std::unique_ptr<UpstreamStats>> upstreams;

  void count(Passed what) { ++passed[static_cast<size_t>(what)]; }
  void count_refused(mcp::EndReason why) { ++refused[static_cast<size_t>(why)]; }
  // Adds another worker's counters, except the upstreams, which are added one by one.
  void add(const GatewayStats& other);
  void bytes(Side side, uint64_t in, uint64_t out) {
    bytes_in[static_cast<size_t>(side)] += in;
    bytes_out[static_cast<size_t>(side)] += out;
  }
};

// This thread's counters.
GatewayStats& stats();
// Makes `mine` this thread's counters; they must outlive its work. null: the process's, used by the first
// worker.
void use_stats(GatewayStats* mine);
UpstreamStats& upstream_stats(GatewayStats& of, std::string_view name);
// Created on first use; the names are those of the configuration.
UpstreamStats& upstream_stats(std::string_view name);
// Counters of this server's calls routed by the aggregate.
UpstreamStats& routed_stats(std::string_view name);

std::string_view label(CancelInitiator initiator);
std::string_view label(CancelOutcome outcome);
std::string_view label(ListenType type);
std::string_view label(MessageError kind);
std::string_view label(ExitCause cause);
std::string_view label(RetryOn on);
std::string_view label(Remembered what);
std::string_view label(Overload what);
std::string_view label(Passed what);
std::string_view label(TlsHandshake how);
std::string_view label(Http2Stream how);
std::string_view label(Http2Fault fault);
std::string_view label(ProxyHeader how);

// The initiator that an end reason implies.
CancelInitiator initiator_of(mcp::EndReason reason);

}  // namespace lineward::metrics
