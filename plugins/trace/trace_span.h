// Spans in OTLP's JSON encoding.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/common/otlp_json.h"
#include "plugins/trace/trace_context.h"

namespace lineward::plugins {

struct TraceEvent {
  std::string_view name;
  uint64_t at_ns = 0;
};

struct TraceSpan {
  TraceContext context;
  std::string parent;  // span id, or empty
  std::string state;
  std::string name;
  bool server = true;  // SERVER, else CLIENT
  uint64_t begin_ns = 0, end_ns = 0;
  OtlpAttributes attributes;
  std::vector<TraceEvent> events;
  std::vector<TraceContext> links;
  bool failed = false;
  std::string json() const;
};

}  // namespace lineward::plugins
