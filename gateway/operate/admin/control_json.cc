#include "operate/admin/control_json.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "foundation/json/json_member.h"
#include "foundation/log/sanitize.h"
#include "foundation/net/certificate.h"

namespace lineward::admin {
namespace {

using exchange::CallState;
using lineward::json::for_each_member;
using lineward::json::member;
using lineward::json::string_value;
using nlohmann::json;

constexpr bool kJson = false, kSchema = true;

template <class T>
T value_of(T);
template <class T>
T value_of(std::optional<T>);

// Takes the list of a record's members, and makes its JSON, or its JSON Schema. A list's record is null for
// the schema.
struct Members {
  const bool of_schema;
  json all = json::object(), required = json::array();

  // `read` is called for JSON only; the member may be absent if that gives an optional. `about`: a
  // description, or a whole JSON Schema.
  template <class Read>
  void has(const char* name, std::string_view about, const Read& read) {
    using Value = decltype(value_of(read()));
    constexpr bool kOptional = !std::is_same_v<Value, std::decay_t<decltype(read())>>;
    if (of_schema) {
      const char* type = std::is_same_v<Value, bool>   ? "boolean"
                         : std::is_arithmetic_v<Value> ? "integer"
                                                       : "string";
      const bool whole = about.substr(0, 1) == "{";
      all[name] = whole ? json::parse(about) : json{{"type", type}};
      if (!whole && !about.empty()) all[name]["description"] = about;
      if (!kOptional) required.push_back(name);
    } else if constexpr (kOptional) {
      if (auto value = read()) all[name] = *std::move(value);
    } else {
      all[name] = read();
    }
  }
  template <class Read>
  void has(const char* name, const Read& read) {
    has(name, {}, read);
  }
  // An object with the members of `list`. `always`: every record has it.
  template <class List>
  void object(const char* name, bool always, const char* about, const List& list) {
    all[name] = made(of_schema, list);
    if (of_schema && *about != 0) all[name]["description"] = about;
    if (always) required.push_back(name);
  }
  template <class List>
  static json made(bool of_schema, const List& list) {
    Members members{of_schema};
    list(members);
    if (!of_schema) return std::move(members.all);
    return {{"type", "object"},
            {"additionalProperties", false},
            {"required", std::move(members.required)},
            {"properties", std::move(members.all)}};
  }
};

template <class T>
std::optional<T> when(bool known, T value) {
  return known ? std::optional<T>(std::move(value)) : std::nullopt;
}

constexpr std::string_view state_name(CallState state) {
  constexpr std::string_view kNames[] = {"queued", "starting", "running", "listening", "input", "ended"};
  static_assert(std::size(kNames) == static_cast<size_t>(CallState::ended) + 1);
  return kNames[static_cast<size_t>(state)];
}

constexpr std::string_view told_name(metrics::CancelTold told) {
  constexpr std::string_view kNames[] = {"not_sent",      "notifications/cancelled", "stream_closed",
                                         "nothing",       "process_ended",           "others_wait",
                                         "servers_behind"};
  static_assert(std::size(kNames) == static_cast<size_t>(metrics::CancelTold::servers_behind) + 1);
  return kNames[static_cast<size_t>(told)];
}

// A number as written by the server; null if it is not one.
json number_of(std::optional<std::string_view> raw) {
  if (!raw || raw->size() > 40) return nullptr;
  json value = json::parse(*raw, nullptr, false);
  return value.is_number() ? value : json(nullptr);
}

json progress_json(const exchange::CallView& call) {
  if (call.progress.empty()) return nullptr;
  json out{{"progress", number_of(member(call.progress, "progress"))},
           {"total", number_of(member(call.progress, "total"))},
           {"message", sanitize(string_value(member(call.progress, "message")))}};
  if (call.progress_ago) out["ago_ms"] = call.progress_ago->count();
  return out;
}

// "tools, prompts, 2 uris"
std::string listens_of(const exchange::CallView& call) {
  std::string out;
  auto add = [&](const std::string& word) { out += (out.empty() ? "" : ", ") + word; };
  for_each_member(call.listens, [&](const std::string& key, std::string_view value) {
    if (key == "toolsListChanged" && value == "true") add("tools");
    if (key == "promptsListChanged" && value == "true") add("prompts");
    if (key == "resourcesListChanged" && value == "true") add("resources");
    if (key != "resourceSubscriptions") return;
    json list = json::parse(value, nullptr, false);
    if (list.is_array() && !list.empty())
      add(fmt::format("{} uri{}", list.size(), list.size() == 1 ? "" : "s"));
  });
  return out;
}

json cancel_json(const exchange::EndedCall& call) {
  if (!call.cancel) return nullptr;
  return {{"outcome", call.cancel->has_outcome() ? metrics::label(call.cancel->outcome) : "none"},
          {"told", told_name(call.cancel->told)},
          {"after_ms", call.cancel->after.count()}};
}

// The events of a call with their times, in order.
json timeline_json(const exchange::CallView& call) {
  json marks = json::array();
  for (size_t i = 0; i < call.timeline.size(); ++i) {
    const auto& mark = call.timeline[i];
    if (i == exchange::CallTimeline::kFirst && call.timeline.left_out() > 0)
      marks.push_back({{"step", "left_out"}, {"at_ms", mark.at_ms}, {"times", call.timeline.left_out()}});
    json one{{"step", name(mark.step)}, {"at_ms", mark.at_ms}, {"times", mark.times}};
    if (mark.times > 1) one["last_ms"] = mark.last_ms;
    marks.push_back(std::move(one));
  }
  return marks;
}

// The filter of a listen, with a limited number of URIs.
json filter_json(const exchange::CallView& call) {
  constexpr size_t kMaxUris = 100;
  json out{
      {"tools", false}, {"prompts", false}, {"resources", false}, {"uris", json::array()}, {"uri_count", 0}};
  for_each_member(call.listens, [&](const std::string& key, std::string_view value) {
    if (key == "toolsListChanged") out["tools"] = value == "true";
    if (key == "promptsListChanged") out["prompts"] = value == "true";
    if (key == "resourcesListChanged") out["resources"] = value == "true";
    if (key != "resourceSubscriptions") return;
    json list = json::parse(value, nullptr, false);
    if (!list.is_array()) return;
    out["uri_count"] = list.size();
    for (const json& uri : list) {
      if (uri.is_string() && out["uris"].size() < kMaxUris)
        out["uris"].push_back(sanitize(uri.get_ref<const std::string&>()));
    }
  });
  return out;
}

// A server while the workers are paused.
struct ServerRecord {
  const Sources& sources;
  const config::Server& server;
  size_t sessions;
  core::UpstreamStatus status;
  exchange::ExchangeTable::Load load = {};
  std::optional<mcp::Era> era = {};
  const metrics::UpstreamStats* stats = nullptr;  // null: none yet
};

json processes_json(const ServerRecord& of, bool pids) {
  json out = json::array();
  for (const auto& one : of.status.processes)
    out.push_back(pids ? json(one.pid) : json{{"pid", one.pid}, {"instance", one.instance}});
  return out;
}

json origins_json(const ServerRecord& of) {
  json out = json::array();
  for (const auto& one : of.status.origins) {
    json& added = out.emplace_back(json{{"name", one.name},
                                        {"state", core::name(one.state)},
                                        {"weight", one.weight},
                                        {"in_flight", one.in_flight},
                                        {"sessions", one.sessions},
                                        {"calls", one.calls},
                                        {"failures", one.failures},
                                        {"ejections", one.ejections}});
    if (one.left.count() > 0) added["left_ms"] = one.left.count();
  }
  return out;
}

json versions_json(const ServerRecord& of) {
  json out = json::array();
  for (const std::string& one : of.status.versions.value_or(std::vector<std::string>{}))
    out.push_back(sanitize(one, 20));
  return out;
}

void list_breaker(Members& to, const ServerRecord* of) {
  auto is_open = [&] { return of->status.state == core::UpstreamStatus::State::open; };
  to.has("state", R"({"enum": ["closed", "open", "off"]})", [&] {
    return of->server.circuit_breaker.consecutive_failures == 0 ? "off" : is_open() ? "open" : "closed";
  });
  to.has("opens_after", [&] { return of->server.circuit_breaker.consecutive_failures; });
  to.has("open_for_ms", [&] { return of->server.circuit_breaker.open_for.count(); });
  to.has("left_ms", [&] { return when(is_open(), of->status.limit.count()); });
}

// Sums of a server's ends; the metrics have reasons and causes.
void list_counts(Members& to, const metrics::UpstreamStats* stats) {
  uint64_t calls = 0, ok = 0, timeouts = 0, cancels = 0;
  for (const metrics::UpstreamStats* of = stats; of != nullptr; of = of->routed.get()) {
    for (const auto& by_method : of->ends) {
      for (size_t k = 0; k < by_method.size(); ++k) {
        const auto reason = static_cast<mcp::EndReason>(k);
        calls += by_method[k];
        if (reason == mcp::EndReason::ok) ok += by_method[k];
        if (mcp::is(reason, mcp::EndKind::timeout)) timeouts += by_method[k];
        if (mcp::is(reason, mcp::EndKind::cancel)) cancels += by_method[k];
      }
    }
  }
  to.has("calls", [&] { return calls; });
  to.has("ok", [&] { return ok; });
  to.has("timeouts", [&] { return timeouts; });
  to.has("cancelled", [&] { return cancels; });
  to.has("starts", [&] { return stats->starts_ok; });
  to.has("starts_failed", [&] { return stats->starts_failed; });
  to.has("exits", [&] { return std::accumulate(stats->exits.begin(), stats->exits.end(), uint64_t{0}); });
  to.has("stderr_lines", [&] { return stats->stderr_lines; });
  to.has("late_responses", [&] { return stats->late_responses; });
}

constexpr std::string_view kEra = R"({"enum": ["legacy", "modern"]})";
constexpr std::string_view kCancel = R"({"type": ["object", "null"], "additionalProperties": false,
  "description": "The outcome of its cancel; null: not known yet.", "required": ["outcome", "told", "after_ms"],
  "properties": {"outcome": {"enum": ["stopped", "raced", "ignored", "none"]}, "told": {"type": "string"},
    "after_ms": {"type": "integer"}}})";
