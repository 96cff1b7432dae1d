// A log event in OTLP's JSON encoding. Pure, except for redaction (foundation/log/sanitize.h).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "foundation/log/log.h"

namespace lineward::plugins {

// Values are spelled as in a log line: redacted, printable, truncated. `trace_id` and `span_id` become the
// record's own members.
std::string otlp_log_record(log::Level level, std::string_view event,
                            std::initializer_list<log::Field> fields, uint64_t at_ns);

}  // namespace lineward::plugins
