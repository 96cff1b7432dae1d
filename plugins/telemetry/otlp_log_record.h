// An event of the log in OTLP's JSON encoding. Pure, but for what is blacked out (log/printable.h).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "log/log.h"

namespace lineward::plugins {

// Its values come out as in a line of the log: blacked out, printable, cut where they are long. `trace_id`
// and `span_id` become the record's own.
std::string otlp_log_record(log::Level level, std::string_view event,
                            std::initializer_list<log::Field> fields, uint64_t at_ns);

}  // namespace lineward::plugins
