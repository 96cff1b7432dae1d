// Decodes a terminal's bytes into keys. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lineward::cli {

enum class Key : uint8_t { text, up, down, page_up, page_down, home, end, enter, escape, backspace };

struct KeyPress {
  Key key = Key::text;
  std::string text;  // for Key::text: one character
};

class KeyReader {
 public:
  void add(std::string_view bytes);
  // The next key. With `patience` none, an incomplete sequence is ended after a timeout.
  enum class Patience : uint8_t { more_may_come, none };
  std::optional<KeyPress> next(Patience patience);
  // A sequence has begun: it may be the Escape key, or the start of another key.
  bool waits() const { return !bytes_.empty(); }

 private:
  std::optional<KeyPress> escape(Patience patience);

  // Longer pastes are truncated.
  static constexpr size_t kMost = 4096;
  std::string bytes_;
};

}  // namespace lineward::cli
