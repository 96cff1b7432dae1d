// The last head of a connection. Peers repeat their heads byte by byte on a connection, except for the length
// of the body. Such a head need not be checked and parsed again.
//
// Owned by a parser, beside the block that its views point into.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "protocol/http/char_class.h"

namespace lineward::http {

class HeadMemo {
 public:
  // `block` was parsed without a fault; `length`: the value of its one Content-Length, a view into it, or
  // empty.
  void learn(std::string_view block, std::string_view length) {
    known_ = true;
    at_ = length.empty() ? block.size() : static_cast<size_t>(length.data() - block.data());
    digits_ = length.size();
    number_ = decimal_value(length);
  }
  void forget() { known_ = false; }
  // Do `bytes` begin with `block`, except for other length digits of the same number? If so, they are copied
  // into `block`, so that all views into it stay valid.
  bool repeats(std::string_view bytes, std::string& block) {
    if (!known_ || bytes.size() < block.size()) return false;
    const size_t behind = at_ + digits_;
    if (std::memcmp(bytes.data(), block.data(), at_) != 0 ||
        std::memcmp(bytes.data() + behind, block.data() + behind, block.size() - behind) != 0)
      return false;
    const std::string_view digits = bytes.substr(at_, digits_);
    // A leading zero, or no body at all, is left to the full parser.
    if (!digits.empty() && digits.front() == '0' && digits != std::string_view(block).substr(at_, digits_))
      return false;
    if (!std::all_of(digits.begin(), digits.end(), is_digit)) return false;
    std::memcpy(block.data() + at_, digits.data(), digits_);
    number_ = decimal_value(digits);
    return true;
  }
  uint64_t length() const { return number_; }  // 0 without a length

 private:
  bool known_ = false;
  size_t at_ = 0, digits_ = 0;  // of the length, in the block
  uint64_t number_ = 0;
};

}  // namespace lineward::http