constexpr std::string_view kProcesses = R"({"type": "array", "items": {"type": "object",
  "additionalProperties": false, "required": ["pid", "instance"], "properties": {"pid": {"type": "integer"},
    "instance": {"type": "integer"}, "cpu_seconds": {"type": "number"}, "resident_bytes": {"type": "integer"},
    "open_fds": {"type": "integer"}}}})";
constexpr std::string_view kOrigins = R"({"type": ["array", "null"], "maxItems": 64,
  "description": "Its addresses, if it has `urls`; numbers of all workers, `calls` to `ejections` since the start.",
  "items": {"type": "object", "additionalProperties": false,
  "required": ["name", "state", "weight", "in_flight", "sessions", "calls", "failures", "ejections"],
  "properties": {"name": {"type": "string"},
    "state": {"enum": ["ready", "slow_start", "ejected", "left_alone", "draining", "leaving"]},
    "left_ms": {"type": "integer", "description": "Until the end of slow_start, ejected or left_alone."},
    "weight": {"type": "integer"}, "in_flight": {"type": "integer"}, "sessions": {"type": "integer"},
    "calls": {"type": "integer"}, "failures": {"type": "integer"}, "ejections": {"type": "integer"}}}})";
constexpr std::string_view kStderr = R"({"type": "array", "maxItems": 20, "items": {"type": "object",
  "additionalProperties": false, "required": ["time", "line"], "properties": {"time": {"type": "string"},
    "line": {"type": "string"}, "pid": {"type": "integer"}}}})";

