// An event of the log in OTLP's JSON encoding. Pure, but for what is blacked out (log/printable.h).
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

#include "log/log.h"

namespace lineward::plugins {

// Its values come out as in a line of the log: blacked out, printable, cut where they are long, and after
// that what `hide` makes of them. `trace_id` and `span_id` become the record's own.
using HideSecrets = std::function<std::string(std::string)>;
std::string otlp_log_record(log::Level level, std::string_view event,
                            std::initializer_list<log::Field> fields, uint64_t at_ns,
                            const HideSecrets& hide);

}  // namespace lineward::plugins
