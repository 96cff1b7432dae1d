// SHA-256.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace lineward {

using Sha256 = std::array<unsigned char, 32>;

Sha256 sha256(std::string_view text);
// The same as 64 hexadecimal digits.
std::string sha256_hex(std::string_view text);

}  // namespace lineward