// `ended` only for the shapes of ended calls.
void list_call(Members& to, CallShape shape, const exchange::CallView* call,
               const exchange::EndedCall* ended = nullptr, std::chrono::milliseconds now = {}) {
  constexpr std::chrono::milliseconds kNone{0};
  to.has("id", [&] { return call->id; });
  to.has("rpc_id", "As its client wrote it, JSON text.", [&] { return sanitize(call->rpc_id, 64); });
  to.has("upstream", [&] { return call->upstream; });
  to.has("route", "The path of several servers by which it came; else empty.", [&] { return call->route; });
  to.has("method", [&] { return sanitize(call->method, 100); });
  to.has("target", [&] { return sanitize(call->target); });
  to.has("client", [&] { return client_label(call->client_info); });
  to.has("principal", [&] { return sanitize(call->caller, 80); });
  to.has("peer", [&] { return call->peer; });
  to.has("era", kEra, [&] { return mcp::name(call->era); });
  to.has("revision", [&] { return sanitize(call->revision, 20); });
  to.has("state", R"({"enum": ["queued", "starting", "running", "listening", "input", "ended"]})",
         [&] { return state_name(call->state); });
  to.has("age_ms", [&] { return call->age.count(); });
  to.has("queued_ms", [&] { return call->queued_for.count(); });
  to.has("progress", R"({"$ref": "#/components/schemas/Progress"})", [&] { return progress_json(*call); });
  to.has("events", [&] { return call->events; });
  to.has("bytes_in", [&] { return call->bytes_in; });
  to.has("left_ms", "Until `limit` ends it.",
         [&] { return when(call->left.has_value(), call->left.value_or(kNone).count()); });
  to.has("limit", "The option that does.", [&] { return when(call->left.has_value(), call->limit); });
  to.has("sent_after_ms",
         [&] { return when(call->sent_after.has_value(), call->sent_after.value_or(kNone).count()); });
  to.has("listens", [&] { return when(!call->listens.empty(), listens_of(*call)); });
  to.has("ahead", [&] { return when(call->state == CallState::queued, call->ahead); });
  to.has("questions", [&] { return when(call->questions > 0, call->questions); });
  if (shape == CallShape::ended || shape == CallShape::ended_story) {
    to.has("reason", "docs/errors.md", [&] { return mcp::name(ended->reason); });
    to.has("code", [&] { return when(ended->code != 0, ended->code); });
    to.has("text", [&] { return when(!ended->text.empty(), sanitize(ended->text, 300)); });
    to.has("ended_ago_ms", [&] { return (now - ended->ended_at).count(); });
    to.has("bytes_out", [&] { return ended->bytes_out; });
    to.has("cancel", kCancel, [&] { return when(ended->cancelled, cancel_json(*ended)); });
  }
  if (shape == CallShape::listen)
    to.has("filter", R"({"$ref": "#/components/schemas/Filter"})", [&] { return filter_json(*call); });
  if (shape == CallShape::story || shape == CallShape::ended_story)
    to.has("timeline", R"({"$ref": "#/components/schemas/Timeline"})", [&] { return timeline_json(*call); });
}

// A short one as `status` shows it; `processes` and `stderr` of others are completed after the pause.
void list_server(Members& to, bool is_short, const ServerRecord* of) {
  to.has("name", [&] { return of->server.name; });
  to.has("kind", R"({"enum": ["stdio", "http", "together"]})", [&] {
    return &of->server == of->sources.aggregate() ? "together" : of->server.url.empty() ? "stdio" : "http";
  });
  to.has("state",
         R"({"enum": ["starting", "ready", "draining", "backoff", "open", "disabled", "failed", "idle"]})",
         [&] { return core::name(of->status.state); });
  to.has("why", [&] { return when(!of->status.why.empty(), sanitize(of->status.why)); });
  to.has("limit_ms", "The longest duration of `starting`, `backoff` or `open`.",
         [&] { return when(of->status.limit.count() > 0, of->status.limit.count()); });
  to.has("era", kEra, [&] { return of->era ? std::optional(mcp::name(*of->era)) : std::nullopt; });
  to.has("server", "The name that the server reports.", [&] { return sanitize(of->status.server, 60); });
  to.has("in_flight", [&] { return of->load.in_flight; });
  to.has("max_in_flight", [&] { return of->server.limits.max_in_flight; });
  to.has("waiting", [&] { return of->load.waiting; });
  if (!is_short) to.has("max_queue", [&] { return of->server.limits.max_queue; });
  to.has("listens", [&] { return of->load.listening; });
  to.has("sessions", [&] { return of->sessions; });
  to.has("required", [&] { return of->server.required; });
  to.has("cancel_grace_ms", [&] { return of->server.timeouts.cancel_grace.count(); });
  if (is_short) {
    to.has("resident_bytes", "Memory of its processes and those below them; absent: unknown.",
           [] { return std::optional<uint64_t>(); });  // completed after the pause
    return to.has("pids", R"({"type": "array", "items": {"type": "integer"}})",
                  [&] { return processes_json(*of, true); });
  }
  to.has("held", "An operator has stopped or drained it.",
         [&] { return of->sources.reload.is_held(of->server.name); });
  to.has("worker", "The thread on which it lives.",
         [&] { return of->sources.workers.host(of->server.name); });
  to.has("on_all_workers", "All threads serve it; `worker` is the one that probes it.",
         [&] { return of->sources.workers.is_on_all(of->server.name); });
  to.object("breaker", true, "", [&](Members& in) { list_breaker(in, of); });
  to.has("origins", kOrigins, [&] { return when(!of->status.origins.empty(), origins_json(*of)); });
  to.has("versions", R"({"type": "array", "items": {"type": "string"},
    "description": "Towards clients; empty while unknown."})",
         [&] { return versions_json(*of); });
  to.has("processes", kProcesses, [&] { return processes_json(*of, false); });
  to.has("stderr", kStderr, [&] { return json::array(); });
  const metrics::UpstreamStats* stats = to.of_schema ? nullptr : of->stats;
  if (to.of_schema || stats != nullptr)
    to.object("counts", false, "Since the start of Lineward.", [&](Members& in) { list_counts(in, stats); });
}

void list_certificate(Members& to, const Sources::Shown* shown) {
  const net::Certificate* of = shown != nullptr ? shown->certificate.get() : nullptr;
  to.has("listener", "`listen`, or the name of a further listener.", [&] { return shown->listener; });
  to.has("names", R"({"type": "array", "items": {"type": "string"}})", [&] {
    json names = json::array();
    for (const std::string& name : of->names())
      names.push_back(sanitize(name, 255));
    return names;
  });
  to.has("file", "Or `self-signed`.", [&] { return of->source(); });
  to.has("expires", "Seconds since 1970.", [&] {
    return std::chrono::duration_cast<std::chrono::seconds>(of->not_after().time_since_epoch()).count();
  });
}

json certificates_of(const Sources& sources) {
  json all = json::array();
  for (const Sources::Shown& one : sources.certificates())
    all.push_back(Members::made(kJson, [&](Members& to) { list_certificate(to, &one); }));
  return all;
}

struct StatusRecord {
  const Sources& sources;
  const OwnUrls& urls;
  json upstreams = json::array();
  size_t sessions = 0, listens = 0, calls = 0, waiting = 0, processes = 0;
};

std::string url_of(const Sources& sources) {
  const std::string address = sources.front().address();
  if (address == "stdio") return address;
  const bool secure = sources.tls() != nullptr;
  const std::string url =
      address.rfind("unix:", 0) == 0 ? address + "#" : (secure ? "https://" : "http://") + address;
  return url + sources.config.listen.path;
}

struct ListenerRecord {
  const config::FurtherListen& config;
  std::string address;  // as it is bound
  size_t connections;
};

void list_listener(Members& to, const ListenerRecord* of) {
  to.has("name", [&] { return of->config.name; });
  to.has("url", "The address that clients connect to.", [&] {
    const bool path = of->address.rfind("unix:", 0) == 0;
    const std::string base =
        path ? of->address + "#" : (of->config.listen.tls.enabled() ? "https://" : "http://") + of->address;
    return base + of->config.listen.path;
  });
  to.has("connections", [&] { return of->connections; });
}

json listeners_of(const Sources& sources) {
  json all = json::array();
  const WorkerView& first = sources.workers.view(0);
  if (!first.further) return all;
  const std::map<std::string, size_t> connections = sources.listeners();
  for (const ListenerView& one : first.further()) {
    for (const config::FurtherListen& config : sources.config.listeners) {
      if (config.name != one.name) continue;
      const ListenerRecord of{config, one.front->address(), connections.at(one.name)};
      all.push_back(Members::made(kJson, [&](Members& to) { list_listener(to, &of); }));
    }
  }
  return all;
}

void list_status(Members& to, const StatusRecord* of) {
  to.has("version", [&] { return of->sources.version; });
  to.has("revision", [&] { return of->sources.revision; });
  to.has("pid", [&] { return getpid(); });
  to.has("config", "The configuration file, or `command line`.", [&] { return of->sources.config_source; });
  to.has("url", "The address that clients connect to.", [&] { return url_of(of->sources); });
  to.has("listeners", R"({"type": "array", "items": {"$ref": "#/components/schemas/Listener"}})",
         [&] { return listeners_of(of->sources); });
  to.has("certificates", R"({"type": "array", "items": {"$ref": "#/components/schemas/Certificate"}})",
         [&] { return certificates_of(of->sources); });
  to.has("ops", "Probes and metrics; empty: off.", [&] { return of->urls.ops; });
  to.has("admin", "This API over TCP; empty: over its socket alone.", [&] { return of->urls.admin; });
  to.has("admin_address", "admin.address, as it is configured.",
         [&] { return of->sources.config.admin.address; });
  to.has("uptime_ms", [&] { return (of->sources.loop.now() - of->sources.started).count(); });
  to.has("draining", [&] { return of->sources.draining; });
  to.has("shared_by",
         R"({"type": "array", "items": {"type": "integer"}, "description":
           "The process ids of a shared gateway's clients (`lineward stdio --share`)."})",
         [&] {
           const bool shared = of->sources.shared_by != nullptr;
           return when(shared, shared ? json(of->sources.shared_by()) : json());
         });
  to.has("workers", [&] { return of->sources.workers.workers(); });
  to.has("connections", [&] { return of->sources.connections(); });
  to.has("sessions", [&] { return of->sessions; });
  to.has("listens", [&] { return of->listens; });
  to.has("in_flight", [&] { return of->calls; });
  to.has("waiting", [&] { return of->waiting; });
  to.has("resident_bytes", "Memory of the gateway's own process; absent: unknown.",
         [] { return std::optional<uint64_t>(); });
  to.has("processes", "The number of processes of all servers.", [&] { return of->processes; });
  to.has("processes_resident_bytes", "Memory of these processes and of those below them; absent: unknown.",
         [] { return std::optional<uint64_t>(); });
  to.has("upstreams", R"({"type": "array", "items": {"$ref": "#/components/schemas/ServerState"}})",
         [&] { return of->upstreams; });
}

