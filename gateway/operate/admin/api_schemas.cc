#include "operate/admin/api_schemas.h"

namespace lineward::admin {
namespace {

// Numbers of milliseconds and bytes are integers; absent members are unknown or not applicable.
constexpr std::string_view kSchemas = R"json({
"Error": {"type": "object", "required": ["error"], "additionalProperties": false, "properties": {
  "error": {"type": "string", "description": "One sentence."},
  "ended": {"$ref": "#/components/schemas/EndedStory"}}},
"OpenApi": {"type": "object", "required": ["openapi", "info", "paths"]},
"Status": {"type": "object", "additionalProperties": false,
  "required": ["version", "revision", "pid", "config", "url", "ops", "admin", "admin_address", "uptime_ms", "draining", "workers", "connections",
               "sessions", "listens", "in_flight", "waiting", "upstreams"],
  "properties": {
  "version": {"type": "string"}, "revision": {"type": "string"}, "pid": {"type": "integer"},
  "config": {"type": "string", "description": "The configuration file, or `command line`."},
  "url": {"type": "string", "description": "The address that clients connect to."},
  "ops": {"type": "string", "description": "Probes and metrics; empty: off."},
  "admin": {"type": "string", "description": "This API over TCP; empty: over its socket alone."},
  "admin_address": {"type": "string", "description": "admin.address, as it is configured."},
  "uptime_ms": {"type": "integer"}, "draining": {"type": "boolean"}, "workers": {"type": "integer"},
  "connections": {"type": "integer"}, "sessions": {"type": "integer"}, "listens": {"type": "integer"},
  "in_flight": {"type": "integer"}, "waiting": {"type": "integer"},
  "upstreams": {"type": "array", "items": {"$ref": "#/components/schemas/ServerState"}}}},
"ServerState": {"type": "object", "additionalProperties": false,
  "required": ["name", "kind", "state", "server", "in_flight", "max_in_flight", "waiting", "listens", "sessions",
               "required", "cancel_grace_ms", "pids"],
  "properties": {
  "name": {"type": "string"}, "kind": {"enum": ["stdio", "http", "together"]},
  "state": {"enum": ["starting", "ready", "draining", "backoff", "open", "disabled", "failed"]},
  "why": {"type": "string"}, "limit_ms": {"type": "integer", "description": "The longest duration of `starting`, `backoff` or `open`."},
  "era": {"enum": ["legacy", "modern"]},
  "server": {"type": "string", "description": "The name that the server reports."},
  "in_flight": {"type": "integer"}, "max_in_flight": {"type": "integer"}, "waiting": {"type": "integer"},
  "listens": {"type": "integer"}, "sessions": {"type": "integer"}, "required": {"type": "boolean"},
  "cancel_grace_ms": {"type": "integer"}, "pids": {"type": "array", "items": {"type": "integer"}}}},
"Server": {"type": "object", "additionalProperties": false,
  "required": ["name", "kind", "state", "server", "in_flight", "max_in_flight", "waiting", "max_queue", "listens",
               "sessions", "required", "cancel_grace_ms", "held", "worker", "breaker", "versions", "processes", "stderr"],
  "properties": {
  "name": {"type": "string"}, "kind": {"enum": ["stdio", "http", "together"]},
  "state": {"enum": ["starting", "ready", "draining", "backoff", "open", "disabled", "failed"]},
  "why": {"type": "string"}, "limit_ms": {"type": "integer"}, "era": {"enum": ["legacy", "modern"]},
  "server": {"type": "string"},
  "versions": {"type": "array", "items": {"type": "string"}, "description": "Towards clients; empty while unknown."},
  "in_flight": {"type": "integer"}, "max_in_flight": {"type": "integer"}, "waiting": {"type": "integer"},
  "max_queue": {"type": "integer"}, "listens": {"type": "integer"}, "sessions": {"type": "integer"},
  "required": {"type": "boolean"}, "cancel_grace_ms": {"type": "integer"},
  "held": {"type": "boolean", "description": "An operator has stopped or drained it."},
  "worker": {"type": "integer", "description": "The thread on which it lives."},
  "breaker": {"type": "object", "additionalProperties": false, "required": ["state", "opens_after", "open_for_ms"],
    "properties": {"state": {"enum": ["closed", "open", "off"]}, "opens_after": {"type": "integer"},
      "open_for_ms": {"type": "integer"}, "left_ms": {"type": "integer"}}},
  "processes": {"type": "array", "items": {"type": "object", "additionalProperties": false,
    "required": ["pid", "instance"], "properties": {"pid": {"type": "integer"}, "instance": {"type": "integer"},
      "cpu_seconds": {"type": "number"}, "resident_bytes": {"type": "integer"}, "open_fds": {"type": "integer"}}}},
  "stderr": {"type": "array", "maxItems": 20, "items": {"type": "object", "additionalProperties": false,
    "required": ["time", "line"], "properties": {"time": {"type": "string"}, "line": {"type": "string"},
      "pid": {"type": "integer"}}}},
  "counts": {"type": "object", "additionalProperties": false, "description": "Since the start of Lineward.",
    "required": ["calls", "ok", "timeouts", "cancelled", "starts", "starts_failed", "exits", "stderr_lines",
                 "late_responses"],
    "properties": {"calls": {"type": "integer"}, "ok": {"type": "integer"}, "timeouts": {"type": "integer"},
      "cancelled": {"type": "integer"}, "starts": {"type": "integer"}, "starts_failed": {"type": "integer"},
      "exits": {"type": "integer"}, "stderr_lines": {"type": "integer"}, "late_responses": {"type": "integer"}}}}},
"Servers": {"type": "object", "additionalProperties": false, "required": ["servers", "total"], "properties": {
  "servers": {"type": "array", "items": {"$ref": "#/components/schemas/Server"}},
  "total": {"type": "integer"}, "next": {"type": "string", "description": "For `after`; absent on the last page."}}},
"ServerAction": {"type": "object", "additionalProperties": false, "properties": {
  "force": {"type": "boolean", "description": "restart: calls of the old form are cancelled."},
  "reason": {"type": "string", "description": "For the log."}}},
"ServerActed": {"type": "object", "additionalProperties": false, "required": ["name", "action", "calls", "sessions"],
  "properties": {"name": {"type": "string"}, "action": {"enum": ["start", "stop", "restart", "drain"]},
  "calls": {"type": "integer", "description": "That the form had which ends, by its own path and by that of several."}, "sessions": {"type": "integer"}}},
"Progress": {"type": ["object", "null"], "additionalProperties": false, "properties": {
  "progress": {"type": ["number", "null"]}, "total": {"type": ["number", "null"]}, "message": {"type": "string"},
  "ago_ms": {"type": "integer"}}},
"Call": {"type": "object", "additionalProperties": false, "$ref": "#/components/schemas/CallFields"},
"CallFields": {"type": "object",
  "required": ["id", "rpc_id", "upstream", "route", "method", "target", "client", "principal", "peer", "era",
               "revision", "state", "age_ms", "queued_ms", "progress", "events", "bytes_in"]},
"Timeline": {"type": "array", "maxItems": 17, "items": {"type": "object", "additionalProperties": false,
  "required": ["step", "at_ms", "times"], "properties": {
  "step": {"type": "string"}, "at_ms": {"type": "integer", "description": "Since the call's arrival."},
  "last_ms": {"type": "integer", "description": "The last of several in a row."},
  "times": {"type": "integer"}}}},
"Calls": {"type": "object", "additionalProperties": false, "required": ["calls", "total"], "properties": {
  "calls": {"type": "array", "items": {"$ref": "#/components/schemas/Call"}}, "total": {"type": "integer"},
  "next": {"type": "string"}, "ended": {"type": "array", "items": {"$ref": "#/components/schemas/EndedCall"}}}},
"CallStory": {"anyOf": [{"$ref": "#/components/schemas/LiveStory"}, {"$ref": "#/components/schemas/EndedStory"}]},
"Cancel": {"type": "object", "additionalProperties": false, "properties": {
  "reason": {"type": "string", "maxLength": 200, "description": "For the client, the server and the log."},
  "wait": {"type": "boolean", "description": "Answer when it is known what became of it: cancelGrace at most."}}},
"Cancelled": {"anyOf": [{"$ref": "#/components/schemas/EndedStory"},
  {"type": "object", "additionalProperties": false, "required": ["id"], "properties": {"id": {"type": "string"}}}]},
"Filter": {"type": "object", "additionalProperties": false,
  "required": ["tools", "prompts", "resources", "uris", "uri_count"], "properties": {
  "tools": {"type": "boolean"}, "prompts": {"type": "boolean"}, "resources": {"type": "boolean"},
  "uris": {"type": "array", "maxItems": 100, "items": {"type": "string"}}, "uri_count": {"type": "integer"}}},
"Listens": {"type": "object", "additionalProperties": false, "required": ["listens", "total"], "properties": {
  "listens": {"type": "array", "items": {"$ref": "#/components/schemas/Listen"}}, "total": {"type": "integer"},
  "next": {"type": "string"}}},
"Sessions": {"type": "object", "additionalProperties": false, "required": ["sessions", "total"], "properties": {
  "sessions": {"type": "array", "items": {"type": "object", "additionalProperties": false,
    "required": ["id", "session", "upstream", "client", "principal", "revision", "age_ms", "idle_ms", "calls", "stream"],
    "properties": {"id": {"type": "string", "description": "Not the session's own, which is a secret."},
      "session": {"type": "string", "description": "As in the log."}, "upstream": {"type": "string"},
      "client": {"type": "string"}, "principal": {"type": "string"}, "revision": {"type": "string"},
      "age_ms": {"type": "integer"}, "idle_ms": {"type": "integer"}, "calls": {"type": "integer"},
      "stream": {"type": "boolean", "description": "It has a GET stream."}}}},
  "total": {"type": "integer"}, "next": {"type": "string"}}},
"Ends": {"type": "object", "additionalProperties": false, "required": ["ends", "total"], "properties": {
  "ends": {"type": "array", "items": {"$ref": "#/components/schemas/EndedCall"}}, "total": {"type": "integer"},
  "next": {"type": "string"}}},
"EndCounts": {"type": "object", "additionalProperties": false, "required": ["minutes"], "properties": {
  "minutes": {"type": "array", "minItems": 60, "maxItems": 60, "items": {"type": "object", "additionalProperties": false,
    "required": ["ago_minutes", "ends"], "properties": {"ago_minutes": {"type": "integer"},
      "ends": {"type": "object", "additionalProperties": {"type": "integer"},
               "description": "By reason; those that are 0 are absent."}}}}}},
"Operations": {"type": "object", "additionalProperties": false, "required": ["operations", "total", "bucket_seconds"],
  "properties": {"operations": {"type": "array", "items": {"type": "object", "additionalProperties": false,
    "required": ["upstream", "route", "method", "name", "calls", "failed", "seconds", "p50_ms", "p95_ms", "p99_ms", "buckets"],
    "properties": {"upstream": {"type": "string"}, "route": {"type": "string"}, "method": {"type": "string"},
      "name": {"type": "string", "description": "A tool or prompt that its server lists; `_other` for all others."},
      "calls": {"type": "integer"}, "failed": {"type": "integer"}, "seconds": {"type": "number"},
      "p50_ms": {"type": "number"}, "p95_ms": {"type": "number"}, "p99_ms": {"type": "number"},
      "buckets": {"type": "array", "items": {"type": "integer"},
        "description": "How many took at most bucket_seconds[i], and more than the bound before it; the last: more than all."}}}},
  "total": {"type": "integer"}, "bucket_seconds": {"type": "array", "items": {"type": "number"}}}},
"LogLine": {"type": "object", "required": ["time", "level", "event"], "properties": {
  "time": {"type": "string"}, "level": {"enum": ["info", "warn", "error"]}, "event": {"type": "string"},
  "upstream": {"type": "string"}, "call": {"type": "string"}}},
"Log": {"type": "object", "additionalProperties": false, "required": ["lines"], "properties": {
  "lines": {"type": "array", "items": {"type": "object", "additionalProperties": false, "required": ["id", "line"],
    "properties": {"id": {"type": "string"}, "line": {"$ref": "#/components/schemas/LogLine"}}}},
  "next": {"type": "string"}}},
"Lost": {"type": "object", "additionalProperties": false, "required": ["reason", "groups"], "properties": {
  "reason": {"enum": ["overtaken", "too_many", "restarted"]},
  "groups": {"type": "array", "items": {"enum": ["calls", "servers", "log"]}}, "events": {"type": "integer"}}},
"Hello": {"type": "object", "additionalProperties": false, "required": ["cursor", "version"], "properties": {
  "cursor": {"type": "string"}, "version": {"type": "string"}}},
"Reload": {"type": "object", "additionalProperties": false, "properties": {"dryRun": {"type": "boolean"}}},
"Reloaded": {"type": "object", "additionalProperties": false, "required": ["dryRun"], "properties": {
  "dryRun": {"type": "boolean"}, "report": {"type": "string"}, "error": {"type": "string"},
  "changes": {"type": "array", "items": {"type": "object", "additionalProperties": false,
    "required": ["mark", "name", "what", "effect"], "properties": {"mark": {"enum": ["+", "-", "~", "!"]},
      "name": {"type": "string"}, "what": {"type": "string"}, "effect": {"type": "string"}}}},
  "unchanged": {"type": "integer"}, "in_flight": {"type": "integer"}, "took_ms": {"type": "integer"}}}
})json";

}  // namespace

std::string_view api_schemas() {
  return kSchemas;
}

}  // namespace lineward::admin
