#include "proxy/aggregate/sealed.h"

#include <fmt/format.h>
#include <openssl/sha.h>

#include <array>
#include <charconv>
#include <set>

#include "foundation/base/base64url.h"
#include "foundation/json/json_scan.h"

namespace lineward::aggregate {
namespace {

constexpr std::string_view kCursor = "lwc1.";
constexpr std::string_view kState = "lwa1:";
constexpr size_t kCheckBytes = 8;
constexpr size_t kMaxParts = 1000;

std::string check_of(std::string_view method, std::string_view payload) {
  std::string text = std::string(method) + "\n" + std::string(payload);
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return std::string(reinterpret_cast<const char*>(digest.data()), kCheckBytes);
}

// Parses the number at the beginning of `text`, up to `end`; removes both from it.
std::optional<uint32_t> take_number(std::string_view& text, char end) {
  uint32_t value = 0;
  auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || at == text.data() + text.size() || *at != end) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(at - text.data()) + 1);
  return value;
}

std::string sealed(std::string_view mark, std::string_view server, std::string_view raw) {
  return fmt::format("\"{}{}:{}", mark, server, raw.substr(1));
}

std::optional<Opened> opened(std::string_view mark, std::string_view raw) {
  if (raw.size() < 2 || raw.front() != '"' || raw.substr(1, mark.size()) != mark) return std::nullopt;
  raw.remove_prefix(1 + mark.size());
  size_t colon = raw.find(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  return Opened{std::string(raw.substr(0, colon)), "\"" + std::string(raw.substr(colon + 1))};
}

}  // namespace

std::string seal_cursor(std::string_view method, const std::vector<CursorPart>& parts) {
  std::string payload;
  for (const CursorPart& part : parts)
    payload += fmt::format("{}:{}:{}:{}", part.server, part.pages, part.raw.size(), part.raw);
  return std::string(kCursor) + to_base64url(check_of(method, payload) + payload);
}

std::optional<std::vector<CursorPart>> open_cursor(std::string_view method, std::string_view text) {
  if (text.substr(0, kCursor.size()) != kCursor) return std::nullopt;
  auto bytes = from_base64url(text.substr(kCursor.size()));
  if (!bytes || bytes->size() < kCheckBytes) return std::nullopt;
  std::string_view rest = std::string_view(*bytes).substr(kCheckBytes);
  if (check_of(method, rest) != bytes->substr(0, kCheckBytes)) return std::nullopt;
  // A client could forge a cursor: it grants no more than a list without a cursor.
  std::vector<CursorPart> parts;
  std::set<std::string, std::less<>> servers;
  while (!rest.empty()) {
    CursorPart part;
    size_t colon = rest.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    part.server = std::string(rest.substr(0, colon));
    rest.remove_prefix(colon + 1);
    auto pages = take_number(rest, ':');
    auto size = pages ? take_number(rest, ':') : std::nullopt;
    if (!size || *size > rest.size()) return std::nullopt;
    part.pages = *pages;
    part.raw = std::string(rest.substr(0, *size));
    const bool is_text = !part.raw.empty() && part.raw.front() == '"';
    if (!is_text || json::validate(part.raw) != json::Fault::none) return std::nullopt;
    if (!servers.insert(part.server).second || parts.size() >= kMaxParts) return std::nullopt;
    rest.remove_prefix(*size);
    parts.push_back(std::move(part));
  }
  return parts.empty() ? std::nullopt : std::optional(std::move(parts));
}

std::string seal_task(std::string_view server, std::string_view raw) {
  return sealed("", server, raw);
}

std::string seal_state(std::string_view server, std::string_view raw) {
  return sealed(kState, server, raw);
}

std::optional<Opened> open_task(std::string_view raw) {
  return opened("", raw);
}

std::optional<Opened> open_state(std::string_view raw) {
  return opened(kState, raw);
}

}  // namespace lineward::aggregate