constexpr std::string_view kSessionProcesses = R"({"type": "array", "items": {"type": "object",
  "additionalProperties": false, "required": ["upstream", "pid"], "properties": {
    "upstream": {"type": "string"}, "pid": {"type": "integer"}, "resident_bytes": {"type": "integer"}}},
  "description": "The processes that it has for itself, with their memory and that of those below them."})";

void list_session(Members& to, const client::Session* one, const std::string& public_id = {},
                  std::chrono::milliseconds now = {}) {
  to.has("id", "Not the session's own, which is a secret.", [&] { return public_id; });
  to.has("session", "As in the log.", [&] { return one->id.substr(0, 8); });
  to.has("upstream", [&] { return one->upstream; });
  to.has("client", [&] { return client_label(one->client_info); });
  to.has("principal", [&] { return sanitize(one->principal, 80); });
  to.has("revision", [&] { return sanitize(one->revision, 20); });
  to.has("age_ms", [&] { return (now - one->opened).count(); });
  to.has("idle_ms", [&] { return (now - one->last_used).count(); });
  to.has("calls", [&] { return one->exchanges; });
  to.has("stream", "It has a GET stream.", [&] { return one->has_stream(); });
  to.has("had_stream", "It has or had one.", [&] { return one->had_stream(); });
  to.has("connections", "Open ones that carried its messages.", [&] { return one->connections(); });
  to.has("abandoned_ms", "Since its client closed the last of its connections (sessionAbandoned).", [&] {
    const auto gone = one->abandoned_for();
    return when(gone.has_value(), gone.value_or(std::chrono::milliseconds(0)).count());
  });
  to.has("processes", kSessionProcesses, [&] { return json::array(); });  // completed by the caller
}

}  // namespace

