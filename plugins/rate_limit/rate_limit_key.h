// What a rate limit counts by: `key: principal+tool` names one or more parts of an exchange.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plugin/plugin.h"

namespace lineward::plugins {

enum class KeyPart : uint8_t { principal, address, tool, server, session };

// "principal+tool"; the error says what is wrong.
Result<std::vector<KeyPart>> parse_key(std::string_view text);

// The text that is counted by. Empty: this request is not counted, because it names no tool.
std::string key_of(const std::vector<KeyPart>& parts, const plugin::RequestFacts& facts);

// Has each caller a bucket of his own? One by tool or server alone is everybody's.
bool is_of_caller(const std::vector<KeyPart>& parts);

}  // namespace lineward::plugins
