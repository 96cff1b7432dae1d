// Values of Mcp-Name and Mcp-Param-*: decode(encode(text)) is text for any UTF-8 text, what is encoded may
// stand in a header, and what is decoded is UTF-8. The bytes are taken as text, as a header value, and as
// Base64 between the marks.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "foundation/base/check.h"
#include "foundation/json/json_scan.h"
#include "protocol/mcp/header_value.h"

using namespace lineward;

namespace {

// The bytes between quotes, with what JSON wants escaped out of the way: only UTF-8 is left to be wrong.
bool is_utf8(std::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    bool harmless = static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\';
    quoted += harmless ? c : 'x';
  }
  return json::validate(quoted + "\"") == json::Fault::none;
}

bool may_stand_in_header(std::string_view value) {
  if (value.empty()) return true;
  for (unsigned char c : value) {
    if ((c < 0x20 && c != '\t') || c >= 0x7f) return false;
  }
  auto is_space = [](char c) { return c == ' ' || c == '\t'; };
  return !is_space(value.front()) && !is_space(value.back());
}

void decode(const std::string& value) {
  auto text = mcp::decode_header_value(value);
  if (!text) return;
  LW_CHECK(is_utf8(*text));
  LW_CHECK(mcp::decode_header_value(mcp::encode_header_value(*text)) == text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::string value = mcp::encode_header_value(text);
  LW_CHECK(may_stand_in_header(value));
  if (is_utf8(text)) {
    LW_CHECK(mcp::decode_header_value(value) == text);
  }
  decode(text);
  decode("=?base64?" + text + "?=");
  if (text.find('\n') != std::string::npos) LW_CHECK(!mcp::decode_header_value(text));
  return 0;
}
