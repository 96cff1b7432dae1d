#include "plugins/trace/trace_context.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <random>

namespace lineward::plugins {
namespace {

bool is_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}
bool is_zero(std::string_view text) {
  return text.find_first_not_of('0') == std::string_view::npos;
}

// Unique, not secret.
uint64_t random_number() {
  static thread_local std::mt19937_64 source{(uint64_t{std::random_device{}()} << 32) ^
                                             std::random_device{}()};
  return source();
}

void append_hex(std::string& out, uint64_t number) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::array<char, 16> digits{};
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit, number >>= 4)
    *digit = kDigits[number & 15];
  out.append(digits.data(), digits.size());
}

}  // namespace

std::string TraceContext::header() const {
  std::string out;
  out.reserve(56);
  out += "00-";
  out += trace_id;
  out += '-';
  out += span_id;
  out += sampled ? "-01" : "-00";
  return out;
}

std::optional<TraceContext> parse_traceparent(std::string_view text) {
  if (text.size() < 55 || text[2] != '-' || text[35] != '-' || text[52] != '-') return std::nullopt;
  std::string_view version = text.substr(0, 2), trace = text.substr(3, 32), span = text.substr(36, 16),
                   flags = text.substr(53, 2);
  if (!is_hex(version) || version == "ff" || !is_hex(trace) || !is_hex(span) || !is_hex(flags))
    return std::nullopt;
  if (is_zero(trace) || is_zero(span)) return std::nullopt;
  // A later version may append more after another dash.
  if (text.size() > 55 && (version == "00" || text[55] != '-')) return std::nullopt;
  char low = flags[1];
  int value = low <= '9' ? low - '0' : low - 'a' + 10;
  return TraceContext{std::string(trace), std::string(span), (value & 1) != 0};
}

std::string_view usable_tracestate(std::string_view text) {
  bool usable = text.size() <= 512 && std::all_of(text.begin(), text.end(), [](char c) {
                  return (c >= 0x20 && c < 0x7f) || c == '\t';
                });
  return usable ? text : std::string_view();
}

std::string new_trace_id() {
  std::string out;
  out.reserve(32);
  append_hex(out, random_number());
  append_hex(out, random_number() | 1);
  return out;
}
std::string new_span_id() {
  std::string out;
  out.reserve(16);
  append_hex(out, random_number() | 1);
  return out;
}

bool in_sample(std::string_view trace_id, double ratio) {
  if (ratio >= 1) return true;
  if (ratio <= 0 || trace_id.size() != 32) return false;
  uint64_t low = 0;
  std::from_chars(trace_id.data() + 16, trace_id.data() + 32, low, 16);
  return static_cast<double>(low >> 1) < ratio * 9223372036854775808.0;
}

}  // namespace lineward::plugins
