// Spans as OTLP's JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/trace/trace_context.h"

namespace lineward::plugins {

// Attributes as they are added: `"key":…` of OTLP's key-value lists.
class TraceAttributes {
 public:
  void text(std::string_view key, std::string_view value);  // an empty one is left out
  void number(std::string_view key, int64_t value);
  std::string json() const { return "[" + list_ + "]"; }

 private:
  std::string list_;
};

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
  TraceAttributes attributes;
  std::vector<TraceEvent> events;
  const TraceContext* link = nullptr;
  bool failed = false;
  std::string json() const;
};

}  // namespace lineward::plugins
