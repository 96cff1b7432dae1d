// Values of Mcp-Name and Mcp-Param-* headers (2026-07-28 streamable HTTP, "Value Encoding").
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lineward::mcp {

// The text a header value stands for: `=?base64?…?=` (case-sensitive markers) is decoded, anything else is
// itself. Nothing when the markers are there but what is between them is no valid Base64 of UTF-8 text, or
// the value holds bytes that a header may not.
std::optional<std::string> decode_header_value(std::string_view value);
// The same without a copy where it stands for itself; `room` holds it where it does not.
std::optional<std::string_view> decode_header_value(std::string_view value, std::string& room);

// `text` as such a value; plain where it may be, else Base64.
std::string encode_header_value(std::string_view text);

}  // namespace lineward::mcp
