// The beginning of a text, where it is kept or told cut. Redacted before it is cut, since half of a secret is
// not known as one; a text that fits is taken as it is, for whoever shows it redacts it.
#pragma once

#include <string>
#include <string_view>

#include "log/redaction.h"

namespace lineward::log {

// Looks at its text: for the arguments of one call only, unless it is made a string.
class Excerpt {
 public:
  // A secret that begins within the excerpt is seen as far as this behind its end.
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
