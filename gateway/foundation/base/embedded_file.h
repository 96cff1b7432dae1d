// A file of the source tree embedded in the binary (conf/scripts/embed.cmake).
#pragma once

#include <string_view>
#include <vector>

namespace lineward {

struct EmbeddedFile {
  std::string_view name;  // without its folder
  std::string_view text;
};

}  // namespace lineward
