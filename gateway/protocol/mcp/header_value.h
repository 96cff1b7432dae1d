// Values of Mcp-Name and Mcp-Param-* headers (2026-07-28 streamable HTTP, "Value Encoding").
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lineward::mcp {

// The text of a header value: `=?base64?…?=` (case-sensitive markers) is decoded, any other value is
// unchanged. Empty when the text between the markers is not valid Base64 of UTF-8 text, or the value has
// bytes that a header must not contain.
std::optional<std::string> decode_header_value(std::string_view value);
// The same without a copy of an unencoded value; `room` holds a decoded one.
std::optional<std::string_view> decode_header_value(std::string_view value, std::string& room);

// Encodes `text` as such a value; plain where allowed, else Base64.
std::string encode_header_value(std::string_view text);

}  // namespace lineward::mcp
