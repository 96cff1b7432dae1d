// The ends of large values in a JSON text, recorded while the text arrives. A complete long message is then
// not scanned again from its beginning: walks skip its large values (ARCHITECTURE.md, "The message path").
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foundation/json/json_scan.h"

namespace lineward::json {

// Replaces old (a range of the text; empty = insert there) by text.
struct Edit {
  uint32_t begin = 0;
  uint32_t end = 0;
  std::string text;
};

class Outline {
 public:
  // A value is recorded if at least this many bytes of it are in no other recorded value. On the outermost
  // levels, where walks begin, it needs this many bytes in all. So there are at most
  // (1 + kOuterLevels) * size / kWorth.
  static constexpr uint32_t kWorth = 4096;
  static constexpr size_t kOuterLevels = 5;  // a block of `content` of a result is on the fourth

  // `max_depth`: of the parser that reads the text then. `worth`: as kWorth; tests use less.
  explicit Outline(int max_depth = kMaxDepth, uint32_t worth = kWorth);
  // The outline of a complete text with one value that is known to be valid.
  explicit Outline(Span valid);

  // `text` is everything received so far; the earlier part must be unchanged. The time is linear in the new
  // part.
  void more(std::string_view text);
  // The text is complete; end_of() may be called now.
  void close();
  // The end of the valid value that begins at this offset; 0: not recorded.
  uint32_t end_of(uint32_t begin) const;
  bool empty() const { return noted_.empty(); }
  // Bytes of this part of `text` (the whole) that are in no recorded string: the bytes a walk must read.
  size_t bytes_beside_strings(std::string_view text, Span part) const;
  // The parts still valid after these edits, which are ordered and do not overlap.
  Outline after(const std::vector<Edit>& edits) const;
  // Forgets everything, for another text.
  void clear();

 private:
  struct Open {
    uint32_t begin;
    uint32_t noted;  // bytes in it that belong to recorded values
    bool object;
  };
  struct Noted {
    uint32_t begin, end;
  };
  // `value`: after its key in an object. `first`: the same, or the end of an empty container.
  enum class Due : uint8_t { value, first, string_end, separator, nothing };

  void note(uint32_t begin, uint32_t end, uint32_t noted);

  size_t max_depth_;
  uint32_t worth_;
  std::vector<Open> open_;
  std::vector<Noted> noted_;
  Due due_ = Due::value;
  uint32_t at_ = 0;      // where the due token is expected
  uint32_t string_ = 0;  // start of the unfinished string
};

using OutlinePtr = std::shared_ptr<const Outline>;  // null: nothing recorded

// A whole text with its outline.
struct Text {
  std::string bytes;
  OutlinePtr outline;
};

// The outline of an arriving text, begun only for long texts.
class ArrivingOutline {
 public:
  static constexpr size_t kFrom = 256 * 1024;

  explicit ArrivingOutline(int max_depth = kMaxDepth) : max_depth_(max_depth) {}

  // As Outline::more().
  void more(std::string_view text) {
    if (text.size() < kFrom) return;
    if (!outline_) outline_ = std::make_shared<Outline>(max_depth_);
    outline_->more(text);
  }
  // The outline of the complete text; the next text may begin.
  OutlinePtr take() {
    if (!outline_) return nullptr;
    outline_->close();
    return std::exchange(outline_, nullptr);
  }

 private:
  int max_depth_;
  std::shared_ptr<Outline> outline_;
};

}  // namespace lineward::json
