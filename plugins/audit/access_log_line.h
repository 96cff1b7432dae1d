// A line of an access log: its fields, and their spelling in each format. The result is one line of printable
// text for any values.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/base/result.h"

namespace lineward::plugins {

enum class LineFormat : uint8_t { json, logfmt, combined };

enum class LineField : uint8_t {
  time,
  remote,
  principal,
  upstream,
  route,
  method,
  target,
  reason,
  code,
  status,
  dur_ms,
  queue_ms,
  upstream_ms,
  bytes_in,
  bytes_out,
  events,
  call,
  rpc_id,
  era,
  revision,
  session,
  agent,
  request,
  error,
  arguments,
  result,
  count_
};

inline constexpr std::array<std::string_view, static_cast<size_t>(LineField::count_)> kLineFields{
    "time",      "remote",  "principal", "upstream",  "route",    "method",      "target",
    "reason",    "code",    "status",    "dur_ms",    "queue_ms", "upstream_ms", "bytes_in",
    "bytes_out", "events",  "call",      "rpc_id",    "era",      "revision",    "session",
    "agent",     "request", "error",     "arguments", "result"};

Result<std::vector<LineField>> parse_fields(const std::vector<std::string>& names);

// Values by field; empty ones are omitted from the line.
class LineValues {
 public:
  void set(LineField field, std::string_view text, size_t longest = 512);
  void set(LineField field, int64_t number);
  // In milliseconds, with one digit behind the point.
  void set_ms(LineField field, std::chrono::microseconds time);
  // For another line; the memory of short values is kept.
  void clear();
  bool is_number(LineField field) const { return number_[static_cast<size_t>(field)]; }
  const std::string& text(LineField field) const { return text_[static_cast<size_t>(field)]; }

 private:
  std::array<std::string, static_cast<size_t>(LineField::count_)> text_;
  std::array<bool, static_cast<size_t>(LineField::count_)> number_{};
};

// "[20/Nov/2026:12:03:07 +0000]" is derived from the time in `values`.
std::string spell_line(LineFormat format, const std::vector<LineField>& fields, const LineValues& values);

}  // namespace lineward::plugins
