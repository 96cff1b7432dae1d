// Values that must not be read in a text, and where they stand in it.
//
// Does not change once it is made; from any thread.
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
  // Values of fewer bytes than `shortest` (two at least) are left out: they stand in texts by chance.
  SecretSet(const std::vector<std::string>& values, size_t shortest);

  bool empty() const { return by_pair_.empty(); }
  bool stand_in(std::string_view text) const;
  // With `mark` in the place of each; where values overlap, of all of them together.
  std::string hide(std::string_view text, std::string_view mark) const;
  // Likewise of a text that may have been cut within a value: its end is hidden too where it begins one, by
  // `least` bytes or more.
  std::string hide_cut(std::string_view text, std::string_view mark, size_t least) const;

 private:
  struct Place {
    size_t begin, end;
  };
  size_t size_at(std::string_view text, size_t at) const;
  std::vector<Place> places(std::string_view text) const;
  size_t begun_at_end(std::string_view text, size_t least) const;
  static std::string without(std::string_view text, const std::vector<Place>& hidden, std::string_view mark);

  // A text is gone through once, however many values there are: two bytes say which of them may begin here.
  std::bitset<1 << 16> begins_;
  std::unordered_map<uint16_t, std::vector<std::string>> by_pair_;
  size_t shortest_;
};

}  // namespace lineward::redaction
