// Durations ("500ms", "30s", "1h30m", "1.5s") and byte sizes ("8MiB", "512KiB", "4096") in configuration
// syntax.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "foundation/base/result.h"

namespace lineward::config {

// A bare number is refused: some MCP clients mean milliseconds by it, others seconds.
Result<std::chrono::milliseconds> parse_duration(std::string_view text);
bool lacks_unit(std::string_view text);
// Readable by parse_duration: "1.9s", "1m15s", "10m".
std::string format_duration(std::chrono::milliseconds duration);

// A bare number is a byte count; units are binary only (KiB, MiB, GiB).
Result<uint64_t> parse_size(std::string_view text);
std::string format_size(uint64_t bytes);

}  // namespace lineward::config
