// When a bearer token that an address brings is looked at, after wrong ones from there (SignInPauses): a few
// different ones are free, then no token from that address is looked at for a pause. A token that was wrong
// before costs its own pause and no other's: a program that goes on with an old one keeps nobody out who
// comes by the same proxy. Nor does a pause keep out a token that was let in from there before.
//
// Bounded; knows digests only.
#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <string>
#include <string_view>
#include <unordered_set>

#include "operate/admin/sign_in_pauses.h"

namespace lineward::admin {

class TokenPauses {
 public:
  static constexpr size_t kMostKnown = 256;

  // `peer`: with its port. 0: the token counts now.
  std::chrono::milliseconds left(std::string_view peer, std::string_view token,
                                 std::chrono::milliseconds now) const;
  void failed(std::string_view peer, std::string_view token, std::chrono::milliseconds now);
  void succeeded(std::string_view peer, std::string_view token);

 private:
  SignInPauses addresses_;
  SignInPauses tokens_;  // each of one address
  std::unordered_set<std::string> known_;
  std::list<std::string> known_first_;
};

}  // namespace lineward::admin
