#include "protocol/mcp/header_value.h"

#include <openssl/evp.h>

#include <vector>

#include "foundation/json/json_scan.h"

namespace lineward::mcp {
namespace {

constexpr std::string_view kOpen = "=?base64?";
constexpr std::string_view kClose = "?=";

bool is_wrapped(std::string_view value) {
  return value.size() >= kOpen.size() + kClose.size() && value.substr(0, kOpen.size()) == kOpen &&
         value.substr(value.size() - kClose.size()) == kClose;
}

bool plain_bytes(std::string_view value) {
  for (unsigned char c : value) {
    if ((c < 0x20 && c != '\t') || c >= 0x7f) return false;
  }
  return true;
}

// Uses the JSON validator, with JSON's special characters blanked.
bool is_utf8(std::string_view text) {
  std::string quoted = "\"";
  for (char c : text)
    quoted += static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\' ? ' ' : c;
  return json::validate(quoted + '"') == json::Fault::none;
}

bool is_base64(std::string_view text) {
  if (text.size() % 4 != 0) return false;
  size_t padding = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    bool digit =
        (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '/';
    if (c == '=' && i + 2 >= text.size()) {
      ++padding;
    } else if (!digit || padding > 0) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::optional<std::string> decode_header_value(std::string_view value) {
  std::string room;
  auto text = decode_header_value(value, room);
  return text ? std::optional<std::string>(*text) : std::nullopt;
}

std::optional<std::string_view> decode_header_value(std::string_view value, std::string& room) {
  if (!plain_bytes(value)) return std::nullopt;
  if (!is_wrapped(value)) return value;
  std::string_view text = value.substr(kOpen.size(), value.size() - kOpen.size() - kClose.size());
  if (!is_base64(text)) return std::nullopt;
  std::string& out = room;
  out.assign(text.size() / 4 * 3, '\0');
  if (text.empty()) return out;
  int size =
      EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                      reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  if (size < 0) return std::nullopt;
  size_t padding = text.back() != '=' ? 0 : (text[text.size() - 2] == '=' ? 2 : 1);
  out.resize(static_cast<size_t>(size) - padding);
  if (!is_utf8(out)) return std::nullopt;
  return out;
}

std::string encode_header_value(std::string_view text) {
  bool padded = !text.empty() &&
                (text.front() == ' ' || text.front() == '\t' || text.back() == ' ' || text.back() == '\t');
  if (plain_bytes(text) && !padded && !is_wrapped(text)) return std::string(text);
  std::vector<unsigned char> out((text.size() + 2) / 3 * 4 + 1);
  int size = EVP_EncodeBlock(out.data(), reinterpret_cast<const unsigned char*>(text.data()),
                             static_cast<int>(text.size()));
  return std::string(kOpen) + std::string(reinterpret_cast<char*>(out.data()), static_cast<size_t>(size)) +
         std::string(kClose);
}

}  // namespace lineward::mcp
