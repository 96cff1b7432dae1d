#include "foundation/base/user_ids.h"

#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>

#include "foundation/base/regular_file.h"

namespace lineward {
namespace {

constexpr size_t kMostBytes = 4 << 20;

std::optional<uint32_t> number_in(std::string_view text) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  // The highest one means "leave it as it is" to the kernel.
  if (text.empty() || error != std::errc() || end != text.data() + text.size() ||
      number == std::numeric_limits<uint32_t>::max())
    return std::nullopt;
  return number;
}

// Both files have lines "name:password:number:…".
Result<uint32_t> look_up(const std::string& name, const char* file, std::string_view what) {
  if (const auto number = number_in(name)) return *number;
  auto text = read_regular_file(file, kMostBytes);
  if (!text) return fail(std::string(file) + ": " + text.error().text);
  std::string_view rest(*text);
  while (!rest.empty()) {
    const size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (line.size() <= name.size() || line.substr(0, name.size()) != name || line[name.size()] != ':')
      continue;
    line.remove_prefix(name.size() + 1);
    const size_t second = line.find(':');
    if (second == std::string_view::npos) continue;
    line.remove_prefix(second + 1);
    if (const auto number = number_in(line.substr(0, line.find(':')))) return *number;
  }
  return fail(std::string(file) + " has no " + std::string(what) + " '" + name.substr(0, 60) + "'");
}

}  // namespace

Result<uid_t> user_id(const std::string& name) {
  return look_up(name, "/etc/passwd", "user");
}

Result<gid_t> group_id(const std::string& name) {
  return look_up(name, "/etc/group", "group");
}

}  // namespace lineward
