#include "operate/share/lease_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace lineward::share {
namespace {

constexpr std::string_view kRequest = "lineward-lease/1 ";
constexpr std::string_view kGranted = "granted";
constexpr std::string_view kRefused = "refused ";
constexpr size_t kTokenLength = 32;
// As long as any option of a duration may be.
constexpr int64_t kLongestLinger = 7 * 24 * 3600 * 1000ll;

bool is_token(std::string_view word) {
  return word.size() == kTokenLength && std::all_of(word.begin(), word.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

std::string_view next_word(std::string_view& rest) {
  const size_t end = std::min(rest.find(' '), rest.size());
  const std::string_view word = rest.substr(0, end);
  rest.remove_prefix(std::min(rest.size(), end + 1));
  return word;
}

template <class Number>
bool read_number(std::string_view word, Number& out) {
  auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), out);
  return error == std::errc() && end == word.data() + word.size() && out >= 0;
}

}  // namespace

std::string lease_request(const LeaseRequest& request) {
  return fmt::format("{}{} {} {}\n", kRequest, request.token, request.linger.count(), request.pid);
}

std::optional<LeaseRequest> read_lease_request(std::string_view line) {
  if (!line.starts_with(kRequest)) return std::nullopt;
  line.remove_prefix(kRequest.size());
  LeaseRequest out;
  out.token = std::string(next_word(line));
  int64_t linger = 0;
  const bool read = is_token(out.token) && read_number(next_word(line), linger) &&
                    read_number(next_word(line), out.pid) && line.empty();
  if (!read || linger > kLongestLinger) return std::nullopt;
  out.linger = std::chrono::milliseconds(linger);
  return out;
}

std::string lease_answer(const LeaseAnswer& answer) {
  if (answer.granted) return fmt::format("{}\n", kGranted);
  return fmt::format("{}{}\n", kRefused, answer.why);
}

std::optional<LeaseAnswer> read_lease_answer(std::string_view line) {
  if (line == kGranted) return LeaseAnswer{true, {}};
  if (!line.starts_with(kRefused)) return std::nullopt;
  return LeaseAnswer{false, std::string(line.substr(kRefused.size()))};
}

}  // namespace lineward::share
