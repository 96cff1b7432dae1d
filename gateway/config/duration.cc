#include "config/duration.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace lineward::config {
namespace {

struct Unit {
  std::string_view name;
  uint64_t scale;
};

constexpr std::array<Unit, 5> kTimeUnits = {
    {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1000}, {"ms", 1}}};
constexpr std::array<Unit, 4> kSizeUnits = {
    {{"GiB", 1ull << 30}, {"MiB", 1ull << 20}, {"KiB", 1024}, {"B", 1}}};
constexpr uint64_t kMaxDuration = 3650ull * 86'400'000;  // ten years, in milliseconds
constexpr uint64_t kLargest = 1ull << 50;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

size_t count_while(std::string_view text, bool (*accepts)(char)) {
  return static_cast<size_t>(std::find_if_not(text.begin(), text.end(), accepts) - text.begin());
}

std::string_view take(std::string_view& text, size_t length) {
  std::string_view head = text.substr(0, length);
  text.remove_prefix(length);
  return head;
}

struct Quantity {
  std::string_view whole, fraction, unit;
};

// "1.5s" → {1, 5, s}; leaves the rest of the text. False if no number starts here.
bool take_quantity(std::string_view& text, Quantity& out) {
  out.whole = take(text, count_while(text, is_digit));
  if (out.whole.empty() || out.whole.size() > 15) return false;
  out.fraction = {};
  if (!text.empty() && text[0] == '.') {
    text.remove_prefix(1);
    out.fraction = take(text, count_while(text, is_digit));
    if (out.fraction.empty() || out.fraction.size() > 6) return false;
  }
  out.unit = take(text, count_while(text, is_letter));
  return true;
}

uint64_t to_number(std::string_view digits) {
  uint64_t value = 0;
  for (char c : digits)
    value = value * 10 + static_cast<uint64_t>(c - '0');
  return value;
}

// False if it is too large, or the fraction is not a whole number of units.
bool scale_up(const Quantity& quantity, uint64_t scale, uint64_t limit, uint64_t& out) {
  uint64_t whole = to_number(quantity.whole);
  if (whole > limit / scale) return false;
  uint64_t divisor = 1;
  for (size_t i = 0; i < quantity.fraction.size(); ++i)
    divisor *= 10;
  uint64_t scaled = to_number(quantity.fraction) * scale;
  if (scaled % divisor != 0) return false;
  out = whole * scale + scaled / divisor;
  return out <= limit;
}

}  // namespace

bool lacks_unit(std::string_view text) {
  Quantity quantity;
  return take_quantity(text, quantity) && text.empty() && quantity.unit.empty();
}

Result<std::chrono::milliseconds> parse_duration(std::string_view text) {
  if (lacks_unit(text)) return fail(fmt::format("{0} has no unit: write {0}s or {0}ms", text));
  std::string_view rest = text;
  uint64_t total = 0;
  size_t next_unit = 0;
  while (!rest.empty()) {
    Quantity quantity;
    if (!take_quantity(rest, quantity)) return fail("not a duration: write 500ms, 30s, 2m, 1h or 1h30m");
    size_t unit = next_unit;
    while (unit < kTimeUnits.size() && kTimeUnits[unit].name != quantity.unit)
      ++unit;
    if (unit == kTimeUnits.size()) {
      return fail("not a duration: the units are ms, s, m, h and d, the larger ones first");
    }
    uint64_t part = 0;
    if (!scale_up(quantity, kTimeUnits[unit].scale, kMaxDuration, part) || total + part > kMaxDuration) {
      return fail("not a duration: too long, or finer than a millisecond");
    }
    total += part;
    next_unit = unit + 1;
  }
  if (next_unit == 0) return fail("not a duration: write 500ms, 30s, 2m, 1h or 1h30m");
  return std::chrono::milliseconds(total);
}

std::string format_duration(std::chrono::milliseconds duration) {
  auto left = static_cast<uint64_t>(std::max<int64_t>(duration.count(), 0));
  if (left == 0) return "0s";
  if (left < 1000) return fmt::format("{}ms", left);
  std::string text;
  for (const Unit& unit : kTimeUnits) {
    if (unit.scale < 60'000) break;
    if (unit.name == "d") continue;
    if (left >= unit.scale) text += fmt::format("{}{}", left / unit.scale, unit.name);
    left %= unit.scale;
  }
  if (left == 0) return text;
  std::string seconds = fmt::format("{}.{:03}", left / 1000, left % 1000);
  seconds.erase(seconds.find_last_not_of('0') + 1);
  if (seconds.back() == '.') seconds.pop_back();
  return text + seconds + "s";
}

Result<uint64_t> parse_size(std::string_view text) {
  Quantity quantity;
  std::string_view rest = text;
  if (!take_quantity(rest, quantity) || !rest.empty()) return fail("not a size: write 8MiB, 512KiB or bytes");
  uint64_t scale = quantity.unit.empty() ? 1 : 0;
  for (const Unit& unit : kSizeUnits) {
    if (unit.name == quantity.unit) scale = unit.scale;
  }
  if (scale == 0) return fail("not a size: the units are B, KiB, MiB and GiB");
  uint64_t bytes = 0;
  if (!scale_up(quantity, scale, kLargest, bytes)) return fail("not a size: too large, or not whole bytes");
  return bytes;
}

std::string format_size(uint64_t bytes) {
  for (const Unit& unit : kSizeUnits) {
    if (unit.scale > 1 && bytes >= unit.scale && bytes % unit.scale == 0) {
      return fmt::format("{}{}", bytes / unit.scale, unit.name);
    }
  }
  return fmt::format("{}", bytes);
}

}  // namespace lineward::config
