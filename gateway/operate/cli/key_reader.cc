#include "operate/cli/key_reader.h"

#include <algorithm>

namespace lineward::cli {
namespace {

constexpr char kEscape = '\033';

struct Sequence {
  std::string_view bytes;  // after the escape
  Key key;
};
constexpr Sequence kSequences[] = {
    {"[A", Key::up},    {"[B", Key::down}, {"OA", Key::up},       {"OB", Key::down},       {"[H", Key::home},
    {"[F", Key::end},   {"OH", Key::home}, {"OF", Key::end},      {"[1~", Key::home},      {"[4~", Key::end},
    {"[7~", Key::home}, {"[8~", Key::end}, {"[5~", Key::page_up}, {"[6~", Key::page_down},
};

size_t bytes_of_character(unsigned char first) {
  return first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
}

}  // namespace

void KeyReader::add(std::string_view bytes) {
  bytes_ += bytes.substr(0, kMost - std::min(kMost, bytes_.size()));
}

std::optional<KeyPress> KeyReader::next(Patience patience) {
  while (!bytes_.empty()) {
    const char first = bytes_[0];
    if (first == kEscape) {
      const size_t before = bytes_.size();
      auto key = escape(patience);
      if (key || bytes_.size() == before) return key;
      continue;  // an unknown sequence
    }
    const size_t size = bytes_of_character(static_cast<unsigned char>(first));
    if (size > bytes_.size() && patience == Patience::more_may_come) return std::nullopt;
    KeyPress press{Key::text, bytes_.substr(0, size)};
    bytes_.erase(0, size);
    if (first == '\r' || first == '\n') return KeyPress{Key::enter, {}};
    if (first == '\b' || first == 0x7f) return KeyPress{Key::backspace, {}};
    if (static_cast<unsigned char>(first) >= 0x20) return press;
  }
  return std::nullopt;
}

// Empty with nothing taken: incomplete. Empty with bytes taken: an unknown sequence.
std::optional<KeyPress> KeyReader::escape(Patience patience) {
  const std::string_view rest = std::string_view(bytes_).substr(1);
  const bool sequence = !rest.empty() && (rest[0] == '[' || rest[0] == 'O');
  if (!sequence) {
    if (rest.empty() && patience == Patience::more_may_come) return std::nullopt;
    bytes_.erase(0, 1);
    return KeyPress{Key::escape, {}};
  }
  // Parameters, then one final byte.
  size_t end = 1;
  while (end < rest.size() && rest[0] == '[' && rest[end] >= 0x20 && rest[end] < 0x40)
    ++end;
  if (end >= rest.size()) {
    if (patience == Patience::more_may_come) return std::nullopt;
    bytes_.clear();
    return KeyPress{Key::escape, {}};
  }
  const std::string found(rest.substr(0, end + 1));
  bytes_.erase(0, 1 + found.size());
  for (const Sequence& one : kSequences) {
    if (found == one.bytes) return KeyPress{one.key, {}};
  }
  return std::nullopt;
}

}  // namespace lineward::cli
