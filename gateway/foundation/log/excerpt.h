// The beginning of a text, for storing or showing it truncated. A text is redacted before it is cut, since
// half of a secret cannot be detected. A text that fits is used unchanged: the code that shows it redacts it.
#pragma once

#include <string>
#include <string_view>

#include "foundation/log/redaction.h"

namespace lineward::log {

// Refers to its text: only for the arguments of one call, unless it is converted to a string.
class Excerpt {
 public:
  // Bytes behind the excerpt that are searched for the end of a secret.
  static constexpr size_t kFurther = 16 * 1024;

  Excerpt(std::string_view text, size_t most) : text_(text) {
    if (text.size() <= most) return;
    const std::string_view near = text.substr(0, most + kFurther);
    if (redaction::touches(near)) text_ = made_ = redaction::apply(near);
    text_ = text_.substr(0, most);
  }
  Excerpt(const Excerpt&) = delete;
  Excerpt& operator=(const Excerpt&) = delete;

  // NOLINTNEXTLINE(google-explicit-constructor): it is a text
  operator std::string_view() const { return text_; }
  std::string string() const { return std::string(text_); }

 private:
  std::string made_;
  std::string_view text_;
};

}  // namespace lineward::log
