// Keys out of the bytes that a terminal sends for them. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lineward::cli {

enum class Key : uint8_t { text, up, down, page_up, page_down, home, end, enter, escape, backspace };

struct KeyPress {
  Key key = Key::text;
  std::string text;  // of Key::text: one character
};

class KeyReader {
 public:
  void add(std::string_view bytes);
  // The next key. What was begun, and nothing has come of for a while, is ended by `patience` none.
  enum class Patience : uint8_t { more_may_come, none };
  std::optional<KeyPress> next(Patience patience);
  // Something was begun: it may be the Escape key, or the beginning of another.
  bool waits() const { return !bytes_.empty(); }

 private:
  std::optional<KeyPress> escape(Patience patience);

  // A paste of more than this is cut.
  static constexpr size_t kMost = 4096;
  std::string bytes_;
};

}  // namespace lineward::cli
