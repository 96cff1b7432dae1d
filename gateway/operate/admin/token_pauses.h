// Pauses between checks of bearer tokens from one address (SignInPauses). A few different wrong ones are
// free, then no token from that address is checked for a pause. A token that was wrong before costs its own
// pause alone: a program with an old one locks out no other client behind the same proxy. A pause does not
// affect a token that was accepted from there before.
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
