// Where the large values of a JSON text end, found while the text arrives. So a long message, once it is
// there, is not searched again from its beginning: who walks it goes around what is large (ARCHITECTURE.md,
// "The message path").
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json/json_scan.h"

namespace lineward::json {

// Replaces old (a range of the text; empty = insert there) by text.
struct Edit {
  uint32_t begin = 0;
  uint32_t end = 0;
  std::string text;
};

class Outline {
 public:
  // Values with less that is not in other noted ones are not noted: there are at most size / kWorth.
  static constexpr uint32_t kWorth = 4096;

  // `max_depth`: of whoever parses the text then. `worth`: as kWorth; tests take less.
  explicit Outline(int max_depth = kMaxDepth, uint32_t worth = kWorth);

  // `text` is all that has come so far: what came before stands at its beginning as it was. The time is
  // linear in what is new.
  void more(std::string_view text);
  // Nothing more comes of this text; end_of() may be asked now.
  void close();
  // The end of the value, legal JSON, that begins at this offset; 0: not noted.
  uint32_t end_of(uint32_t begin) const;
  bool empty() const { return noted_.empty(); }
  // How many bytes of this part of `text`, which is the whole, are in no noted string: what a walk through it
  // has to look at.
  size_t bytes_beside_strings(std::string_view text, Span part) const;
  // What is still true of the text once these edits were made to it; they stand in order and do not overlap.
  Outline after(const std::vector<Edit>& edits) const;
  // Forgets everything, for another text.
  void clear();

 private:
  struct Open {
    uint32_t begin;
    uint32_t noted;  // bytes in it that belong to values that are noted
    bool object;
  };
  struct Noted {
    uint32_t begin, end;
  };
  enum class Due : uint8_t { value, member, first, string_end, separator, nothing };

  void note(uint32_t begin, uint32_t end, uint32_t noted);

  size_t max_depth_;
  uint32_t worth_;
  std::vector<Open> open_;
  std::vector<Noted> noted_;
  Due due_ = Due::value;
  uint32_t at_ = 0;      // what is due is expected here
  uint32_t string_ = 0;  // where the string began whose end is due
};

using OutlinePtr = std::shared_ptr<const Outline>;  // null: nothing is known

// A whole text with what is known of it.
struct Text {
  std::string bytes;
  OutlinePtr outline;
};

// The outline of a text that arrives, begun once that is worth it.
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
  // Of the text that is complete now; the next one may begin.
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
