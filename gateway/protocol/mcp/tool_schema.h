// Repairs a tool's inputSchema for model APIs that take fewer schemas than JSON Schema allows
// (docs/views.md): `type` becomes "object", `properties` an object, and local references ("#/$defs/X") give
// way to their targets. Everything else keeps its bytes. It fetches nothing. Bounded in depth,
// references, bytes and work. No I/O.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lineward::mcp {

inline constexpr int kMaxSchemaDepth = 64;                  // of the result
inline constexpr size_t kMaxSchemaRefs = 1000;              // resolved in one schema
inline constexpr size_t kMaxSchemaBytes = 256 * 1024;       // of one resolved schema
inline constexpr size_t kMaxSchemaWork = 32 * 1024 * 1024;  // bytes read and written for one page of a list

// The schema of a tool without one.
inline constexpr std::string_view kEmptySchema = R"({"type":"object","properties":{}})";

// For the schemas of one page.
struct SchemaBudget {
  size_t work = kMaxSchemaWork;
};

struct RepairedSchema {
  std::optional<std::string> text;  // nullopt: it is as it should be
  std::vector<std::string> notes;   // what stayed or was cut, for the log
};

// `schema`: the raw value, valid JSON.
RepairedSchema repaired_schema(std::string_view schema, SchemaBudget& budget);

}  // namespace lineward::mcp
