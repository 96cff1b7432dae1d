#include "operate/admin/api_schemas.h"

namespace lineward::admin {
namespace {

// Numbers of milliseconds and bytes are integers; absent members are unknown or not applicable.
constexpr std::string_view kSchemas = R"json({
"Error": {"type": "object", "required": ["error"], "additionalProperties": false, "properties": {
  "error": {"type": "string", "description": "One sentence."},
  "ended": {"$ref": "#/components/schemas/EndedStory"}}},
"OpenApi": {"type": "object", "required": ["openapi", "info", "paths"]},
"Servers": {"type": "object", "additionalProperties": false, "required": ["servers", "total"], "properties": {
  "servers": {"type": "array", "items": {"$ref": "#/components/schemas/Server"}},
  "total": {"type": "integer"}, "next": {"type": "string", "description": "For `after`; absent on the last page."}}},
"ServerAction": {"type": "object", "additionalProperties": false, "properties": {
  "force": {"type": "boolean", "description": "restart: calls of the old form are cancelled."},
  "origin": {"type": "string", "description": "drain, start: only this one of its origins."},
  "reason": {"type": "string", "description": "For the log."}}},
"ServerActed": {"type": "object", "additionalProperties": false, "required": ["name", "action", "calls", "sessions"],
  "properties": {"name": {"type": "string"}, "action": {"enum": ["start", "stop", "restart", "drain"]},
  "calls": {"type": "integer", "description": "That the form had which ends, by its own path and by that of several."}, "sessions": {"type": "integer"}}},
"Progress": {"type": ["object", "null"], "additionalProperties": false, "properties": {
  "progress": {"type": ["number", "null"]}, "total": {"type": ["number", "null"]}, "message": {"type": "string"},
  "ago_ms": {"type": "integer"}}},
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
  "sessions": {"type": "array"}, "total": {"type": "integer"}, "next": {"type": "string"}}},
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
