// An exemplar of a histogram bucket: the last call of that bucket with a sampled trace.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>

namespace lineward::metrics {

// The ids of a call in a sampled trace; empty if it is in none.
struct TraceName {
  std::string_view trace_id, span_id;
};

struct Exemplar {
  std::array<char, 32> trace{};  // all zero bytes: no exemplar
  std::array<char, 16> span{};
  double value = 0;  // in seconds
  double at = 0;     // Unix time, in seconds

  bool there() const { return trace[0] != '\0'; }
  std::string_view trace_id() const { return {trace.data(), trace.size()}; }
  std::string_view span_id() const { return {span.data(), span.size()}; }
  void set(const TraceName& name, double seconds) {
    if (name.trace_id.size() != trace.size() || name.span_id.size() != span.size()) return;
    std::copy(name.trace_id.begin(), name.trace_id.end(), trace.begin());
    std::copy(name.span_id.begin(), name.span_id.end(), span.begin());
    value = seconds;
    at = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  }
};

}  // namespace lineward::metrics