std::string client_label(std::string_view implementation) {
  std::string name = string_value(member(implementation, "name"));
  std::string version = string_value(member(implementation, "version"));
  return sanitize(version.empty() ? name : name + " " + version, 60);
}

json call_json(const exchange::CallView& call, CallShape shape) {
  return Members::made(kJson, [&](Members& to) { list_call(to, shape, &call); });
}

json ended_json(const exchange::EndedCall& call, std::chrono::milliseconds now, CallShape shape) {
  return Members::made(kJson, [&](Members& to) { list_call(to, shape, &call.call, &call, now); });
}

json server_json(const Sources& sources, const config::Server& server, size_t sessions, bool is_short) {
  ServerRecord of{sources, server, sessions, sources.status(server)};
  of.load = sources.load(server.name);
  of.load.add(sources.routed(server.name));
  if (const core::Upstream* upstream = sources.upstream(server.name)) of.era = upstream->era();
  const auto stats = sources.stats(server.name);
  of.stats = stats.get();
  return Members::made(kJson, [&](Members& to) { list_server(to, is_short, &of); });
}

json session_json(const client::Session& session, const std::string& public_id,
                  std::chrono::milliseconds now) {
  return Members::made(kJson, [&](Members& to) { list_session(to, &session, public_id, now); });
}

