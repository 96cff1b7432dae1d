// A set of secret values, and a search for them in a text.
//
// Immutable; from any thread.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace lineward::redaction {

class SecretSet {
 public:
  // Values shorter than `shortest` bytes (at least two) are ignored: they occur in text by chance.
  SecretSet(const std::vector<std::string>& values, size_t shortest);

  bool empty() const { return by_pair_.empty(); }
  bool stand_in(std::string_view text) const;
  // Replaces each value by `mark`; overlapping values are replaced together.
  std::string hide(std::string_view text, std::string_view mark) const;
  // The same for a text that may have been cut within a value: also hides an end of at least `least` bytes
  // that begins a value.
  std::string hide_cut(std::string_view text, std::string_view mark, size_t least) const;

 private:
  struct Place {
    size_t begin, end;
  };
  size_t size_at(std::string_view text, size_t at) const;
  std::vector<Place> places(std::string_view text) const;
  size_t begun_at_end(std::string_view text, size_t least) const;
  static std::string without(std::string_view text, const std::vector<Place>& hidden, std::string_view mark);

  // A text is scanned once for any number of values: two bytes select the values that may begin here.
  std::bitset<1 << 16> begins_;
  std::unordered_map<uint16_t, std::vector<std::string>> by_pair_;
  size_t shortest_;
};

}  // namespace lineward::redaction
