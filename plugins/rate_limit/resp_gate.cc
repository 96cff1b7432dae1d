#include "plugins/rate_limit/resp_gate.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace lineward::plugins {
namespace {

std::optional<int64_t> number(std::string_view text) {
  int64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

bool RespGate::takes(std::string_view bytes) {
  while (good_ && !bytes.empty()) {
    if (to_skip_ > 0) {
      const size_t part = std::min(to_skip_, bytes.size());
      bytes.remove_prefix(part);
      to_skip_ -= part;
      if (to_skip_ == 0) good_ = value_over();
      continue;
    }
    const size_t end = bytes.find('\n');
    const size_t part = end == std::string_view::npos ? bytes.size() : end + 1;
    bytes_ += part;
    if (bytes_ > kMostBytes) return good_ = false;
    line_.append(bytes.substr(0, part));
    bytes.remove_prefix(part);
    if (end == std::string_view::npos) break;
    good_ = take_line();
    line_.clear();
  }
  return good_;
}

bool RespGate::take_line() {
  std::string_view line = line_;
  if (line.size() < 3 || line.substr(line.size() - 2) != "\r\n") return false;
  line.remove_suffix(2);
  const char type = line.front();
  line.remove_prefix(1);
  switch (type) {
    case '+':
    case '-': return value_over();
    case ':': return number(line) && value_over();
    case '$': {
      const auto length = number(line);
      if (!length || *length < -1 || *length > static_cast<int64_t>(kMostBytes)) return false;
      if (*length == -1) return value_over();
      to_skip_ = static_cast<size_t>(*length) + 2;
      bytes_ += to_skip_;
      return bytes_ <= kMostBytes;
    }
    case '*': {
      const auto count = number(line);
      if (!count || *count < -1 || *count > kMostElements) return false;
      if (*count <= 0) return value_over();
      if (depth_ == kDeepest) return false;
      left_[depth_++] = *count;
      return true;
    }
    default: return false;  // RESP3, which was not requested
  }
}

bool RespGate::value_over() {
  while (depth_ > 0 && --left_[depth_ - 1] == 0)
    --depth_;
  if (depth_ == 0) bytes_ = 0;
  return true;
}

}  // namespace lineward::plugins
