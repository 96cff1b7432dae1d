#include "upstream/shared/own_id.h"

#include <charconv>
#include <string>

#include "mcp/message.h"

namespace lineward::upstream {

std::optional<int64_t> own_id(std::string_view raw) {
  // Nearly always as we wrote it.
  int64_t plain = 0;
  auto [behind, wrong] = std::from_chars(raw.data(), raw.data() + raw.size(), plain);
  if (wrong == std::errc() && behind == raw.data() + raw.size()) return plain;
  std::string canonical = mcp::canonical_id(raw);
  if (canonical.substr(0, 2) != "n:") return std::nullopt;
  int64_t value = 0;
  const char* begin = canonical.data() + 2;
  const char* end = canonical.data() + canonical.size();
  auto [at, error] = std::from_chars(begin, end, value);
  return error == std::errc() && at == end ? std::optional(value) : std::nullopt;
}

std::optional<int64_t> own_subscription_id(std::string_view raw) {
  if (auto id = own_id(raw)) return id;
  if (raw.size() < 3 || raw.front() != '"') return std::nullopt;
  return own_id(json::unescape(raw.substr(1, raw.size() - 2)));
}

}  // namespace lineward::upstream
