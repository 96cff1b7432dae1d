// W3C trace context (https://www.w3.org/TR/trace-context/): identifies a span to other services. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lineward::plugins {

struct TraceContext {
  std::string trace_id;  // 32 lower-case hexadecimal digits, not all zero
  std::string span_id;   // 16
  bool sampled = false;
  std::string header() const;
};

// nullopt if it is not a valid traceparent: then a new trace begins.
std::optional<TraceContext> parse_traceparent(std::string_view text);
// The tracestate if it can be forwarded: printable, at most 512 bytes; else empty.
std::string_view usable_tracestate(std::string_view text);

std::string new_trace_id();
std::string new_span_id();
// The same decision for all services in this trace (OpenTelemetry's TraceIdRatioBased).
bool in_sample(std::string_view trace_id, double ratio);

}  // namespace lineward::plugins
