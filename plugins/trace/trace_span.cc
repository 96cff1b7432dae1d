#include "plugins/trace/trace_span.h"

#include <fmt/format.h>

#include "foundation/json/json_scan.h"

namespace lineward::plugins {

std::string TraceSpan::json() const {
  std::string out = fmt::format(R"({{"traceId":"{}","spanId":"{}")", context.trace_id, context.span_id);
  if (!parent.empty()) out += fmt::format(R"(,"parentSpanId":"{}")", parent);
  if (!state.empty()) out += fmt::format(R"(,"traceState":{})", json::quote(state));
  out += fmt::format(
      R"(,"name":{},"kind":{},"startTimeUnixNano":"{}","endTimeUnixNano":"{}","attributes":{},"flags":{})",
      json::quote(name), server ? 2 : 3, begin_ns, end_ns, attributes.json(), context.sampled ? 1 : 0);
  if (!events.empty()) {
    out += R"(,"events":[)";
    for (const TraceEvent& event : events) {
      if (&event != &events.front()) out += ',';
      out += fmt::format(R"({{"timeUnixNano":"{}","name":"{}"}})", event.at_ns, event.name);
    }
    out += ']';
  }
  for (const TraceContext& link : links) {
    out += &link == &links.front() ? R"(,"links":[)" : ",";
    out += fmt::format(R"({{"traceId":"{}","spanId":"{}"}})", link.trace_id, link.span_id);
  }
  if (!links.empty()) out += ']';
  out += fmt::format(R"(,"status":{}}})", failed ? R"({"code":2})" : "{}");
  return out;
}

}  // namespace lineward::plugins
