#include "proxy/upstream/shared/own_id.h"

#include <charconv>
#include <string>

#include "protocol/mcp/message.h"

namespace lineward::upstream {
namespace {

constexpr size_t kMaxRaw = 128;  // a number in quotes, each digit escaped

}  // namespace

std::optional<int64_t> own_id(std::string_view raw) {
  // Fast path: nearly always as Lineward wrote it.
  int64_t plain = 0;
  auto [behind, wrong] = std::from_chars(raw.data(), raw.data() + raw.size(), plain);
  if (wrong == std::errc() && behind == raw.data() + raw.size()) return plain;
  // Some servers return numbers as strings. Digits in another form are foreign.
  if (raw.size() > kMaxRaw) return std::nullopt;
  if (raw.size() >= 2 && raw.front() == '"') {
    const std::string text = json::unescape(raw.substr(1, raw.size() - 2));
    auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), plain);
    const bool whole = error == std::errc() && at == text.data() + text.size();
    return whole && text == std::to_string(plain) ? std::optional(plain) : std::nullopt;
  }
  std::string canonical = mcp::canonical_id(raw);
  if (canonical.substr(0, 2) != "n:") return std::nullopt;
  int64_t value = 0;
  const char* begin = canonical.data() + 2;
  const char* end = canonical.data() + canonical.size();
  auto [at, error] = std::from_chars(begin, end, value);
  return error == std::errc() && at == end ? std::optional(value) : std::nullopt;
}

}  // namespace lineward::upstream
