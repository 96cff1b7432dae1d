// Where the large values of a JSON text end, found while the text arrives. So a long message, once it is
// there, is not searched again from its beginning: who walks it goes around what is large (ARCHITECTURE.md,
// "The message path").
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/json_scan.h"

namespace lineward::json {

class Outline {
 public:
  // Values with less that is not in other noted ones are not noted: there are at most size / kWorth.
  static constexpr uint32_t kWorth = 4096;

  // `max_depth`: of whoever parses the text then.
  explicit Outline(int max_depth = kMaxDepth);

  // `text` is all that has come so far: what came before stands at its beginning as it was. The time is
  // linear in what is new.
  void more(std::string_view text);
  // Nothing more comes of this text; end_of() may be asked now.
  void close();
  // The end of the value, legal JSON, that begins at this offset; 0: not noted.
  uint32_t end_of(uint32_t begin) const;
  bool empty() const { return noted_.empty(); }
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
  std::vector<Open> open_;
  std::vector<Noted> noted_;
  Due due_ = Due::value;
  uint32_t at_ = 0;      // what is due is expected here
  uint32_t string_ = 0;  // where the string began whose end is due
};

}  // namespace lineward::json