void add_record_schemas(json& to) {
  size_t shape = 0;
  for (const char* name : {"Call", "Listen", "LiveStory", "EndedCall", "EndedStory"})
    to[name] =
        Members::made(kSchema, [&](Members& of) { list_call(of, static_cast<CallShape>(shape++), nullptr); });
  to["Status"] = Members::made(kSchema, [](Members& of) { list_status(of, nullptr); });
  to["Listener"] = Members::made(kSchema, [](Members& of) { list_listener(of, nullptr); });
  to["Certificate"] = Members::made(kSchema, [](Members& of) { list_certificate(of, nullptr); });
  to["ServerState"] = Members::made(kSchema, [](Members& of) { list_server(of, true, nullptr); });
  to["Server"] = Members::made(kSchema, [](Members& of) { list_server(of, false, nullptr); });
  to["Sessions"]["properties"]["sessions"]["items"] =
      Members::made(kSchema, [](Members& of) { list_session(of, nullptr); });
}

json reload_json(const ReloadReport& report) {
  json out{{"dryRun", report.dry_run}};
  if (!report.report.empty()) out["report"] = report.report;
  if (!report.error.empty()) out["error"] = report.error;
  using Outcome = ReloadReport::Outcome;
  if (report.outcome == Outcome::rejected || report.outcome == Outcome::refused) return out;
  out["changes"] = json::array();
  for (const PlanRow& row : report.rows) {
    out["changes"].push_back({{"mark", std::string(1, row.mark)},
                              {"name", sanitize(row.name, 100)},
                              {"what", sanitize(row.what, 500)},
                              {"effect", row.effect}});
  }
  out["unchanged"] = report.unchanged;
  out["in_flight"] = report.in_flight;
  out["took_ms"] = report.took_ms;
  return out;
}

json status_json(const Sources& sources, const OwnUrls& urls) {
  StatusRecord status{sources, urls};
  auto sessions = sources.sessions();
  for (const auto& [server, count] : sessions)
    status.sessions += count;
  for (const config::Server* shown : sources.servers()) {
    json one = server_json(sources, *shown, sessions[shown->name], true);
    status.listens += one["listens"].get<size_t>();
    status.calls += one["in_flight"].get<size_t>();
    status.waiting += one["waiting"].get<size_t>();
    status.processes += one["pids"].size();
    status.upstreams.push_back(std::move(one));
  }
  return Members::made(kJson, [&](Members& to) { list_status(to, &status); });
}

}  // namespace lineward::admin
