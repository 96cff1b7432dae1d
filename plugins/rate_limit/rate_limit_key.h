// The key of a rate limit: `key: principal+tool` names one or more parts of an exchange.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "foundation/base/result.h"
#include "proxy/plugin/plugin.h"

namespace lineward::plugins {

enum class KeyPart : uint8_t { principal, address, tool, server, session };

// Parses "principal+tool".
Result<std::vector<KeyPart>> parse_key(std::string_view text);

// The text to count by. Empty: the request is not counted, because it names no tool.
std::string key_of(const std::vector<KeyPart>& parts, const plugin::RequestInfo& facts);

// Whether each caller has its own bucket; by tool or server alone all callers share one.
bool is_of_caller(const std::vector<KeyPart>& parts);

}  // namespace lineward::plugins
