// Unguessable names: 128 random bits as 32 hexadecimal digits.
#pragma once

#include <sys/random.h>

#include <string>

#include "foundation/base/check.h"

namespace lineward {

inline std::string random_id() {
  unsigned char bytes[16];
  LW_CHECK(getrandom(bytes, sizeof bytes, 0) == sizeof bytes);
  constexpr char kHex[] = "0123456789abcdef";
  std::string id;
  for (unsigned char b : bytes) {
    id += kHex[b >> 4];
    id += kHex[b & 15];
  }
  return id;
}

}  // namespace lineward
