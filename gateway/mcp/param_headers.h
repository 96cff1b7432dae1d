// Tool parameters that are repeated in HTTP headers (2026-07-28 streamable HTTP, "Custom Headers from Tool
// Parameters"): which a tool's definition names, the headers of a call, and whether a call's headers say what
// its arguments say. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace lineward::mcp {

enum class ParamType : uint8_t { string, integer, boolean };

// One `x-mcp-header`.
struct ParamHeader {
  std::vector<std::string> path;  // of the argument, outermost first
  std::string header;             // "Mcp-Param-Region"
  ParamType type = ParamType::string;
};

using ParamHeaders = std::vector<ParamHeader>;
using HeaderPairs = std::vector<std::pair<std::string, std::string>>;

// A tool may name at most that many.
inline constexpr size_t kMaxParamHeaders = 64;

// What a tool's inputSchema (raw JSON) names, or why the definition is invalid. Costs time: ask once for each
// definition.
Result<ParamHeaders> read_param_headers(std::string_view input_schema);

// The headers of a call with these arguments (raw JSON; empty: none), in which argument_fault() finds
// nothing. What is absent, null, or no value of one of the three types has none.
HeaderPairs make_param_headers(const ParamHeaders& params, std::string_view arguments);

// Why nobody can say which value of a call the headers repeat: a name on the way to one stands twice, and
// who reads the arguments may take the one or the other. Empty where that is not so.
std::string argument_fault(const ParamHeaders& params, std::string_view arguments);

// What a server finds wrong with a call's headers, the arguments themselves included; empty when nothing is.
// A header without its argument is not looked at.
std::string param_header_fault(const ParamHeaders& params, std::string_view arguments,
                               const HeaderPairs& headers);

}  // namespace lineward::mcp
