// Tool parameters mirrored in HTTP headers (2026-07-28 streamable HTTP, "Custom Headers from Tool
// Parameters"). Reads a tool's definition, makes the headers of a call, and compares a call's headers with
// its arguments. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foundation/base/result.h"

namespace lineward::mcp {

enum class ParamType : uint8_t { string, integer, boolean };

// An `x-mcp-header`.
struct ParamHeader {
  std::vector<std::string> path;  // of the argument, outermost first
  std::string header;             // "Mcp-Param-Region"
  ParamType type = ParamType::string;
};

using ParamHeaders = std::vector<ParamHeader>;
using HeaderPairs = std::vector<std::pair<std::string, std::string>>;

// The maximum for one tool.
inline constexpr size_t kMaxParamHeaders = 64;

// The headers that a tool's inputSchema (raw JSON) defines, or why the definition is invalid. Slow: call it
// once for each definition.
Result<ParamHeaders> read_param_headers(std::string_view input_schema);

// The headers of a call with these arguments (raw JSON; empty: none); argument_fault() must have found
// nothing. Absent and null values, and values of other types than the three, have no header.
HeaderPairs make_param_headers(const ParamHeaders& params, std::string_view arguments);

// Checks for ambiguous arguments: a duplicate name on the path to a mirrored value, of which readers may use
// either value. Empty: none.
std::string argument_fault(const ParamHeaders& params, std::string_view arguments);

// The mismatch that a server would report between a call's headers and arguments; empty: none. Includes
// argument_fault(). A header without its argument is ignored.
std::string param_header_fault(const ParamHeaders& params, std::string_view arguments,
                               const HeaderPairs& headers);

}  // namespace lineward::mcp
