// SHA-256.
#pragma once

#include <array>
#include <string_view>

namespace lineward {

using Sha256 = std::array<unsigned char, 32>;

Sha256 sha256(std::string_view text);

}  // namespace lineward
